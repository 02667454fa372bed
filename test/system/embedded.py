# SPDX-License-Identifier: BSD-3-Clause
"""The tests of test/driver over the embedded HCA: testpmd here, captures in the test's folder."""
from backend import Backend
from scapy.layers.l2 import Ether
from scapy.utils import rdpcap, wrpcap


class EmbeddedHca(Backend):
    """Ports of the software HCA in testpmd's process."""

    looped = "net_chime0"
    ends = ("net_chime0,wire=cable:test", "net_chime1,wire=cable:test")
    refused = [("loss=2x", r"loss=2x: neither parts of a million .* nor percent")]
    many = 20_000

    def __init__(self, testpmd, folder):
        self._testpmd = testpmd
        self._folder = folder

    def start(self, devices=(), options=(), **keywords):
        return self._testpmd(devices, options, **keywords)

    def path(self, name: str) -> str:
        return str(self._folder / name)

    def write(self, name: str, frames: list[bytes]) -> str:
        wrpcap(self.path(name), [Ether(frame) for frame in frames], linktype=1)
        return self.path(name)

    def read(self, name: str) -> list[bytes]:
        return [bytes(frame) for frame in rdpcap(self.path(name))]
