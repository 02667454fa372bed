# SPDX-License-Identifier: BSD-3-Clause
"""Stock dpdk-testpmd with Debian's net_mlx5 on two cards, whose wires are taps in a namespace of this machine.

    scapy -> tap -> card -> net_mlx5 -> testpmd -> net_mlx5 -> card -> tap -> scapy
"""
import collections
import os
import re
import subprocess

import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from scapy.utils import rdpcap, wrpcap

from conftest import SOURCE
from guest_channel import GuestChannel
from testpmd import InteractiveTestpmd

NAMESPACE = f"chime-net-mlx5-{os.getpid()}"
QUEUES = 4
MACS = ["02:00:00:00:00:01", "02:00:00:00:00:02"]
ETHER = Ether(dst=MACS[0], src="02:00:00:00:00:99")
# What dpdk-testpmd is told beside the devices; a queue of its own for each of the four forwarding streams.
OPTIONS = f"--rxq={QUEUES} --txq={QUEUES} --rxd=256 --txd=256 --total-num-mbufs=16384"


@pytest.fixture(scope="module")
def guest(boot):
    subprocess.run(["ip", "netns", "add", NAMESPACE], check=True)
    try:
        host("sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1")
        made = boot([(f"net{i}", {"wire": f"net_tap{i}", "mac": mac}) for i, mac in enumerate(MACS)],
                    eal="--vdev net_tap0,iface=chime0 --vdev net_tap1,iface=chime1", namespace=NAMESPACE)
        made.mark()
        made.run("""
            set -e
            modprobe mlx5_core prof_sel=1; modprobe mlx5_ib; modprobe ib_uverbs
            sysctl -qw net.ipv6.conf.all.disable_ipv6=1
            ip link set eth0 up; ip link set eth1 up
            echo 128 > /proc/sys/vm/nr_hugepages; mkdir -p /dev/hugepages; mount -t hugetlbfs none /dev/hugepages
            ip addr add 10.1.0.1/24 dev eth0
            for i in $(seq 100); do grep -q 1 /sys/class/net/eth1/carrier && exit 0; sleep 0.1; done; exit 1""")
        host("ip link set chime0 up; ip link set chime1 up; ip addr add 10.1.0.2/24 dev chime0")
        made.before = {nic: made.objects(nic) for nic in ("net0", "net1")}
        yield made
    finally:
        subprocess.run(["ip", "netns", "del", NAMESPACE], check=True)


def host(command: str) -> str:
    return subprocess.run(["ip", "netns", "exec", NAMESPACE, "sh", "-c", command], check=True, capture_output=True,
                          text=True, stdin=subprocess.DEVNULL).stdout


@pytest.fixture(scope="module", params=["dv_flow_en=0", "default"])
def pmd(guest, request):
    """testpmd that forwards between the cards' queues of one number."""
    arguments = "" if request.param == "default" else f",{request.param}"
    devices = [word for i in range(len(MACS)) for word in ("-a", f"0000:00:0{3 + i}.0{arguments}")]
    # One CPU: both of testpmd's threads on it.
    command = ["dpdk-testpmd", "--lcores", "(0-1)@0", *devices, "--", "-i", *OPTIONS.split()]
    program = InteractiveTestpmd(GuestChannel(guest.session, command), 300)
    program.command("start")
    yield program
    program.channel.close()


def cross(folder, frames: list[bytes], into: int = 0, out_of: int = 1, seconds: float = 20) -> list[bytes]:
    """Frames that come out of one wire when these go into the other."""
    sent, came = folder / "sent.pcap", folder / "came.pcap"
    wrpcap(str(sent), [Ether(frame) for frame in frames])
    host(f"/usr/bin/python3 -B {SOURCE}/test/guest/crossing.py chime{into} chime{out_of} {sent} {came} {seconds}")
    return [bytes(frame) for frame in rdpcap(str(came))]


def received(pmd, port: int = 0) -> list[int]:
    """Packets that came to each queue of a port since the last question."""
    text = pmd.command("show fwd stats all")
    pmd.command("clear fwd stats all")
    counts = [0] * QUEUES
    for queue, packets in re.findall(rf"RX Port= {port}/Queue= (\d+) .*?\n\s*RX-packets: (\d+)", text):
        counts[int(queue)] = int(packets)
    return counts


def flows(count: int, layer=UDP) -> list[bytes]:
    return [bytes(ETHER / IP(src=f"192.0.2.{i}", dst=f"198.51.100.{7 * i % 256}") / layer(sport=i, dport=1000 + i) /
                  Raw(bytes(18 + i % 200))) for i in range(1, count + 1)]


