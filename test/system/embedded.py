# SPDX-License-Identifier: BSD-3-Clause
"""The tests of test/driver over the embedded HCA: programs here, captures in the test's folder."""
import os
import subprocess

from backend import Backend
from channel import ProcessChannel
from scapy.layers.l2 import Ether
from scapy.utils import rdpcap, wrpcap
from testpmd import eal_arguments, environment


class EmbeddedHca(Backend):
    """Ports of the software HCA in testpmd's process."""

    looped = "net_chime0"
    ends = ("net_chime0,wire=cable:test", "net_chime1,wire=cable:test")
    refused = [("loss=2x", r"loss=2x: neither parts of a million .* nor percent")]
    loopback = True
    many, additions, items, producers = 20_000, 1000, 1_000_000, 4

    def __init__(self, testpmd, build: str, folder):
        self._testpmd = testpmd
        self._build = build
        self._folder = folder
        self._address = f"127.0.0.1:{20000 + os.getpid() % 20000}"
        self._peers = []

    def start(self, devices=(), options=(), **keywords):
        return self._testpmd(devices, options, **keywords)

    def program(self, name: str, devices: list[str], *arguments: str) -> str:
        command = [os.path.join(self._build, "test", "driver", name), *eal_arguments(devices), "--", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False,
                              env={**os.environ, **environment(self._build)})
        assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    def path(self, name: str) -> str:
        return str(self._folder / name)

    def write(self, name: str, frames: list[bytes]) -> str:
        wrpcap(self.path(name), [Ether(frame) for frame in frames], linktype=1)
        return self.path(name)

    def read(self, name: str) -> list[bytes]:
        return [bytes(frame) for frame in rdpcap(self.path(name))]

    def atomics(self, role: str, *options: str, faults: str = ""):
        """A memif joins the two. @param faults of this one's wire: ",loss=1%" """
        command = [os.path.join(self._build, "app", "chime", "chime"), "atomics", *options,
                   *(["--serve", self._address] if role == "server" else ["--join", self._address])]
        mac = "02:00:00:00:00:0" + ("1" if role == "server" else "2")
        for device in (f"net_memif0,role={role},socket={self.path('memif.sock')},socket-abstract=no",
                       f"net_chime0,wire=net_memif0,mac={mac}{faults}"):
            command += ["--device", device]
        self._peers.append(ProcessChannel(command, environment(self._build)))
        return self._peers[-1]

    def close(self) -> None:
        for peer in self._peers:
            peer.close()
