# SPDX-License-Identifier: BSD-3-Clause
"""The stock mlx5_core talks with this machine's network stack: its card's wire is a tap in a namespace here."""
import os
import subprocess

import iperf3
import pytest

GUEST, HOST = "10.1.0.1", "10.1.0.2"
NAMESPACE = f"chime-guest-{os.getpid()}"


def host(command: str) -> str:
    return subprocess.run(["ip", "netns", "exec", NAMESPACE, "sh", "-c", command], check=True, capture_output=True,
                          text=True, stdin=subprocess.DEVNULL).stdout


@pytest.fixture(scope="module")
def guest(boot):
    subprocess.run(["ip", "netns", "add", NAMESPACE], check=True)
    try:
        made = boot([("net0", {"wire": "tap:chime0", "mac": "02:00:00:00:00:01"})], namespace=NAMESPACE)
        made.run(f"""
            set -e
            modprobe mlx5_core
            ip addr add {GUEST}/24 dev eth0; ip link set eth0 up
            for i in $(seq 100); do grep -q 1 /sys/class/net/eth0/carrier && break; sleep 0.1; done""")
        host(f"ip link set lo up; ip addr add {HOST}/24 dev chime0; ip link set chime0 up")
        yield made
    finally:
        subprocess.run(["ip", "netns", "del", NAMESPACE], check=True)


def ping(guest, count: int, options: str = "") -> None:
    text = guest.run(f"ping -c {count} -i 0.005 -W 5 {options} {HOST}")
    assert f"{count} packets transmitted, {count} received, 0% packet loss" in text


def iperf(guest, options: str = "") -> float:
    """@return bit/s that the receiver saw"""
    with iperf3.server(NAMESPACE):
        report = guest.run(f"iperf3 -c {HOST} -t 1 -J {options}", timeout=120)
    return iperf3.received(report)


def test_ping(guest):
    guest.mark()
    ping(guest, 1000)
    assert guest.faults() == []


@pytest.mark.parametrize("options", ["", "-R", "-u -b 5M", "-u -b 5M -R"])
def test_streams(guest, options):
    guest.mark()
    before = guest.statistics("eth0")
    assert iperf(guest, options) > 0
    after = guest.statistics("eth0")
    for name in ("rx_wqe_err", "tx_cqe_err", "tx_recover", "rx_recover"):
        assert after[name] == before[name] == 0, name
    assert guest.faults() == []


def test_without_offloads(guest):
    guest.run("ethtool -K eth0 tso off tx off rx off gro off")
    try:
        assert iperf(guest) > 0
        ping(guest, 50)
    finally:
        guest.run("ethtool -K eth0 tx on tso on rx on gro on")


def test_large_sends_are_counted_as_the_frames_that_they_are(guest):
    """The wire hands them to the kernel uncut."""
    before = guest.statistics("eth0")
    assert iperf(guest) > 0
    sent = {name: value - before[name] for name, value in guest.statistics("eth0").items()}
    assert sent["tx_tso_packets"] > 0
    assert sent["tx_packets_phy"] == sent["tx_packets"]
    assert sent["tx_vport_unicast_packets"] == sent["tx_packets"]
    # The card counts the FCS, too, the driver the headers of a large send once.
    assert sent["tx_bytes_phy"] - sent["tx_bytes"] == pytest.approx(4 * sent["tx_packets"], abs=100)


def test_jumbo_frames(guest):
    assert "mtu greater than device maximum" in guest.status("ip link set eth0 mtu 9979")[0]
    guest.mark()
    host("ip link set chime0 mtu 9978")
    guest.run("ip link set eth0 mtu 9978")
    try:
        ping(guest, 100, "-M do -s 9950")
        for options in ("", "-R", "-u -b 5M -l 9000", "-u -b 5M -l 9000 -R"):
            assert iperf(guest, options) > 0
    finally:
        guest.run("ip link set eth0 mtu 1500")
        host("ip link set chime0 mtu 1500")
    assert guest.faults() == []
