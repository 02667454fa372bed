# SPDX-License-Identifier: BSD-3-Clause
"""What test/bench/port_loop measures: rates with many queues and rules, start-up, memory."""
import contextlib
import json
import os
import subprocess

import machine
from progress import rounds as counted
from progress import say
from samples import Figure, Samples
from testpmd import environment


class PortLoop:
    """One process with one looped port. It starts at once; run() may take turns with other processes."""

    def __init__(self, build: str, device: str, cpu: int, *options: str):
        self._process = subprocess.Popen(
            [os.path.join(build, "test", "bench", "port_loop"), "--vdev", device, *options, "--eal",
             " ".join(["-l", str(cpu), "--no-pci", "--no-telemetry", "--log-level=lib.eal:4", *machine.eal_memory(), "-d",
                       "librte_net_chime.so"])],
            env={**os.environ, **environment(build)}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.started = self._read()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.stdin.close()  # ends it
        self._process.stdout.close()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _read(self) -> dict:
        for line in self._process.stdout:
            if line.startswith("{"):  # EAL prints there, too
                return json.loads(line)
        raise RuntimeError(f"port_loop ended with status {self._process.wait()}")

    def rate(self, seconds: float) -> float:
        """Million packets a second."""
        self._process.stdin.write(f"run {seconds}\n")
        self._process.stdin.flush()
        result = self._read()
        if result["lost"] != 0:
            say(f"  {result['lost']} packets did not come back")
        return result["packets"] / result["seconds"] / 1e6


def _device() -> tuple[str, int]:
    """The port, whose model has a CPU; and the CPU of the application."""
    first, second = machine.cpus()[0], machine.cpus()[-1]
    return f"net_chime0,model_cpu={first}", second


def _in_turns(build: str, rounds: int, seconds: float, what: str, *options: tuple[str, ...]) -> list[Samples]:
    device, cpu = _device()
    with contextlib.ExitStack() as stack:
        loops = [stack.enter_context(PortLoop(build, device, cpu, *one)) for one in options]
        rates = [[] for _ in loops]
        for _ in counted(rounds, what):
            for one, values in zip(loops, rates):
                values.append(one.rate(seconds))
    return [Samples.of(values) for values in rates]


def port(build: str, results: str, rounds: int, seconds: float) -> list[Figure]:
    del results
    one, many = _in_turns(build, rounds, seconds, "queues", ("--queues", "1"), ("--queues", "64"))
    few, lots = _in_turns(build, rounds, seconds, "flow rules", ("--flows", "10"), ("--flows", "10000"))
    small, large = _in_turns(build, rounds, seconds, "packet sizes", ("--length", "60"), ("--length", "1500"))
    # Time is what is compared: the inverse of the rate.
    def spent(rate: Samples) -> Samples:
        return Samples.of(1e3 / value for value in rate.values)

    return [
        Figure("port", "one busy queue of 64", "ns", spent(many), "one queue", spent(one), "at most 1.2 times"),
        Figure("port", "10,000 flow rules", "ns", spent(lots), "10 rules", spent(few), "at most 1.2 times"),
        Figure("port", "60 B there and back", "Mpps", small),
        Figure("port", "1500 B there and back", "Mpps", large),
        Figure("port", "1500 B there and back", "Gbit/s", large.scaled(1500 * 8e-3)),
    ]


def start(build: str, results: str, rounds: int, seconds: float) -> list[Figure]:
    del results, seconds
    device, cpu = _device()
    devices = {"chime": device, "memif": "net_memif0,role=server,socket-abstract=no,socket=" + os.path.join(build, "start.sock")}
    times = {name: [] for name in devices}
    memory = {name: [] for name in devices}
    whole = []
    for _ in counted(rounds, "starts"):
        for name, one in devices.items():
            with PortLoop(build, one, cpu) as loop:
                came = loop.started
            times[name].append(came["probe_ms"] + came["configure_ms"] + came["start_ms"])
            memory[name].append((came["port_resident_kb"] + came["port_huge_kb"]) / 1024)
            if name == "chime":
                whole.append((came["process_resident_kb"] + came["process_huge_kb"]) / 1024)
    return [
        Figure("start", "probe to started port", "ms", Samples.of(times["chime"]), "net_memif", Samples.of(times["memif"]),
               "below 200 ms"),
        Figure("start", "memory of an idle port", "MiB", Samples.of(memory["chime"]), "net_memif",
               Samples.of(memory["memif"]), "below 32 MiB"),
        Figure("start", "memory of the whole process", "MiB", Samples.of(whole)),
    ]
