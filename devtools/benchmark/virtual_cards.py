# SPDX-License-Identifier: BSD-3-Clause
"""DPDK drivers on virtual cards: testpmd in a guest passes packets to and fro between two cards with a cable between them.
Everything runs on one CPU: driver, guest, the emulation of its processor, and both cards."""
import contextlib
import os
import pathlib
import re
import sys
import tempfile
import time

import guests
from progress import rounds as counted
from progress import say
from samples import Figure, Samples

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(SOURCE / "devtools"), str(SOURCE / "test" / "system"), str(SOURCE / "test" / "guest")]

from guest_channel import GuestChannel  # noqa: E402
from testpmd import InteractiveTestpmd, environment  # noqa: E402
from virtual_machine import session as sessions  # noqa: E402
from virtual_machine.machine import Card  # noqa: E402

CARDS = range(2)
# One CPU: both of testpmd's threads on it.
EAL = ["--lcores", "(0-1)@0", "-m", "128", "--no-telemetry"]
OPTIONS = ["-i", "--rxd=256", "--txd=256", "--total-num-mbufs=8192"]
SECONDS = 2


def net_chime() -> list[str]:
    devices = [word for i in CARDS for word in ("--vdev", f"net_chime{i},ibdev=mlx5_{i}")]
    return [*EAL, "--no-pci", "-d", "librte_net_chime.so", *devices]


def net_mlx5(arguments: str = "") -> list[str]:
    return [*EAL, *[word for i in CARDS for word in ("-a", f"0000:00:0{3 + i}.0{arguments}")]]


SUBJECT = "net_chime"
DRIVERS = {SUBJECT: net_chime(), "net_mlx5": net_mlx5(), "net_mlx5, Verbs": net_mlx5(",dv_flow_en=0")}


class Guest:
    """A guest with two cards, and room for testpmd."""

    def __init__(self, stack: contextlib.ExitStack, build: str):
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        self._environment = environment(build)
        kernel, emulator = guests.tools(build)
        cards = [Card(f"net{number}", wire="cable:bench") for number in CARDS]
        self._session, _ = sessions.boot(stack, pathlib.Path(build), kernel, folder, SOURCE, cards, emulator=emulator)
        self._session.run("""
            set -e
            modprobe mlx5_core prof_sel=1; modprobe mlx5_ib; modprobe ib_uverbs
            sysctl -qw net.ipv6.conf.all.disable_ipv6=1
            ip link set eth0 up; ip link set eth1 up
            echo 128 > /proc/sys/vm/nr_hugepages; mkdir -p /dev/hugepages; mount -t hugetlbfs none /dev/hugepages""")

    def forward(self, eal: list[str], seconds: float) -> dict[str, float]:
        """@return kilopackets a second that both ports received, seconds from testpmd's start to its prompt, its MiB"""
        began = time.monotonic()
        channel = GuestChannel(self._session, ["dpdk-testpmd", *eal, "--", *OPTIONS], self._environment)
        with InteractiveTestpmd(channel, 300) as pmd:
            start = time.monotonic() - began
            status = self._session.run(f"cat /proc/{channel.pid}/status")
            pmd.command("start tx_first 4")
            pmd.command("clear fwd stats all")
            began = time.monotonic()
            time.sleep(seconds)
            text = pmd.command("show fwd stats all")
            taken = time.monotonic() - began
            pmd.command("stop")
        received = int(re.search(r"RX-packets: (\d+)", text[text.index("Accumulated forward statistics"):])[1])
        kib = sum(int(value) for value in re.findall(r"^(?:VmRSS|HugetlbPages):\s+(\d+) kB", status, re.MULTILINE))
        return {"rate": received / taken / 1e3, "start": start, "memory": kib / 1024}


def virtual_cards(build: str, results: str, rounds: int, seconds: float) -> list[Figure]:
    del results, seconds
    taken: dict[tuple[str, str], list[float]] = {}
    with contextlib.ExitStack() as stack:
        say("  a guest with two cards boots")
        guest = Guest(stack, os.path.abspath(build))
        for _ in counted(rounds, "virtual cards"):
            for driver, eal in DRIVERS.items():
                for what, value in guest.forward(eal, SECONDS).items():
                    taken.setdefault((driver, what), []).append(value)
    figures = []
    for what, name, unit, goal in (("rate", "testpmd io, 64 B", "kpps", ""), ("start", "start of testpmd", "s", "at most 0.8 times"),
                                   ("memory", "memory of testpmd", "MiB", "at most 0.8 times")):
        figures += [Figure("cards", f"{SUBJECT}: {name}", unit, Samples.of(taken[SUBJECT, what]), peer,
                           Samples.of(taken[peer, what]), goal or "at least 1.25 times")
                    for peer in DRIVERS if peer != SUBJECT]
    return figures
