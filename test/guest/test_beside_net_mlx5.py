# SPDX-License-Identifier: BSD-3-Clause
"""Two cards of one guest with a cable between them, net_mlx5 on one and Chime on the other, both in one stock testpmd:
each driver receives what the other one sends, offloads on."""
import re

import pytest
from guest_channel import GuestChannel
from testpmd import InteractiveTestpmd, environment

NET_MLX5, CHIME = 0, 1
BURSTS, BURST = 4, 32


@pytest.fixture(scope="module")
def guest(boot):
    made = boot([(f"net{i}", {"wire": "cable:both"}) for i in (NET_MLX5, CHIME)])
    made.mark()
    made.run("""
        set -e
        modprobe mlx5_core prof_sel=1; modprobe -a mlx5_ib ib_uverbs
        sysctl -qw net.ipv6.conf.all.disable_ipv6=1
        ip link set eth0 up; ip link set eth1 up
        echo 128 > /proc/sys/vm/nr_hugepages; mkdir -p /dev/hugepages; mount -t hugetlbfs none /dev/hugepages""")
    return made


@pytest.fixture(scope="module")
def pmd(guest, build):
    command = ["dpdk-testpmd", "--lcores", "(0-1)@0", "-m", "192", "-d", "librte_net_chime.so", "-a", "0000:00:03.0",
               "--vdev", "net_chime0,ibdev=mlx5_1", "--", "-i", "--rxd=256", "--txd=256", "--total-num-mbufs=8192",
               "--enable-rx-cksum", "--enable-hw-vlan-strip", "--disable-device-start"]
    with InteractiveTestpmd(GuestChannel(guest.session, command, environment(str(build))), 300) as program:
        drivers = [re.search(r"Driver name: (\S+)", program.command(f"show port info {port}"))[1] for port in (NET_MLX5, CHIME)]
        assert drivers == ["mlx5_pci", "net_chime"]
        yield program


def statistics(text: str) -> list[dict[str, int]]:
    """Of each port, as forwarding prints them."""
    ports = re.split(r"Forward statistics for port", text)[1:]
    return [{name: int(value) for name, value in re.findall(r"([A-Z][A-Za-z0-9-]+): (\d+)", port)} for port in ports]


def test_each_others_packets(guest, pmd):
    """Packets go round: what a port receives the other one sends, back over the cable. Checksums are the cards' work on
    both sides: the engine clears what it forwards, and counts what the receiving card found wrong."""
    for port in (NET_MLX5, CHIME):
        for layer in ("ip", "udp"):
            assert f"{layer.upper()} checksum offload is hw" in pmd.command(f"csum set {layer} hw {port}")
    pmd.command("port start all")
    pmd.command("set fwd csum")
    pmd.command(f"start tx_first {BURSTS}")
    for port in (NET_MLX5, CHIME):
        # More than were sent: they have gone round.
        pmd.wait_for(lambda port=port: pmd.stats(port)["RX-packets"] > 3 * BURSTS * BURST, f"packets at port {port}")
    ports = statistics(pmd.command("stop"))
    for one in ports:
        assert one["Bad-ipcsum"] == one["Bad-l4csum"] == 0, ports
        assert one["RX-dropped"] == one["TX-dropped"] == 0, ports
    assert guest.faults() == []


def test_vlan_tags(guest, pmd):
    """One card inserts the tag, the other one strips it and says which it was."""
    pmd.command("port stop all")
    for port in (NET_MLX5, CHIME):
        pmd.command(f"vlan set strip on {port}")
        pmd.command(f"tx_vlan set {port} {100 + port}")
    pmd.command("port start all")
    pmd.command("clear port stats all")
    pmd.command("set fwd rxonly")
    pmd.command("set verbose 1")
    text = pmd.print_packets("start tx_first 1", 2 * BURST)
    text += pmd.command("stop")
    for port in (NET_MLX5, CHIME):
        received = re.split(r"(?=port \d+/queue \d+: received)", text)
        packets = "".join(one for one in received if one.startswith(f"port {port}/"))
        stripped = re.findall(r"length=64 .*VLAN tci=0x([0-9a-f]+).*\n.*RTE_MBUF_F_RX_VLAN_STRIPPED", packets)
        assert len(stripped) == BURST and {int(tag, 16) for tag in stripped} == {100 + 1 - port}, text
    assert guest.faults() == []
