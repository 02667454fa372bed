# SPDX-License-Identifier: BSD-3-Clause
"""Two Chime ports on two cards of one guest forward between two namespaces of this machine. The cards' wires are taps in a
third one, which a bridge each joins with the two that talk."""
import os
import subprocess

import iperf3
import pytest
from conftest import guest_testpmd

MIDDLE, LEFT, RIGHT = (f"chime-{name}-{os.getpid()}" for name in ("middle", "left", "right"))
LEFT_ADDRESS, RIGHT_ADDRESS = "10.2.0.1", "10.2.0.2"


def inside(namespace: str, command: str) -> str:
    return subprocess.run(["ip", "netns", "exec", namespace, "sh", "-c", command], check=True, capture_output=True,
                          text=True, stdin=subprocess.DEVNULL).stdout


def join(name: str, tap: str, address: str) -> None:
    inside(MIDDLE, f"""set -e
        ip link add br-{tap} type bridge
        ip link add ve-{tap} type veth peer name eth0 netns {name}
        for i in {tap} ve-{tap}; do ip link set $i master br-{tap}; done
        for i in {tap} ve-{tap} br-{tap}; do ip link set $i up; done""")
    # A tap carries no wish for a checksum, so the sender must write it.
    inside(name, f"""set -e
        ip link set lo up; ip addr add {address}/24 dev eth0; ip link set eth0 up
        ethtool -K eth0 tx off tso off gso off""")


@pytest.fixture
def guest(boot):
    for name in (MIDDLE, LEFT, RIGHT):
        subprocess.run(["ip", "netns", "add", name], check=True)
    try:
        made = boot([("net0", {"wire": "net_tap0"}), ("net1", {"wire": "net_tap1"})], namespace=MIDDLE,
                    eal="--vdev net_tap0,iface=chime0 --vdev net_tap1,iface=chime1")
        join(LEFT, "chime0", LEFT_ADDRESS)
        join(RIGHT, "chime1", RIGHT_ADDRESS)
        made.run("set -e; modprobe mlx5_core prof_sel=1; modprobe -a mlx5_ib ib_uverbs")
        yield made
    finally:
        for name in (MIDDLE, LEFT, RIGHT):
            subprocess.run(["ip", "netns", "del", name], check=True)


def test_forwarding_between_hosts(guest, build):
    with guest_testpmd(guest, build, ["net_chime0,ibdev=mlx5_0", "net_chime1,ibdev=mlx5_1"]) as pmd:
        pmd.command("start")
        for port in (0, 1):
            pmd.wait_for(lambda port=port: "Link status: up" in pmd.command(f"show port info {port}"), f"link {port}")
        assert "5 received" in inside(LEFT, f"ping -c 5 -i 0.2 -W 20 {RIGHT_ADDRESS}")
        for options in ("", "-R"):
            with iperf3.server(RIGHT):
                report = inside(LEFT, f"iperf3 -c {RIGHT_ADDRESS} -t 2 -J {options}")
            assert iperf3.received(report) > 0
        for port in (0, 1):
            stats = pmd.stats(port)
            assert stats["RX-packets"] > 100 and stats["TX-packets"] > 100
            assert stats["RX-errors"] == stats["TX-errors"] == 0
