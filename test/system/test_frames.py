# SPDX-License-Identifier: BSD-3-Clause
"""What goes in comes out: bytes and checksums, judged by scapy and tshark."""
import os
import subprocess

import pytest
from capture import PORTS, carry, devices
from channel import read_until
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import GRE, Dot1Q, Ether
from scapy.layers.vxlan import VXLAN
from scapy.packet import Raw
from scapy.utils import wrpcap

JUMBO = ["--mbuf-size=10240", "--max-pkt-len=9996", "--total-num-mbufs=4096"]
ETHER = Ether(dst="02:00:00:00:00:02", src="02:00:00:00:00:01")


def sized(length: int, seed: int = 0) -> bytes:
    frame = ETHER / IP(src="192.0.2.1", dst="192.0.2.2") / UDP(sport=1000 + seed % 1000, dport=2000)
    room = length - len(frame)
    return bytes(frame / Raw(bytes((seed + i) % 256 for i in range(room))))


def as_packets(frames):
    return [Ether(frame) for frame in frames]


def test_every_length_up_to_an_mtu_of_1500(testpmd, tmp_path):
    sent = [sized(length, length) for length in range(60, 1515, 2)]
    assert carry(testpmd, tmp_path, as_packets(sent)) == sent


def test_jumbo_frames_in_one_buffer(testpmd, tmp_path):
    sent = [sized(length, length) for length in (64, 1514, 1515, 4096, 9000, 9991, 9992)]
    came = carry(testpmd, tmp_path, as_packets(sent), JUMBO)
    assert came == sent


def test_jumbo_frames_over_several_buffers(testpmd, tmp_path):
    sent = [sized(length, length) for length in (64, 1514, 2048, 2049, 4096, 9000, 9992)]
    commands = ["port stop 0", "port stop 1", "port config 0 rx_offload scatter on", "port config 1 rx_offload scatter on",
                "port config 0 tx_offload multi_segs on", "port config 1 tx_offload multi_segs on",
                "port config mtu 0 9978", "port config mtu 1 9978", "port start 0", "port start 1"]
    came = carry(testpmd, tmp_path, as_packets(sent), before=commands)
    assert came == sent


def test_checksums_are_inserted(testpmd, tmp_path):
    payload = Raw(bytes(range(100)))
    good = [
        ETHER / IP(src="192.0.2.1", dst="192.0.2.2") / UDP(sport=1, dport=2) / payload,
        ETHER / IP(src="192.0.2.1", dst="192.0.2.2") / TCP(sport=1, dport=2) / payload,
        ETHER / IPv6(src="2001:db8::1", dst="2001:db8::2") / UDP(sport=1, dport=2) / payload,
        ETHER / IPv6(src="2001:db8::1", dst="2001:db8::2") / TCP(sport=1, dport=2) / payload,
        ETHER / Dot1Q(vlan=7) / IP(src="192.0.2.1", dst="192.0.2.2") / TCP(sport=1, dport=2) / Raw(b"odd"),
    ]
    wanted = [bytes(frame) for frame in good]
    sent = as_packets(wanted)
    for frame in sent:
        for layer in (IP, UDP, TCP):
            if layer in frame:
                frame[layer].chksum = 0x1234
    commands = ["port stop all"] + [f"csum set {layer} hw {port}" for layer in ("ip", "udp", "tcp") for port in (0, 1)]
    commands += ["port start all"]
    came = carry(testpmd, tmp_path, sent, before=commands, mode="csum")
    # The csum engine may rewrite addresses; the rest is the frame with right checksums.
    assert [frame[12:] for frame in came] == [frame[12:] for frame in wanted]


SEGMENT = 700
TUNNELS = {
    "plain": lambda inner: inner,
    "vlan": lambda inner: Ether(dst=inner.dst, src=inner.src) / Dot1Q(vlan=7) / inner[IP],
    "vxlan": lambda inner: ETHER / IP(src="198.51.100.1", dst="198.51.100.2") / UDP(sport=9, dport=4789, chksum=0) /
                           VXLAN(vni=42) / inner,
    "gre": lambda inner: ETHER / IP(src="198.51.100.1", dst="198.51.100.2") / GRE(proto=0x6558) / inner,
    "ipip": lambda inner: ETHER / IP(src="198.51.100.1", dst="198.51.100.2") / inner[IP],
}


