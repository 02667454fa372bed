# SPDX-License-Identifier: BSD-3-Clause
"""Stock testpmd in io mode: a looped Chime port beside two processes over net_memif. Both occupy two CPUs."""
import contextlib
import os
import tempfile
import time

import machine
from channel import ProcessChannel, read_until
from progress import rounds as counted
from progress import say
from samples import Figure, Samples
from testpmd import PROMPT, Testpmd, environment

BURSTS_UNDER_WAY = 16  # of 32 packets


class Forwarder(Testpmd):
    """testpmd with one port, which forwards on one CPU of its own."""

    def __init__(self, build: str, cpu: int, other_cpu: int, device: str):
        # The main lcore waits for commands; it may sit where something else works.
        command = ["dpdk-testpmd", "--lcores", f"0@{other_cpu},1@{cpu}", "--main-lcore", "0", "--no-pci", "--no-telemetry",
                   *machine.eal_memory(), "-d", "librte_net_chime.so", "--vdev", device, "--", "-i", "--forward-mode=io",
                   "--nb-cores=1", "--total-num-mbufs=8192", "--rxd=1024", "--txd=1024", "--burst=32"]
        self.channel = ProcessChannel(command, environment(build))
        try:
            self.banner = read_until(self.channel, PROMPT, 120)
        except BaseException:
            self.channel.close()
            raise

    def received(self) -> tuple[float, int]:
        """Packets so far, and when."""
        before = time.monotonic()
        packets = self.stats(0)["RX-packets"]
        return (before + time.monotonic()) / 2, packets

    def rate(self, seconds: float) -> float:
        """Packets a second while it forwards."""
        first, packets = self.received()
        time.sleep(seconds)
        last, more = self.received()
        return (more - packets) / (last - first)


class Looped:
    """One process and the model's thread."""

    name = "net_chime, looped"

    def __init__(self, stack: contextlib.ExitStack, build: str, folder: str):
        del folder
        first, second = machine.cpus()[:2]
        self._pmd = stack.enter_context(Forwarder(build, second, first, f"net_chime0,model_cpu={first}"))

    def measure(self, seconds: float) -> float:
        self._pmd.command(f"start tx_first {BURSTS_UNDER_WAY}")
        try:
            return self._pmd.rate(seconds)
        finally:
            self._pmd.command("stop")


class MemifPair:
    """Two processes that forward to each other."""

    name = "net_memif pair"

    def __init__(self, stack: contextlib.ExitStack, build: str, folder: str):
        first, second = machine.cpus()[:2]
        device = f"net_memif0,id=0,socket-abstract=no,socket={os.path.join(folder, 'memif')},rsize=10"
        self._far = stack.enter_context(Forwarder(build, first, second, f"{device},role=server"))
        self._near = stack.enter_context(Forwarder(build, second, first, f"{device},role=client"))
        self._near.wait_for(lambda: "Link status: up" in self._near.command("show port info 0"), "the link of net_memif")

    def measure(self, seconds: float) -> float:
        self._far.command("start")
        self._near.command(f"start tx_first {BURSTS_UNDER_WAY}")
        try:
            return self._near.rate(seconds)
        finally:
            self._near.command("stop")
            self._far.command("stop")


def loop(build: str, results: str, rounds: int, seconds: float) -> list[Figure]:
    del results
    if len(machine.cpus()) < 2:
        say("  skipped: needs two CPUs")
        return []
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(dir=build))
        sides = [side(stack, build, folder) for side in (Looped, MemifPair)]
        rates = [[], []]
        for _ in counted(rounds, "testpmd io"):
            for side, values in zip(sides, rates):
                values.append(side.measure(seconds) / 1e6)
    chime, memif = (Samples.of(values) for values in rates)
    return [Figure("loop", "testpmd io, 64 B", "Mpps", chime, sides[1].name, memif, "at least 0.2 times")]
