# SPDX-License-Identifier: BSD-3-Clause
"""Life of a port under testpmd: queues, restarts, addresses, attach and detach."""
import re

import pytest
from capture import carry
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Dot1AD, Dot1Q, Ether
from scapy.packet import Raw


@pytest.mark.parametrize("queues", [1, 2, 7, 64])
def test_queues(testpmd, queues):
    options = [f"--rxq={queues}", f"--txq={queues}", "--rxd=256", "--txd=256", "--total-num-mbufs=32768"]
    with testpmd(["net_chime0"], options, memory=1024) as pmd:
        pmd.command("start tx_first 2")
        pmd.wait_for(lambda: pmd.stats()["RX-packets"] > 20_000, "looped packets")
        pmd.command("stop")
        stats = pmd.stats()
        assert stats["RX-errors"] == stats["TX-errors"] == 0


def test_restart_many_times(testpmd):
    with testpmd(["net_chime0"], ["--rxq=2", "--txq=2"]) as pmd:
        for _ in range(50):
            assert "Fail" not in pmd.command("port stop 0")
            assert "Fail" not in pmd.command("port start 0")
        pmd.command("start tx_first")
        pmd.wait_for(lambda: pmd.stats()["RX-packets"] > 1000, "looped packets")
        pmd.command("stop")


def test_address_filter(testpmd):
    """tx_first sends to 02:00:00:00:00:00 and on, which is not the port's: only promiscuous mode takes it."""
    with testpmd(["net_chime0"]) as pmd:
        pmd.command("set promisc 0 off")
        pmd.command("start tx_first")
        assert pmd.stats()["RX-packets"] == 0
        pmd.command("stop")
        assert pmd.wait_for(lambda: pmd.xstats()["rx_steer_missed_packets"], "packets that no rule took") == 32
        pmd.command("mac_addr add 0 02:00:00:00:00:00")
        pmd.command("start tx_first")
        pmd.wait_for(lambda: pmd.stats()["RX-packets"] > 1000, "packets for the added address")
        pmd.command("stop")
        pmd.command("mac_addr remove 0 02:00:00:00:00:00")
        pmd.command("start tx_first")
        pmd.command("stop")
        pmd.wait_for(lambda: pmd.xstats()["rx_steer_missed_packets"] >= 64, "packets for the removed address missed")


def test_vlan_filter(testpmd, tmp_path):
    """Frames for the port's own address; those without a tag pass."""
    address = "02:43:48:00:00:01"
    frames = [Ether(dst=address, src="02:00:00:00:00:01") / tag / IP(dst="192.0.2.1") / UDP() / Raw(bytes([i]) * 30)
              for i, tag in enumerate([Dot1Q(vlan=100), Dot1Q(vlan=200), Dot1AD(vlan=300), Dot1Q(vlan=4094), Dot1Q(vlan=101)])]
    frames.append(Ether(dst=address, src="02:00:00:00:00:01") / IP(dst="192.0.2.1") / UDP() / Raw(bytes([9]) * 30))
    commands = ["port stop 1", "vlan set filter on 1", "port start 1", "set promisc 1 off"]
    commands += [f"rx_vlan add {vlan} 1" for vlan in (100, 101, 300)] + ["rx_vlan rm 101 1"]
    commands += [f"mac_addr set 1 {address}"]
    came = carry(testpmd, tmp_path, frames, before=commands, expected=3)
    assert came == [bytes(frames[i]) for i in (0, 2, 5)]


def test_attach_and_detach(testpmd):
    with testpmd(["net_chime0"]) as pmd:
        assert "Port 1 is attached" in pmd.command("port attach net_chime1")
        pmd.command("port start 1")
        assert "net_chime1" in pmd.command("show port info 1")
        pmd.command("port stop 1")
        pmd.command("port close 1")
        pmd.command("port attach net_chime1")
        assert "is attached" in pmd.command("port attach net_chime2")
        assert re.search(r"detached", pmd.command("port detach 2") + pmd.command("device detach net_chime2"))


def test_link_down_and_up(testpmd):
    with testpmd(["net_chime0"]) as pmd:
        pmd.command("set link-down port 0")
        pmd.wait_for(lambda: "Link status: down" in pmd.command("show port info 0"), "the link to go")
        pmd.command("set link-up port 0")
        pmd.wait_for(lambda: "Link status: up" in pmd.command("show port info 0"), "the link")
        pmd.command("start tx_first")
        pmd.wait_for(lambda: pmd.stats()["RX-packets"] > 1000, "looped packets")
        pmd.command("stop")


def test_flow_rules(testpmd):
    with testpmd(["net_chime0"], ["--rxq=4", "--txq=4"]) as pmd:
        made = pmd.command("flow create 0 ingress pattern eth / ipv4 / udp / end actions queue index 2 / count / end")
        assert "Flow rule #0 created" in made, made
        pmd.command("start tx_first 2")
        pmd.wait_for(lambda: pmd.stats()["RX-packets"] > 1000, "looped packets")
        pmd.command("stop")
        xstats = pmd.xstats()
        assert xstats["rx_q2_packets"] > 0
        assert re.search(r"hits: [1-9]", pmd.command("flow query 0 0 count"))
        assert "destroyed" in pmd.command("flow destroy 0 rule 0")
        wrong = pmd.command("flow create 0 ingress pattern eth / gre / end actions queue index 2 / end")
        assert "error" in wrong.lower() or "caught" in wrong.lower(), wrong
        pmd.command("flow create 0 ingress pattern eth / ipv4 / end actions drop / end")
        pmd.command("flow flush 0")