def test_forwards(pmd, tmp_path):
    frames = flows(40) + flows(20, TCP)
    frames += [bytes(ETHER / IPv6(src=f"2001:db8::{i}", dst="2001:db8::ff") / UDP() / Raw(bytes(1000))) for i in range(1, 9)]
    for into, out_of in ((0, 1), (1, 0)):
        assert sorted(cross(tmp_path, frames, into, out_of)) == sorted(frames)


def hashes(build, key: str, pairs: list[tuple[str, str]]) -> list[int]:
    """DPDK's own Toeplitz hash of addresses."""
    done = subprocess.run([build / "test" / "system" / "thash"], capture_output=True, text=True, check=True,
                          input="".join(f"{key} {source} {destination}\n" for source, destination in pairs))
    return [int(line, 16) for line in done.stdout.split()]


def test_spreads_over_four_queues(build, pmd, tmp_path):
    key = re.search(r"RSS key:\s*([0-9A-Fa-f]+)", pmd.command("show port 0 rss-hash key"))[1]
    size = int(re.search(r"Redirection table size: (\d+)", pmd.command("show port info 0"))[1])
    text = pmd.command(f"show port 0 rss reta {size} ({hex((1 << size) - 1)})")
    table = [int(queue) for queue in re.findall(r"RSS RETA configuration: hash index=\d+, queue=(\d+)", text)]
    assert len(table) == size and set(table) == set(range(QUEUES))

    received(pmd)
    frames = flows(100)
    assert len(cross(tmp_path, frames)) == len(frames)
    packets = [Ether(frame)[IP] for frame in frames]
    expected = collections.Counter(table[value % size] for value in hashes(build, key, [(p.src, p.dst) for p in packets]))
    assert received(pmd) == [expected[queue] for queue in range(QUEUES)]


def test_rules(pmd, tmp_path):
    def rule(port: int, action: str) -> None:
        text = pmd.command(f"flow create 0 ingress pattern eth / ipv4 / udp dst is {port} / end actions {action} / end")
        assert "created" in text, text

    def to_port(port: int) -> list[bytes]:
        return [bytes(ETHER / IP(src=f"192.0.2.{i}", dst="198.51.100.1") / UDP(sport=i, dport=port) / Raw(bytes(30)))
                for i in range(1, 21)]

    received(pmd)
    rule(7, "queue index 2")
    rule(8, "drop")
    assert re.search(r"ETH IPV4 UDP => QUEUE", pmd.command("flow list 0"))
    assert len(cross(tmp_path, to_port(7))) == 20
    assert received(pmd) == [0, 0, 20, 0]
    assert cross(tmp_path, to_port(8), seconds=0.5) == []
    assert received(pmd) == [0, 0, 0, 0]
    pmd.command("flow flush 0")
    assert len(cross(tmp_path, to_port(8))) == 20
    assert received(pmd) != [0, 0, 20, 0]


def test_extended_statistics(pmd, tmp_path):
    frames = flows(50)
    before = [pmd.xstats(0), pmd.xstats(1)]
    cross(tmp_path, frames)
    after = [pmd.xstats(0), pmd.xstats(1)]
    count, size = len(frames), sum(len(frame) for frame in frames)

    def grown(port: int, name: str) -> int:
        return after[port][name] - before[port][name]

    assert grown(0, "rx_good_packets") == count and grown(0, "rx_good_bytes") == size
    assert sum(grown(0, f"rx_q{queue}_packets") for queue in range(QUEUES)) == count
    assert grown(0, "rx_unicast_packets") == grown(0, "rx_phy_packets") == count
    assert grown(1, "tx_good_packets") == count and grown(1, "tx_phy_packets") >= count
    for name in ("rx_errors", "rx_missed_errors", "rx_mbuf_allocation_errors", "rx_wqe_errors", "rx_out_of_buffer",
                 "tx_errors", "tx_phy_errors"):
        assert grown(0, name) == grown(1, name) == 0, name


def test_the_end(guest, pmd):
    """testpmd leaves nothing on the cards, and the netdev receives again."""
    pmd.quit()
    assert {nic: guest.objects(nic) for nic in ("net0", "net1")} == guest.before
    text = guest.run("ping -c 5 -i 0.01 -W 5 10.1.0.2")
    assert "5 received, 0% packet loss" in text
    # Or they ask seconds later whether the other one is still there, which the next testpmd would count.
    guest.run("ip neigh flush dev eth0 nud all")
    host("ip neigh flush dev chime0 nud all")
    assert guest.faults() == []
    assert guest.control("counters net0")["errors"] == guest.control("counters net1")["errors"] == 0
