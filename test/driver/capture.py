# SPDX-License-Identifier: BSD-3-Clause
"""Frames through a pair of cabled ports: captures go in at net_chime0 and come out of net_chime1, one for each queue.

    net_pcap0 -> testpmd -> net_chime0 == cable == net_chime1 -> testpmd -> net_pcap1

scapy makes the frames and reads what came.
"""
import contextlib

FIRST, SECOND = 0, 1  # of the cabled ports
OPTIONS = ["--portlist=2,0,1,3", "--no-flush-rx"]


def link_is(pmd, port: int, state: str) -> None:
    pmd.wait_for(lambda: f"Link status: {state}" in pmd.command(f"show port info {port}"), f"link {state} of port {port}")


class Crossing:
    """testpmd between two captures. Frames wait for start(); those that came are there when it has ended."""

    def __init__(self, backend, pmd, queues: int):
        self.pmd = pmd
        self._backend = backend
        self._queues = queues

    def links_up(self) -> None:
        for port in (FIRST, SECOND):
            link_is(self.pmd, port, "up")

    def start(self) -> None:
        self.links_up()
        self.pmd.command("start")

    def wait(self, count: int) -> None:
        self.pmd.wait_for(lambda: self.pmd.stats(3)["TX-packets"] >= count, f"{count} frames in the second capture")
        self.pmd.command("stop")

    def came(self) -> list[list[bytes]]:
        """By queue."""
        return [self._backend.read(f"out{queue}.pcap") for queue in range(self._queues)]


@contextlib.contextmanager
def crossing(backend, frames: list[bytes], options=(), mode: str = "io", queues: int = 1):
    """Frames are for the first queue."""
    into = [backend.write("in.pcap", frames)]
    into += [backend.write("none.pcap", [])] * (queues - 1) if queues > 1 else []
    out_of = [backend.path(f"out{queue}.pcap") for queue in range(queues)]
    devices = [*backend.ends, ",".join(["net_pcap0", *(f"rx_pcap={path}" for path in into)]),
               ",".join(["net_pcap1", *(f"tx_pcap={path}" for path in out_of)])]
    with backend.start(devices, [f"--forward-mode={mode}", *OPTIONS, *options]) as pmd:
        yield Crossing(backend, pmd, queues)


def carry(backend, frames, options=(), commands=(), mode="io", expected: int | None = None) -> list[bytes]:
    """Sends the frames after these commands; returns those that came."""
    with crossing(backend, frames, options, mode) as through:
        for command in commands:
            through.pmd.command(command)
        through.start()
        through.wait(len(frames) if expected is None else expected)
    return through.came()[0]
