# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of test/driver ask of a backend of the driver: stock testpmd on its ports, captures for it, and small
applications (test/driver/programs).

    test/system: the embedded HCA, in testpmd's process            the fixture of test/system/conftest.py
    test/guest:  the virtual card beside its stock kernel drivers  test/guest/card.py
"""
import abc


class Backend(abc.ABC):
    """Device arguments of three ports, and a testpmd to use them. Every port is another HCA."""

    looped: str  # a port that receives what it sends
    ends: tuple[str, str]  # two ports with a cable between them
    refused: list[tuple[str, str]]  # wrong device arguments beside those of `looped`, and a pattern of what is said to them
    loopback: bool  # `looped` knows that its wire is looped
    many: int  # packets that go round a loop in a second or two
    additions: int  # atomics one after the other, the same
    items: int  # of a queue over RDMA, in some seconds
    producers: int

    @abc.abstractmethod
    def start(self, devices=(), options=(), memory: int = 512):
        """Starts testpmd; it ends with the test. @return a testpmd.InteractiveTestpmd at its prompt"""

    @abc.abstractmethod
    def program(self, name: str, devices: list[str], *arguments: str) -> str:
        """Runs an application of test/driver/programs, which ends with status 0. @return what it printed"""

    @abc.abstractmethod
    def path(self, name: str) -> str:
        """What testpmd calls a capture of this test."""

    @abc.abstractmethod
    def write(self, name: str, frames: list[bytes]) -> str:
        """Makes a capture. @return its path()"""

    @abc.abstractmethod
    def read(self, name: str) -> list[bytes]:
        """Frames of a capture that testpmd wrote; testpmd must have ended."""

    @abc.abstractmethod
    def atomics(self, role: str, *options: str):
        """Starts `chime atomics` as the "server" of a queue or as its "client", which are joined by a wire; it ends with the
        test. @return its channel"""