@pytest.mark.parametrize("tunnel", TUNNELS)
def test_segmentation(testpmd, tmp_path, tunnel):
    """testpmd's csum engine asks for TSO; scapy makes the frames that have to come."""
    data = bytes(i * 7 % 251 for i in range(3000))

    def frame(number: int, begin: int, size: int, flags: str) -> bytes:
        inner = ETHER / IP(src="192.0.2.1", dst="192.0.2.2", id=100 + number) / \
            TCP(sport=1, dport=2, seq=1000 + begin, flags=flags) / Raw(data[begin:begin + size])
        made = Ether(bytes(TUNNELS[tunnel](inner)))
        made[IP].id = (100 if made[IP].proto == 6 else 1) + number
        del made[IP].chksum
        return bytes(made)

    whole = frame(0, 0, len(data), "PA")
    wanted = [frame(i, begin, min(SEGMENT, len(data) - begin), "PA" if begin + SEGMENT >= len(data) else "A")
              for i, begin in enumerate(range(0, len(data), SEGMENT))]
    commands = ["port stop all"]
    commands += [f"csum set {layer} hw {port}" for layer in ("ip", "tcp", "outer-ip") for port in (0, 1)]
    commands += [f"csum parse-tunnel on {port}" for port in (0, 1)]
    commands += [f"{kind} set {SEGMENT} {port}" for kind in ("tso", "tunnel_tso") for port in (0, 1)]
    commands += ["port start all"]
    came = carry(testpmd, tmp_path, as_packets([whole]), JUMBO, before=commands, mode="csum", expected=len(wanted))
    assert [frame[12:] for frame in came] == [frame[12:] for frame in wanted]


def test_checksum_status_of_received_frames(testpmd, tmp_path):
    payload = Raw(bytes(100))
    frames = [ETHER / IP(src="192.0.2.1", dst="192.0.2.2") / UDP(sport=1, dport=2) / payload,
              ETHER / IP(src="192.0.2.1", dst="192.0.2.2", chksum=1) / UDP(sport=1, dport=2) / payload,
              ETHER / IP(src="192.0.2.1", dst="192.0.2.2") / TCP(sport=1, dport=2, chksum=1) / payload]
    wrpcap(os.path.join(tmp_path, "in.pcap"), frames)
    with testpmd(devices(tmp_path), [*PORTS, "--forward-mode=io"]) as pmd:
        pmd.command("port stop 1")
        for layer in ("ipv4", "udp", "tcp"):
            pmd.command(f"port config 1 rx_offload {layer}_cksum on")
        pmd.command("port start 1")
        pmd.command("set verbose 1")
        # What the forwarding lcore prints runs into the prompt, so this waits for its lines instead.
        pmd.channel.send("start\n")
        text = ""
        while text.count("ol_flags") < 6:  # each frame is seen at two ports
            text += read_until(pmd.channel, "ol_flags", 10)
        pmd.channel.read(1)
        pmd.command("set verbose 0")
        pmd.command("stop")
    lines = [line for line in text.splitlines() if "ol_flags" in line]
    assert any("RX_IP_CKSUM_GOOD" in line and "RX_L4_CKSUM_GOOD" in line for line in lines), text
    assert any("RX_IP_CKSUM_BAD" in line for line in lines), text
    assert any("RX_L4_CKSUM_BAD" in line for line in lines), text


def test_tshark_finds_nothing_wrong(testpmd, tmp_path):
    frames = [ETHER / IP(src="192.0.2.1", dst="192.0.2.2") / UDP(sport=5, dport=6) / Raw(bytes(i)) for i in range(18, 400, 7)]
    frames += [ETHER / IP(src="192.0.2.1", dst="192.0.2.2") / ICMP() / Raw(bytes(64))]
    carry(testpmd, tmp_path, frames)
    done = subprocess.run(
        ["tshark", "-r", os.path.join(tmp_path, "out.pcap"), "-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE",
         "-Y", "_ws.malformed or ip.checksum.status == 0 or udp.checksum.status == 0"],
        capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("tag", [1, 4094])
def test_vlan_tag_survives(testpmd, tmp_path, tag):
    sent = [bytes(ETHER / Dot1Q(vlan=tag, prio=5) / IP(src="192.0.2.1", dst="192.0.2.2") / UDP() / Raw(bytes(64)))]
    assert carry(testpmd, tmp_path, as_packets(sent)) == sent


def test_vlan_strip_removes_the_tag(testpmd, tmp_path):
    inner = IP(src="192.0.2.1", dst="192.0.2.2") / UDP() / Raw(bytes(64))
    sent = [bytes(ETHER / Dot1Q(vlan=9) / inner)]
    came = carry(testpmd, tmp_path, as_packets(sent), before=["vlan set strip on 1"])
    assert came == [bytes(ETHER / inner)]


def test_vlan_insert_adds_the_tag(testpmd, tmp_path):
    inner = IP(src="192.0.2.1", dst="192.0.2.2") / UDP() / Raw(bytes(64))
    # The "mac" engine asks for the tag; it also writes addresses, which are not compared.
    came = carry(testpmd, tmp_path, [ETHER / inner], before=["port stop 0", "tx_vlan set 0 77", "port start 0"], mode="mac")
    assert [frame[12:] for frame in came] == [bytes(ETHER / Dot1Q(vlan=77) / inner)[12:]]
