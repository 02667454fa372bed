# SPDX-License-Identifier: BSD-3-Clause
"""Life of a port under testpmd: queues, restarts, addresses, link, rules."""
import re

from capture import SECOND, carry, link_is
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Dot1AD, Dot1Q, Ether
from scapy.packet import Raw

LOOPED = 0


def until_looped(pmd, count: int) -> None:
    """Starts, lets packets go round, and stops."""
    link_is(pmd, LOOPED, "up")
    before = pmd.stats()["RX-packets"]
    pmd.command("start tx_first 2")
    pmd.wait_for(lambda: pmd.stats()["RX-packets"] - before > count, "looped packets")
    pmd.command("stop")


def test_queues(backend):
    options = ["--rxd=256", "--txd=256", "--total-num-mbufs=32768"]
    with backend.start([backend.looped], options, memory=1024) as pmd:
        for queues in (1, 2, 7, 64):
            pmd.command("port stop 0")
            for way in ("rxq", "txq"):
                pmd.command(f"port config all {way} {queues}")
            assert "Fail" not in pmd.command("port start 0")
            assert re.search(rf"Current number of RX queues: {queues}\b", pmd.command("show port info 0"))
            until_looped(pmd, backend.many)
            stats = pmd.stats()
            assert stats["RX-errors"] == stats["TX-errors"] == 0


def test_restart_many_times(backend):
    with backend.start([backend.looped], ["--rxq=2", "--txq=2"]) as pmd:
        for _ in range(50):
            assert "Fail" not in pmd.command("port stop 0")
            assert "Fail" not in pmd.command("port start 0")
        until_looped(pmd, 1000)


def test_address_filter(backend):
    """tx_first sends to 02:00:00:00:00:00 and on, which is not the port's: only promiscuous mode takes it."""
    with backend.start([backend.looped]) as pmd:
        link_is(pmd, LOOPED, "up")
        pmd.command("set promisc 0 off")
        pmd.command("start tx_first")
        pmd.command("stop")
        assert pmd.wait_for(lambda: pmd.xstats().get("rx_steer_missed_packets"), "packets that no rule took") == 32
        assert pmd.stats()["RX-packets"] == 0
        pmd.command("mac_addr add 0 02:00:00:00:00:00")
        until_looped(pmd, 1000)
        pmd.command("mac_addr remove 0 02:00:00:00:00:00")
        pmd.command("start tx_first")
        pmd.command("stop")
        pmd.wait_for(lambda: pmd.xstats()["rx_steer_missed_packets"] >= 64, "packets for the removed address missed")


def test_vlan_filter(backend):
    """Frames for the port's own address; those without a tag pass."""
    address = "02:43:48:00:00:01"
    frames = [Ether(dst=address, src="02:00:00:00:00:01") / tag / IP(dst="192.0.2.1") / UDP() / Raw(bytes([i]) * 30)
              for i, tag in enumerate([Dot1Q(vlan=100), Dot1Q(vlan=200), Dot1AD(vlan=300), Dot1Q(vlan=4094), Dot1Q(vlan=101)])]
    frames.append(Ether(dst=address, src="02:00:00:00:00:01") / IP(dst="192.0.2.1") / UDP() / Raw(bytes([9]) * 30))
    sent = [bytes(frame) for frame in frames]
    commands = [f"port stop {SECOND}", f"vlan set filter on {SECOND}", f"port start {SECOND}", f"set promisc {SECOND} off"]
    commands += [f"rx_vlan add {vlan} {SECOND}" for vlan in (100, 101, 300)] + [f"rx_vlan rm 101 {SECOND}"]
    commands += [f"mac_addr set {SECOND} {address}"]
    assert carry(backend, sent, commands=commands, expected=3) == [sent[i] for i in (0, 2, 5)]


def test_link_down_and_up(backend):
    with backend.start([backend.looped]) as pmd:
        link_is(pmd, LOOPED, "up")
        pmd.command("set link-down port 0")
        link_is(pmd, LOOPED, "down")
        pmd.command("set link-up port 0")
        until_looped(pmd, 1000)


def test_flow_rules(backend):
    with backend.start([backend.looped], ["--rxq=4", "--txq=4"]) as pmd:
        made = pmd.command("flow create 0 ingress pattern eth / ipv4 / udp / end actions queue index 2 / count / end")
        assert "Flow rule #0 created" in made, made
        until_looped(pmd, 1000)
        xstats = pmd.xstats()
        assert xstats["rx_q2_packets"] > 0
        assert re.search(r"hits: [1-9]", pmd.command("flow query 0 0 count"))
        assert "destroyed" in pmd.command("flow destroy 0 rule 0")
        wrong = pmd.command("flow create 0 ingress pattern eth / gre / end actions queue index 2 / end")
        assert "error" in wrong.lower() or "caught" in wrong.lower(), wrong
        pmd.command("flow create 0 ingress pattern eth / ipv4 / end actions drop / end")
        pmd.command("flow flush 0")
