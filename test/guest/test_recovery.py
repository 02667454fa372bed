# SPDX-License-Identifier: BSD-3-Clause
"""A card whose wire comes back to it: the driver's self test, firmware that fails, a guest that boots again."""
import re
import time

import pytest


@pytest.fixture(scope="module")
def guest(boot):
    made = boot([("net0", {"wire": "loop"})], reboots=True)
    made.run("modprobe mlx5_core; ip link set eth0 up")
    return made


def reporter(guest) -> str:
    return guest.run("devlink health show pci/0000:00:03.0 reporter fw_fatal")


def until(guest, wanted: str, seconds: float = 60) -> str:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        text = reporter(guest)
        if wanted in text:
            return text
        time.sleep(0.5)
    pytest.fail(f"no '{wanted}' in {text}\n" + guest.run("dmesg | tail -40"))


def test_self_test(guest):
    text = guest.run("for i in $(seq 100); do grep -q 1 /sys/class/net/eth0/carrier && break; sleep 0.1; done; ethtool -t eth0")
    assert "The test result is PASS" in text and re.search(r"Loopback Test\s+0", text)


def test_fatal_health_is_reported_and_recovered_from(guest):
    assert "state healthy error 0" in reporter(guest)
    assert guest.control("health net0 1 fatal")["ok"]
    until(guest, "state healthy error 1 recover 1")
    text = guest.run("dmesg")
    assert "synd 0x1: firmware internal error" in text
    assert "starting health recovery flow" in text and "health recovery succeeded" in text
    guest.run("ip link set eth0 up; for i in $(seq 100); do grep -q 1 /sys/class/net/eth0/carrier && exit 0; sleep 0.1; done; exit 1")
    guest.run("modprobe -r mlx5_core")
    assert guest.objects("net0") == {}


def test_reboot(guest):
    guest.run("modprobe mlx5_core; ip link set eth0 up")
    assert guest.objects("net0") != {}
    guest.run("(sleep 0.5; echo b > /proc/sysrq-trigger) > /dev/null 2>&1 &")
    guest.session.ready()
    assert guest.objects("net0") == {}, "the reset at power-on"
    guest.run("modprobe mlx5_core; ip link set eth0 up; ethtool eth0")
    guest.run("modprobe -r mlx5_core")
    assert guest.objects("net0") == {}
