# SPDX-License-Identifier: BSD-3-Clause
"""DPDK drivers on virtual cards: testpmd in a guest passes packets to and fro between two cards with a cable between them.
The guest, the emulation of its processor with it, has one CPU, both cards the other. A third card's wire is looped."""
import contextlib
import json
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
BURST_EAL = ["-l", "0", "-m", "128", "--no-telemetry"]
LOOPED = 2
OPTIONS = ["-i", "--rxd=256", "--txd=256", "--total-num-mbufs=8192"]
SECONDS = 2
CPUS = (0, 1)


def net_chime(cards) -> list[str]:
    devices = [word for i in cards for word in ("--vdev", f"net_chime{i},ibdev=mlx5_{i}")]
    return ["--no-pci", "-d", "librte_net_chime.so", *devices]


def net_mlx5(cards, arguments: str = "") -> list[str]:
    devices = [word for i in cards for word in ("-a", f"0000:00:0{3 + i}.0{arguments}")]
    return ["-d", "librte_net_mlx5.so", *devices]


SUBJECT = "net_chime"
DRIVERS = {SUBJECT: net_chime, "net_mlx5": net_mlx5, "net_mlx5, Verbs": lambda cards: net_mlx5(cards, ",dv_flow_en=0")}


class Guest:
    """A guest with three cards, and room for testpmd."""

    def __init__(self, stack: contextlib.ExitStack, build: str):
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        self._environment = environment(build)
        kernel, emulator = guests.tools(build)
        cards = [*(Card(f"net{number}", wire="cable:bench") for number in CARDS), Card(f"net{LOOPED}", wire="loop")]
        self._session, _ = sessions.boot(stack, pathlib.Path(build), kernel, folder, SOURCE, cards, emulator=emulator, cpus=CPUS)
        self._build = build
        self._session.run("""
            set -e
            modprobe mlx5_core prof_sel=1; modprobe mlx5_ib; modprobe ib_uverbs
            sysctl -qw net.ipv6.conf.all.disable_ipv6=1
            for i in 0 1 2; do ip link set eth$i up; done
            echo 128 > /proc/sys/vm/nr_hugepages; mkdir -p /dev/hugepages; mount -t hugetlbfs none /dev/hugepages""")

    def bare(self) -> dict[str, float]:
        """What forward() returns of start and memory, of a testpmd without a port. Debian's loads net_mlx5 whether it has a
        card or not: so it is with Chime here."""
        with self._testpmd(["--no-pci", "-d", "librte_net_chime.so"]) as pmd:
            return {"start": pmd.start, "memory": self._memory(pmd)}

    def forward(self, driver, seconds: float) -> dict[str, float]:
        """@return kilopackets a second that both ports received, seconds from testpmd's start to its prompt, its MiB"""
        with self._testpmd(driver(CARDS)) as pmd:
            memory = self._memory(pmd)
            pmd.command("start tx_first 4")
            pmd.command("clear fwd stats all")
            began = time.monotonic()
            time.sleep(seconds)
            text = pmd.command("show fwd stats all")
            taken = time.monotonic() - began
            pmd.command("stop")
        received = int(re.search(r"RX-packets: (\d+)", text[text.index("Accumulated forward statistics"):])[1])
        return {"rate": received / taken / 1e3, "start": pmd.start, "memory": memory}

    def bursts(self, driver) -> float:
        """Instructions of receiving and sending a packet."""
        eal = " ".join([*BURST_EAL, *driver([LOOPED])])
        paths = f"LD_LIBRARY_PATH={self._environment['LD_LIBRARY_PATH']}"
        text = self._session.run(f"{paths} {self._build}/test/bench/burst_cost --eal '{eal}'", timeout=300)
        cost = json.loads(text.splitlines()[-1])
        return cost["rx"] + cost["tx"]

    @contextlib.contextmanager
    def _testpmd(self, devices: list[str]):
        """testpmd at its prompt, with `start`, the seconds until then, and `pid`"""
        began = time.monotonic()
        channel = GuestChannel(self._session, ["dpdk-testpmd", *EAL, *devices, "--", *OPTIONS], self._environment)
        with InteractiveTestpmd(channel, 300) as pmd:
            pmd.start, pmd.pid = time.monotonic() - began, channel.pid
            yield pmd

    def _memory(self, pmd) -> float:
        """MiB of a testpmd: resident, and taken of the hugepages that it was given."""
        resident = self._session.run(f"cat /proc/{pmd.pid}/status")
        taken = re.search(r"^Total\s+: size\(M\) total: \S+ alloc: ([\d.]+)", pmd.command("dump_socket_mem"), re.MULTILINE)
        return int(re.search(r"^VmRSS:\s+(\d+) kB", resident, re.MULTILINE)[1]) / 1024 + float(taken[1])


def virtual_cards(build: str, results: str, rounds: int, seconds: float) -> list[Figure]:
    del results, seconds
    taken: dict[tuple[str, str], list[float]] = {}
    with contextlib.ExitStack() as stack:
        say("  a guest with cards boots")
        guest = Guest(stack, os.path.abspath(build))
        guest.bare()  # reads programs and libraries for all
        instructions = {driver: Samples.of([guest.bursts(devices)]) for driver, devices in DRIVERS.items()}
        for _ in counted(rounds, "virtual cards"):
            bare = guest.bare()
            for driver, devices in DRIVERS.items():
                for what, value in guest.forward(devices, SECONDS).items():
                    taken.setdefault((driver, what), []).append(value - bare.get(what, 0))
    figures = [Figure("cards", f"{SUBJECT}: a packet received and sent", "instructions", instructions[SUBJECT], peer,
                      instructions[peer], "at most 0.8 times") for peer in DRIVERS if peer != SUBJECT]
    for what, name, unit, goal in (("rate", "testpmd io, 64 B", "kpps", ""), ("start", "start of two ports", "s", "at most 0.8 times"),
                                   ("memory", "memory of two ports", "MiB", "at most 0.8 times")):
        figures += [Figure("cards", f"{SUBJECT}: {name}", unit, Samples.of(taken[SUBJECT, what]), peer,
                           Samples.of(taken[peer, what]), goal or "at least 1.25 times")
                    for peer in DRIVERS if peer != SUBJECT]
    return figures
