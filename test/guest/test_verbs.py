# SPDX-License-Identifier: BSD-3-Clause
"""Chime on a card beside its kernel driver: testpmd in the guest on mlx5_0 (eth0). At the other end of the cable the
stock mlx5_core: eth1 in a namespace."""
import shlex

import pytest
from conftest import guest_testpmd
from testpmd import eal_arguments

CHIME, KERNEL, OTHER = "10.1.0.1", "10.1.0.9", "10.1.0.2"
OWN, SECOND = "02:00:00:00:00:01", "02:00:00:00:00:77"
THERE = "ip netns exec other"


@pytest.fixture(scope="module")
def guest(boot):
    made = boot([("net0", {"wire": "cable:a", "mac": OWN}), ("net1", {"wire": "cable:a", "mac": "02:00:00:00:00:02"})])
    made.mark()
    made.run(f"""
        set -e
        modprobe mlx5_core prof_sel=1; modprobe -a mlx5_ib ib_uverbs
        ip netns add other; ip link set eth1 netns other
        ip -n other addr add {OTHER}/24 dev eth1; ip -n other link set eth1 mtu 9000 up
        sysctl -qw net.ipv6.conf.eth0.disable_ipv6=1
        {THERE} sysctl -qw net.ipv6.conf.eth1.disable_ipv6=1
        ip addr add {KERNEL}/24 dev eth0; ip link set eth0 up
        for i in $(seq 100); do grep -q 1 /sys/class/net/eth0/carrier && break; sleep 0.1; done""")
    return made


@pytest.fixture
def testpmd(guest, build):
    """Starts testpmd in the guest: testpmd("net_chime0,ibdev=mlx5_0")."""
    started = []

    def start(*devices: str, options=(), mode: str = "icmpecho"):
        program = guest_testpmd(guest, build, list(devices), [f"--forward-mode={mode}", *options])
        started.append(program)
        return program

    yield start
    for program in started:
        program.channel.close()


def ping(guest, address: str, options: str = "") -> None:
    text = guest.run(f"{THERE} ping -c 3 -i 0.2 -W 10 {options} {address}")
    assert "3 packets transmitted, 3 received, 0% packet loss" in text


def forget_neighbours(guest) -> None:
    """Of both ends: seconds later their kernels would ask whether those that they talked with are still there."""
    guest.run("ip -n other neigh flush dev eth1 nud all; ip neigh flush dev eth0 nud all")


def remember(guest, address: str, mac: str) -> None:
    """Broadcast goes to the port while it is started, and with it ARP."""
    guest.run(f"ip -n other neigh replace {address} lladdr {mac} dev eth1 nud permanent")


def test_forwarding(guest, testpmd):
    """testpmd answers ARP and echo requests: what it received it sent."""
    guest.mark()
    forget_neighbours(guest)
    with testpmd("net_chime0,ibdev=mlx5_0") as pmd:
        pmd.command("start")
        ping(guest, CHIME)
        ping(guest, CHIME, "-s 1400")
        assert f"{CHIME} lladdr {OWN}" in guest.run(f"ip -n other neigh | sed 's/dev eth1 //'")
        stats = pmd.stats()
        assert stats["TX-packets"] >= 7 and stats["RX-packets"] >= stats["TX-packets"]
        assert stats["RX-errors"] == stats["TX-errors"] == 0
    assert guest.faults() == []


def test_beside_the_netdev(guest, testpmd):
    """The netdev answers before; during, at its own address, while the port has a second one; and after the process was
    killed. Nothing of it is left on the card."""
    forget_neighbours(guest)
    ping(guest, KERNEL)
    before = guest.objects("net0")
    pmd = testpmd(f"net_chime0,ibdev=eth0,mac={SECOND}")
    pmd.command("set promisc 0 off")
    pmd.command("start")
    ping(guest, CHIME)
    remember(guest, KERNEL, OWN)
    ping(guest, KERNEL)
    ping(guest, CHIME)
    assert f"{CHIME} dev eth1 lladdr {SECOND}" in guest.run("ip -n other neigh")
    assert f"link/ether {OWN}" in guest.run("ip link show eth0")
    pmd.channel.kill()
    forget_neighbours(guest)
    ping(guest, KERNEL)
    assert guest.objects("net0") == before


def test_names(guest, testpmd):
    """The card by RDMA device, PCI address and netdev; it is left as it was."""
    before = guest.objects("net0")
    with testpmd() as pmd:
        for name in ("mlx5_0", "0000:00:03.0", "00:03.0", "eth0"):
            text = pmd.command(f"port attach net_chime0,ibdev={name}")
            assert "Port 0 is attached" in text, text
            assert OWN.upper() in pmd.command("show port info 0").upper()
            assert "detached" in pmd.command("port detach 0")
        text = pmd.command("port attach net_chime0,ibdev=mlx5_7")
        assert "no such RDMA device, PCI address or netdev; there are mlx5_0 (0000:00:03.0, eth0), mlx5_1" in text
    assert guest.objects("net0") == before


def test_restart_many_times(guest, testpmd):
    guest.mark()
    with testpmd("net_chime0,ibdev=mlx5_0", options=["--rxq=2", "--txq=2"]) as pmd:
        for _ in range(50):
            assert "Fail" not in pmd.command("port stop 0")
            assert "Fail" not in pmd.command("port start 0")
        pmd.command("start")
        forget_neighbours(guest)
        ping(guest, CHIME)
        pmd.command("stop")
    assert guest.faults() == []


