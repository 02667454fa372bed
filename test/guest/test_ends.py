# SPDX-License-Identifier: BSD-3-Clause
"""One of the two processes of a guest with a card is killed: the other one says so, and leaves nothing."""
import pytest

from virtual_machine import qemu


@pytest.fixture(params=["installed", "newer"])
def guest(request, boot, newer):
    made = boot([("net0", {"wire": "loop"})], emulator=newer if request.param == "newer" else qemu.installed())
    made.run("modprobe mlx5_core; ip link set eth0 up")
    return made


def test_qemu_is_killed(guest):
    guest.session.machine.process.kill()
    assert guest.server.process.wait(10) == 0
    assert guest.server.log.read_text().endswith("net0: QEMU closed the connection\n")
    left = [path.name for path in guest.server.folder.iterdir() if path.is_socket()]
    assert "control" not in left and "net0.vfio-user" not in left


def test_server_is_killed(guest):
    guest.server.process.kill()
    guest.server.process.wait(10)
    guest.run("for i in $(seq 200); do dmesg | grep -q 'PCI slot is unavailable' && exit 0; sleep 0.1; done; exit 1")
    guest.run("modprobe -r mlx5_core", timeout=300)
    assert guest.run("ls /sys/class/net") == "lo"
    assert "Broken pipe" in (guest.server.folder / "qemu.log").read_text()
