# SPDX-License-Identifier: BSD-3-Clause
"""Two processes on one card, whose wire goes to another card that has no part in it: what is for the port's own address
turns back inside the card."""
import re

import pytest

from programs import pair

ADDRESS = "10.3.0.1"


@pytest.fixture(scope="module")
def guest(boot):
    made = boot([("net0", {"wire": "cable:a", "mac": "02:00:00:00:00:01"}),
                 ("net1", {"wire": "cable:a", "mac": "02:00:00:00:00:02"})])
    made.mark()
    made.run(f"""
        set -e
        modprobe mlx5_core prof_sel=1; modprobe mlx5_ib; modprobe ib_uverbs
        ip link set eth1 up
        ip addr add {ADDRESS}/24 dev eth0; ip link set eth0 up
        for i in $(seq 100); do
          grep -q ffff:0a03:0001 /sys/class/infiniband/mlx5_0/ports/1/gids/1 &&
          grep -q ACTIVE /sys/class/infiniband/mlx5_0/ports/1/state && exit 0
          sleep 0.1
        done; exit 1""")
    return made


@pytest.fixture
def own(guest):
    """Asserts that what a test sends does not come to the physical port, and to no other card."""
    guest.mark()
    before, other = guest.statistics("eth0"), guest.statistics("eth1")
    yield guest
    after = guest.statistics("eth0")
    assert after["tx_vport_rdma_unicast_packets"] == before["tx_vport_rdma_unicast_packets"]
    for name in ("tx_vport_unicast_packets", "rx_vport_unicast_packets"):
        assert after[name] - before[name] >= 20, name
    # Neighbour discovery, and the like.
    assert after["tx_packets_phy"] - before["tx_packets_phy"] < 10
    assert guest.statistics("eth1")["rx_packets_phy"] - other["rx_packets_phy"] < 10
    assert guest.faults() == []


@pytest.mark.parametrize("service", ["rc", "uc", "ud", "srq"])
def test_pingpong(own, service):
    assert "iters in" in pair(own, f"ibv_{service}_pingpong", "-g 1 -n 50 -e", "mlx5_0")


def test_xrc_pingpong(own):
    pair(own, "ibv_xsrq_pingpong", "-g 1 -n 50 -e", "mlx5_0")


def test_pingpong_over_ipv6(own):
    assert "iters in" in pair(own, "ibv_rc_pingpong", "-g 0 -n 50 -e", "mlx5_0")


@pytest.mark.parametrize("command", ["ib_send_bw -s 8192 -e", "ib_send_bw -s 1024 -e -c UD", "ib_write_bw -s 65536",
                                     "ib_read_bw -s 65536", "ib_atomic_bw -A FETCH_AND_ADD",
                                     "ib_atomic_bw -A CMP_AND_SWAP"])
def test_perftest(own, command):
    program, _, options = command.partition(" ")
    text = pair(own, program, f"-x 1 -F -n 20 {options}", "mlx5_0")
    assert re.search(r"^\s*\d+\s+20\s+\d", text, re.MULTILINE), text


def test_multicast(guest, build):
    """A queue pair sends to groups that two others of its card are in."""
    guest.run(f"{build}/test/guest/test-multicast mlx5_0 mlx5_0")


def test_self_test_of_the_driver(guest):
    """Frames of the netdev to its own address: mlx5_core turns local loopback on, and lets its TIRs take them."""
    before = guest.statistics("eth0")
    text = guest.run("ethtool -t eth0")
    assert "The test result is PASS" in text and re.search(r"Loopback Test\s+0", text)
    after = guest.statistics("eth0")
    assert after["rx_vport_unicast_packets"] > before["rx_vport_unicast_packets"]


def test_the_netdev_has_its_own_frames_on_the_wire(guest):
    """Otherwise local loopback is off: the other card sees a frame that is for its sender's address."""
    guest.mark()
    before = guest.statistics("eth1")
    guest.run("""/usr/bin/python3 -B -c '
import socket
raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
raw.bind(("eth0", 0))
for _ in range(20): raw.send(bytes.fromhex("020000000001020000000001 88b5") + bytes(50))'""")
    assert guest.statistics("eth1")["rx_packets_phy"] - before["rx_packets_phy"] >= 20
    assert guest.faults() == []


def test_nothing_is_left(guest):
    guest.mark()
    guest.run("modprobe -r mlx5_ib; modprobe -r mlx5_core")
    for nic in ("net0", "net1"):
        assert guest.objects(nic) == {}
        assert guest.control(f"counters {nic}")["errors"] == 0
    assert guest.faults() == []
