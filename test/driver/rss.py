# SPDX-License-Identifier: BSD-3-Clause
"""Which queue a packet comes to, judged by DPDK's rte_thash.

testpmd forwards from queue i to queue i, so that the capture that a packet is found in tells its queue.
"""
import os
import re
import subprocess

import pytest
from capture import SECOND, crossing
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Raw

QUEUES = 4
OWN_KEY = "".join(f"{(i * 37 + 11) % 256:02X}" for i in range(40))
L3, TCP4, UDP4 = "l3", "tcp", "udp"


def packets(count: int) -> list[bytes]:
    """TCP, UDP and neither over IPv4 and IPv6, and fragments."""
    ether, tail = Ether(dst="02:00:00:00:00:02", src="02:00:00:00:00:01"), Raw(bytes(32))
    made = []
    for i in range(count):
        v4 = ether / IP(src=f"192.0.2.{i}", dst=f"198.51.100.{255 - i}", id=i)
        v6 = ether / IPv6(src=f"2001:db8::{i:x}:1", dst=f"2001:db8:1::{i * 7:x}")
        tcp, udp = TCP(sport=1000 + i, dport=80 + 3 * i), UDP(sport=53 + i, dport=2000 + 5 * i)
        made += [v4 / tcp / tail, v4 / udp / tail, v6 / tcp / tail, v6 / udp / tail, v4 / ICMP() / tail,
                 v6 / ICMPv6EchoRequest() / tail]
    made.append(ether / IP(src="192.0.2.77", dst="198.51.100.78", flags="MF", id=9) / UDP(sport=1, dport=2) / tail)
    return [bytes(packet) for packet in made]


def hash_input(frame: bytes, hashed: dict[str, set[str]]) -> str | None:
    """What thash is asked for a frame; None for one that is not hashed."""
    packet = Ether(frame)
    if ARP in packet:
        return None
    ip = packet[IP] if IP in packet else packet[IPv6]
    kinds = hashed["ipv4" if IP in packet else "ipv6"]
    fragment = IP in packet and ip.flags.MF
    for kind, layer in ((TCP4, TCP), (UDP4, UDP)):
        if layer in packet and not fragment and kind in kinds:
            return f"{ip.src} {ip.dst} {packet[layer].sport} {packet[layer].dport}"
    return f"{ip.src} {ip.dst}" if L3 in kinds else None


@pytest.fixture
def thash(build):
    program = os.path.join(build, "test", "system", "thash")

    def run(key: str, inputs: list[str]) -> list[int]:
        done = subprocess.run([program], input="".join(f"{key} {line}\n" for line in inputs), capture_output=True,
                              text=True, check=True, timeout=60)
        return [int(line, 16) for line in done.stdout.split()]

    return run


def queues_of(backend, frames: list[bytes], commands) -> tuple[dict[bytes, int], dict]:
    """Frames by the queue they came to, and what testpmd said of its settings."""
    options = [f"--rxq={QUEUES}", f"--txq={QUEUES}", "--rxd=256", "--txd=256", "--total-num-mbufs=16384"]
    said = {}
    with crossing(backend, frames, options, queues=QUEUES) as through:
        pmd = through.pmd
        for command in commands:
            pmd.command(command)
        said["key"] = re.search(r"RSS key:\s*([0-9A-Fa-f]+)", pmd.command(f"show port {SECOND} rss-hash key"))[1]
        size = int(re.search(r"Redirection table size: (\d+)", pmd.command(f"show port info {SECOND}"))[1])
        said["reta"] = []
        # By 64 entries: testpmd takes no word of more than 128 characters.
        for group in range(size // 64):
            masks = ",".join("0xffffffffffffffff" if i == group else "0" for i in range(size // 64))
            text = pmd.command(f"show port {SECOND} rss reta {size} ({masks})")
            said["reta"] += [int(queue) for queue in re.findall(r"RSS RETA configuration: hash index=\d+, queue=(\d+)", text)]
        assert len(said["reta"]) == size
        through.start()
        through.wait(len(frames))
    came = {frame: queue for queue, found in enumerate(through.came()) for frame in found}
    assert set(came) == set(frames)
    return came, said


def judge(thash, frames, came, said, hashed) -> None:
    asked = {frame: hash_input(frame, hashed) for frame in frames}
    hashes = iter(thash(said["key"], [line for line in asked.values() if line]))
    reta = said["reta"]
    for frame, line in asked.items():
        queue = reta[next(hashes) % len(reta)] if line else reta[0]
        assert came[frame] == queue, f"{line or 'not hashed'}: came to queue {came[frame]}, not {queue}"
    assert len(set(came.values())) > 1


EVERYTHING = {"ipv4": {L3, TCP4, UDP4}, "ipv6": {L3, TCP4, UDP4}}


def test_every_type_with_the_default_key(backend, thash):
    frames = packets(16) + [bytes(Ether(dst="ff:ff:ff:ff:ff:ff", src="02:00:00:00:00:01") / ARP() / Raw(bytes(18)))]
    came, said = queues_of(backend, frames, ["port config all rss all"])
    assert said["reta"] == [i % QUEUES for i in range(len(said["reta"]))]
    judge(thash, frames, came, said, EVERYTHING)
    assert len(set(came.values())) == QUEUES


def test_own_key_and_own_table(backend, thash):
    frames = packets(16)
    tables = [",".join(f"({i},{(i * i + 1) % 3})" for i in range(first, first + 16)) for first in range(0, 64, 16)]
    came, said = queues_of(backend, frames, [
        "port config all rss all", f"port config 1 rss-hash-key ipv4 {OWN_KEY}",
        *(f"port config 1 rss reta {table}" for table in tables)])
    assert said["key"].upper() == OWN_KEY
    assert said["reta"][:64] == [(i * i + 1) % 3 for i in range(64)]
    # testpmd gives the types with the key: IPv4 alone.
    judge(thash, frames, came, said, {"ipv4": {L3}, "ipv6": set()})


def test_udp_alone(backend, thash):
    frames = packets(16)
    came, said = queues_of(backend, frames, ["port config all rss udp"])
    judge(thash, frames, came, said, {"ipv4": {UDP4}, "ipv6": {UDP4}})
