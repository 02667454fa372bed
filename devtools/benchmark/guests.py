# SPDX-License-Identifier: BSD-3-Clause
"""Stock Linux drivers in QEMU guests of one kind: mlx5_core on the virtual card, beside e1000e and virtio_net on devices
that QEMU has itself. The other end is a tap in a namespace here, with the kernel's stack."""
import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import programs
from progress import rounds as counted
from progress import say
from samples import Figure, Samples

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "devtools"))

import iperf3  # noqa: E402
from virtual_machine import kernel as kernels  # noqa: E402
from virtual_machine import qemu as qemus  # noqa: E402
from virtual_machine import session as sessions  # noqa: E402
from virtual_machine.machine import Card  # noqa: E402

HOST, GUEST = "10.2.0.2", "10.2.0.1"
STREAM_SECONDS = 2
COMMANDS = 200


def tools(build: str) -> tuple[kernels.Kernel, qemus.Qemu]:
    """The guests' kernel, and the QEMU for all of them: the newer one, whose cards are quicker."""
    folder = pathlib.Path(build) / "vm"
    return kernels.fetch(folder, say), qemus.newer(folder, say)


class Guest:
    """One guest with one network device, and a namespace with the tap that it is connected to."""

    def __init__(self, stack: contextlib.ExitStack, build: str, driver: str):
        self._namespace = f"chime-bench-{os.getpid()}-{driver}"
        self._host = ["ip", "netns", "exec", self._namespace]
        subprocess.run(["ip", "netns", "add", self._namespace], check=True)
        stack.callback(subprocess.run, ["ip", "netns", "del", self._namespace], check=True)
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        device = {"e1000e": "e1000e", "virtio_net": "virtio-net-pci"}.get(driver)
        arguments = f"-netdev tap,id=net,ifname=tap0,script=no,downscript=no -device {device},netdev=net" if device else ""
        kernel, emulator = tools(build)
        self.session, _ = sessions.boot(stack, pathlib.Path(build), kernel, folder, SOURCE,
                                        [] if device else [Card("net0", wire="tap:tap0")], namespace=self._namespace,
                                        emulator=emulator, qemu_arguments=arguments)
        self.session.run(f"""
            set -e
            modprobe {driver}
            ip addr add {GUEST}/24 dev eth0; ip link set eth0 up""")
        subprocess.run([*self._host, "sh", "-c", f"ip addr add {HOST}/24 dev tap0; ip link set tap0 up"], check=True)
        self.session.run(f"for i in $(seq 100); do ping -c 1 -W 1 {HOST} > /dev/null && exit 0; done; exit 1")

    def round_trip(self) -> float:
        """Microseconds of a ping, median."""
        text = self.session.run(f"ping -c 100 -i 0.002 {HOST}")
        times = sorted(float(found) for found in re.findall(r"time=([\d.]+) ms", text))
        return times[len(times) // 2] * 1e3

    def stream(self, options: str) -> float:
        """Mbit/s of TCP."""
        with iperf3.server(self._namespace):
            report = self.session.run(f"iperf3 -c {HOST} -t {STREAM_SECONDS} -J {options}", timeout=120)
        return iperf3.received(report) / 1e6

    def command_latency(self) -> float:
        """Microseconds that the kernel's driver waits for a command, its own average."""
        self.session.run("ethtool -S eth0 > /dev/null; mount -t debugfs none /sys/kernel/debug 2> /dev/null; true")
        folder = "/sys/kernel/debug/mlx5/*/commands/QUERY_VPORT_COUNTER"
        self.session.run(f"echo 0 > $(echo {folder}/average)")
        self.session.run(f"for i in $(seq {COMMANDS}); do ethtool -S eth0 > /dev/null; done", timeout=300)
        return float(self.session.run(f"cat {folder}/average").split()[0]) / 1e3


def posting(stack: contextlib.ExitStack, build: str, results: str) -> list[Figure]:
    """Posting and polling a fetch-and-add: Chime's private API beside rdma-core, which needs a card to have a queue pair."""
    folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
    kernel, emulator = tools(build)
    session, _ = sessions.boot(stack, pathlib.Path(build), kernel, folder, SOURCE, [Card("net0", wire="loop")],
                               emulator=emulator)
    session.run("""
        set -e
        modprobe mlx5_ib; modprobe ib_uverbs; ip link set eth0 up
        for i in $(seq 100); do
          ip -6 addr show dev eth0 | grep -q 'inet6 fe80' && ! ip -6 addr show dev eth0 | grep -q tentative && exit 0
          sleep 0.1
        done
        exit 1""")
    theirs = json.loads(session.run(f"{build}/test/bench/verbs_posting_cost"))["cases"]
    ours = [case for case in programs.run(build, results, "posting_cost")["cases"] if case["local"]]
    figures = []
    for mine, peer in zip(ours, theirs, strict=True):
        figures.append(Figure("guest", f"post and poll a fetch-and-add, {mine['burst']} a burst", "instructions",
                              Samples.of([mine["post"] + mine["poll"]]), "ibv_wr_*",
                              Samples.of([peer["post"] + peer["poll"]]), "at most 0.5 times"))
    return figures


def guest(build: str, results: str, rounds: int, seconds: float) -> list[Figure]:
    del seconds
    drivers = ("mlx5_core", "e1000e", "virtio_net")
    taken: dict[tuple[str, str], list[float]] = {}
    with contextlib.ExitStack() as stack:
        guests = {}
        for driver in drivers:
            say(f"  a guest with {driver} boots")
            guests[driver] = Guest(stack, build, driver)
        commands = Samples.of([guests["mlx5_core"].command_latency()])
        for _ in counted(rounds, "guests"):
            for driver, one in guests.items():
                for what, value in (("ping", one.round_trip()), ("send", one.stream("")), ("receive", one.stream("-R"))):
                    taken.setdefault((driver, what), []).append(value)
    figures = [Figure("guest", "a command, asked to answered", "us", commands)]
    for what, name, unit in (("ping", "ping", "us"), ("send", "TCP out of the guest", "Mbit/s"),
                             ("receive", "TCP into the guest", "Mbit/s")):
        for peer in drivers[1:]:
            goal = "" if peer != "e1000e" else "at most 1 times" if what == "ping" else "at least 1 times"
            figures.append(Figure("guest", name, unit, Samples.of(taken["mlx5_core", what]), peer,
                                  Samples.of(taken[peer, what]), goal))
    say("  a guest for rdma-core boots")
    with contextlib.ExitStack() as stack:
        figures += posting(stack, build, results)
    return figures