def link_is(pmd, state: str) -> None:
    pmd.wait_for(lambda: f"Link status: {state}" in pmd.command("show port info 0"), f"link {state}")


def test_link(guest, testpmd):
    """It follows the wire, and the netdev's administrator."""
    with testpmd("net_chime0,ibdev=mlx5_0") as pmd:
        pmd.command("start")
        link_is(pmd, "up")
        for down, up in (lambda: guest.control("link net0 down"), lambda: guest.control("link net0 up")), \
                        (lambda: guest.run("ip link set eth0 down"), lambda: guest.run("ip link set eth0 up")):
            down()
            link_is(pmd, "down")
            up()
            link_is(pmd, "up")
            forget_neighbours(guest)
            ping(guest, CHIME)


def test_mtu(guest, testpmd):
    """The port's MTU is the netdev's, and is put back."""
    with testpmd("net_chime0,ibdev=mlx5_0", options=["--mbuf-size=10000", "--total-num-mbufs=2048"]) as pmd:
        pmd.command("port config mtu 0 9000")
        assert " mtu 9000 " in guest.run("ip link show eth0")
        pmd.command("start")
        remember(guest, CHIME, OWN)
        ping(guest, CHIME, "-s 8900 -M do")
    assert " mtu 1500 " in guest.run("ip link show eth0")
    forget_neighbours(guest)
    ping(guest, KERNEL)


def test_promiscuous(guest, testpmd):
    """What is for others reaches the port when it is promiscuous, and else the netdev or nobody."""
    stranger = "02:00:00:00:00:55"
    with testpmd("net_chime0,ibdev=mlx5_0", mode="rxonly") as pmd:
        pmd.command("start")
        link_is(pmd, "up")
        # Nobody asks for a neighbour meanwhile.
        forget_neighbours(guest)
        remember(guest, "10.1.0.5", stranger)
        send = f"{THERE} ping -c 3 -i 0.2 -W 1 10.1.0.5"
        before = pmd.stats()["RX-packets"]
        guest.status(send)
        assert pmd.stats()["RX-packets"] - before == 3
        pmd.command("set promisc 0 off")
        before = pmd.stats()["RX-packets"]
        guest.status(send)
        assert pmd.stats()["RX-packets"] == before
        pmd.command(f"mac_addr add 0 {stranger}")
        guest.status(send)
        assert pmd.stats()["RX-packets"] - before == 3
        assert "promiscuity 0" in guest.run("ip -d link show eth0")


def test_one_driver_a_card(guest, testpmd):
    """A second port on the card would share its packets."""
    with testpmd("net_chime0,ibdev=mlx5_0") as pmd:
        text = pmd.command("port attach net_chime1,ibdev=eth0")
        assert "mlx5_0 is held by this process already" in text, text
        other = testpmd()
        text = other.command("port attach net_chime1,ibdev=eth0")
        assert f"mlx5_0 is held by process {pmd.channel.pid} (dpdk-testpmd), a DPDK program; end it (`kill " in text, text
        other.quit()


@pytest.mark.parametrize("lost,words", [("net_raw", "needs the capability CAP_NET_RAW: run as root, or `setcap"),
                                        ("ipc_lock", "not enough memory may be locked (64 KiB a process); `ulimit -l")])
def test_capabilities(guest, build, lost, words):
    """Root without one of its capabilities, and with little memory that it may lock."""
    eal = shlex.join(eal_arguments(["net_chime0,ibdev=mlx5_0"], 128, "(0-1)@0"))
    text, _ = guest.status(f"ulimit -l 64; export LD_LIBRARY_PATH={build}/drivers/net/chime; "
                           f"setpriv --bounding-set -{lost} --inh-caps -{lost} timeout 150 dpdk-testpmd {eal} "
                           "-- --total-num-mbufs=2048 < /dev/null 2>&1", timeout=200)
    assert words in text, text


def test_refusals(guest, testpmd):
    """What is missing is named, with the command that mends it. Last: the netdev comes anew, without its addresses."""
    refused = []
    with testpmd() as pmd:
        def attach(name: str) -> str:
            return pmd.command(f"port attach net_chime0,ibdev={name}")

        guest.run("ip netns add third; ip link set eth0 netns third")
        refused.append((attach("mlx5_0"), "no netdev in this network namespace"))
        guest.run("ip -n third link set eth0 netns 1")
        guest.run("mv /dev/infiniband /dev/hidden")
        refused.append((attach("mlx5_0"), "there is no /dev/infiniband"))
        guest.run("mv /dev/hidden /dev/infiniband")
        guest.run("echo mlx5_core.rdma.0 > /sys/bus/auxiliary/drivers/mlx5_ib.rdma/unbind")
        refused.append((attach("0000:00:03.0"), "`modprobe mlx5_ib`"))
        guest.run("echo 0000:00:03.0 > /sys/bus/pci/drivers/mlx5_core/unbind")
        refused.append((attach("0000:00:03.0"), "`modprobe mlx5_core`"))
        guest.run("echo 0000:00:03.0 > /sys/bus/pci/drivers/mlx5_core/bind; "
                  "for i in $(seq 100); do [ -e /sys/class/infiniband/mlx5_0 ] && break; sleep 0.1; done")
        assert "Port 0 is attached" in attach("0000:00:03.0")
    for text, wanted in refused:
        assert wanted in text
