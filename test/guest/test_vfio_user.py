# SPDX-License-Identifier: BSD-3-Clause
"""The stock mlx5_core on cards behind vfio-user-pci, in a guest with two virtual CPUs. All the other tests run so with
`--qemu newer`."""
import re

import pytest

from test_pair import OTHER, THERE, bring_up, carrier, ping


@pytest.fixture(scope="module")
def guest(boot, newer):
    made = boot([("net0", {"wire": "cable:a", "mac": "02:00:00:00:00:01"}),
                 ("net1", {"wire": "cable:a", "mac": "02:00:00:00:00:02"})], emulator=newer, qemu_arguments="-smp 2")
    made.mark()
    made.run("ip netns add other; modprobe mlx5_core")
    bring_up(made)
    return made


def test_probe(guest):
    assert guest.run("nproc") == "2"
    assert guest.faults() == []
    assert "Mellanox Technologies MT2892 Family [ConnectX-6 Dx]" in guest.run("lspci -nn -s 00:03.0")
    text = guest.run("lspci -vv -s 00:03.0")
    assert "[size=32M]" in text and "MSI-X: Enable+ Count=64 Masked-" in text


def test_a_channel_for_each_processor(guest):
    assert re.search(r"Combined:\s+2\s*$", guest.run("ethtool -l eth0"))
    assert "mlx5_comp1@pci:0000:00:03.0" in guest.run("cat /proc/interrupts")


def test_ping(guest):
    ping(guest, 1000)


@pytest.mark.parametrize("options", ["", "-R", "-u -b 50M", "-P 4"])
def test_streams(guest, options):
    guest.run(f"{OTHER} iperf3 -s -D -1 -I /run/iperf3; sleep 0.5")
    report = guest.run(f"iperf3 -c {THERE} -t 2 --json {options}", timeout=120)
    assert float(re.findall(r'"bits_per_second":\s+([\d.e+]+)', report)[-1]) > 1e6


def test_link_flap(guest):
    assert guest.control("link net0 down")["ok"] and carrier(guest, "0")
    assert guest.control("link net0 up")["ok"] and carrier(guest, "1")
    ping(guest)


def test_reloads(guest):
    for _ in range(5):
        guest.run("modprobe -r mlx5_core", timeout=300)
        assert guest.objects("net0") == {} and guest.objects("net1") == {}
        guest.run("modprobe mlx5_core", timeout=300)
    bring_up(guest)
    ping(guest)
    assert guest.faults() == []


def test_function_level_reset(guest):
    guest.run("modprobe -r mlx5_core; setpci -s 00:03.0 COMMAND=6:6")
    assert guest.run("cat /sys/bus/pci/devices/0000:00:03.0/reset_method") != ""
    guest.run("echo 1 > /sys/bus/pci/devices/0000:00:03.0/reset; modprobe mlx5_core")
    bring_up(guest)
    ping(guest)


def test_cards_said_nothing(guest):
    assert guest.server.log.read_text() == "serving 2 cards\n"


def test_remove(guest):
    guest.run("modprobe -r mlx5_core")
    assert guest.objects("net0") == {} and guest.objects("net1") == {}
