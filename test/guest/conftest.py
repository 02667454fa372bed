# SPDX-License-Identifier: BSD-3-Clause
"""Fixtures of the guest tests. Run: /usr/bin/python3 -B -m pytest test/guest --build BUILDDIR -n 2 --dist loadfile"""
import contextlib
import os
import pathlib
import re
import shutil
import sys

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "devtools"))
sys.path.append(str(SOURCE / "test" / "system"))  # testpmd and its channel
sys.path.append(str(SOURCE / "test" / "driver"))  # tests of the driver over any backend
pytest.register_assert_rewrite("frames", "port", "rss", "loop", "errors", "atomics", "interrupts", "capture")

from guest_channel import GuestChannel  # noqa: E402
from testpmd import Testpmd  # noqa: E402
from virtual_machine import kernel as kernels  # noqa: E402
from virtual_machine import qemu as qemus  # noqa: E402
from virtual_machine import session as sessions  # noqa: E402
from virtual_machine.machine import Card, Server  # noqa: E402

# What the kernel says of a card that is well; anything else that looks like this is a fault.
FAULTS = re.compile(r"WARN|BUG|Oops|Call Trace|stall|hung task|lockup|failed|timeout|timed out|corrupt|error", re.IGNORECASE)


def pytest_addoption(parser):
    parser.addoption("--build", default=str(SOURCE / "build"), help="the Meson build folder")
    parser.addoption("--qemu", choices=["installed", "newer"], default="installed",
                     help="newer: of Debian's next release, whose cards are vfio-user-pci")


def pytest_collection_modifyitems(items):
    """The longest files first, so that pytest-xdist's workers end at about the same time."""
    longest = ["test_pair.py", "test_driver.py", "test_verbs.py", "test_pyverbs.py", "test_net_mlx5.py"]
    items.sort(key=lambda item: longest.index(item.path.name) if item.path.name in longest else len(longest))


def pytest_configure(config):
    """One kernel and one newer QEMU for all build folders of this tree. Before pytest-xdist's workers want them."""
    if not hasattr(config, "workerinput"):
        kernels.fetch(SOURCE / "build" / "vm", print)
        with contextlib.suppress(qemus.QemuError):  # told by the tests that want it
            qemus.newer(SOURCE / "build" / "vm", print)


@pytest.fixture(scope="session")
def build(request) -> pathlib.Path:
    folder = pathlib.Path(request.config.getoption("--build")).resolve()
    if not (folder / "app" / "chime" / "chime").exists():
        pytest.exit(f"no {folder}/app/chime/chime; build it: ninja -C {folder}", returncode=2)
    if not shutil.which("qemu-system-x86_64"):
        pytest.exit("no qemu-system-x86_64; install it: devtools/install-packages guest", returncode=2)
    return folder


@pytest.fixture(scope="session")
def kernel(build) -> kernels.Kernel:
    return kernels.fetch(SOURCE / "build" / "vm", print)


@pytest.fixture(scope="session")
def newer() -> qemus.Qemu:
    """The QEMU whose cards are vfio-user-pci. Skips where Debian's next release can't be had."""
    try:
        return qemus.newer(SOURCE / "build" / "vm", print)
    except qemus.QemuError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def emulator(request) -> qemus.Qemu:
    newest = request.config.getoption("--qemu") == "newer"
    return qemus.newer(SOURCE / "build" / "vm", print) if newest else qemus.installed()


class Guest:
    """A guest that is up, its cards, and the process that serves them."""

    def __init__(self, session: sessions.Session, server: Server | None):
        self.session = session
        self.server = server
        self.run = session.run
        self.status = session.status
        self.control = server.control if server else None

    def mark(self) -> None:
        """faults() will look behind here only."""
        self.run("echo chime-mark > /dev/kmsg")

    def faults(self, *expected: str) -> list[str]:
        """Lines of the kernel's log since mark() that look like a fault, but for those with an expected text."""
        lines = self.run("dmesg").rpartition("chime-mark")[2].splitlines()
        drivers = [line for line in lines if "mlx5" in line or "eth" in line or re.search(r"WARN|BUG|Call Trace|hung", line)]
        return [line for line in drivers if FAULTS.search(line) and not any(text in line for text in expected)]

    def objects(self, nic: str) -> dict[str, int]:
        """Live objects of a card by kind, those of which there are none left out."""
        answer = self.control(f"objects {nic}")
        assert answer["ok"], answer
        return {kind: live for kind, live in answer["objects"].items() if live}

    def statistics(self, interface: str, namespace: str = "") -> dict[str, int]:
        """ethtool -S"""
        text = self.run(f"{namespace} ethtool -S {interface}")
        return {name: int(value) for name, value in re.findall(r"^\s+(\S+): (\d+)$", text, re.MULTILINE)}


@pytest.fixture(scope="session")
def cpu(worker_id) -> int:
    """The CPU of a guest and its cards, which is quicker than two; another one for each of pytest-xdist's workers."""
    return int(worker_id.removeprefix("gw")) % os.cpu_count() if worker_id != "master" else 0


def guest_testpmd(guest: Guest, build: pathlib.Path, devices: list[str], options: list[str] = (),
                  memory: int = 256) -> Testpmd:
    """Stock testpmd in the guest, behind the same channel as the system tests'. Locking memory would fill all of it."""
    return Testpmd(str(build), devices, ["--no-mlockall", "--no-flush-rx", *options], memory=memory,
                   lcores="(0-1)@0", seconds=300,
                   channel=lambda command, environment: GuestChannel(guest.session, command, environment))


@pytest.fixture(scope="module")
def boot(build, kernel, cpu, emulator, tmp_path_factory):
    """Boots a guest: boot([("net0", {"wire": "loop"})], eal="--vdev ...", reboots=True)."""
    with contextlib.ExitStack() as stack:
        def start(cards, **options) -> Guest:
            return Guest(*sessions.boot(stack, build, kernel, tmp_path_factory.mktemp("guest"), SOURCE,
                                        [Card(name, **words) for name, words in cards],
                                        **{"cpus": (cpu, cpu), "emulator": emulator, **options}))

        yield start
