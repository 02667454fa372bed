# SPDX-License-Identifier: BSD-3-Clause
"""Stock dpdk-testpmd, driven by its command line."""
import itertools
import os
import re
import time

from channel import ProcessChannel, read_until

PROMPT = "testpmd> "
_serial = itertools.count()
_CONTROL = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|\r")


def eal_arguments(devices: list[str], memory: int = 512, lcores: str = "0,1", huge: tuple[str, str] | None = None) -> list[str]:
    """EAL arguments that need no cards. `huge` is a hugetlbfs folder and a file prefix, for programs that others attach to;
    without it no hugepages are needed."""
    arguments = ["--lcores", lcores, "--no-pci", "-m", str(memory), "-d", "librte_net_chime.so"]
    arguments += ["--huge-dir", huge[0], "--file-prefix", huge[1]] if huge else ["--no-huge", "--no-shconf"]
    for device in devices:
        arguments += ["--vdev", device]
    return arguments


def environment(build: str) -> dict[str, str]:
    """EAL takes a plugin by name from the library path; a path below a world-writable folder it would refuse."""
    return {"LD_LIBRARY_PATH": os.path.join(build, "drivers", "net", "chime")}


class InteractiveTestpmd:
    """An interactive testpmd at the other end of a channel. Use as a context manager; leaving it quits and checks the
    exit status."""

    def __init__(self, channel, seconds: float = 60):
        self.channel = channel
        try:
            self.banner = read_until(self.channel, PROMPT, seconds)
        except BaseException:
            self.channel.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        try:
            if kind is None:
                self.quit()
        finally:
            self.channel.close()

    def command(self, text: str, seconds: float = 60) -> str:
        """Types a command; returns what it printed."""
        self.channel.send(text + "\n")
        output = read_until(self.channel, PROMPT, seconds)
        # The command line echoes what was typed, and prompts again after it.
        while output.count(PROMPT) and output.split(PROMPT)[0].strip() == "" and output.strip() == PROMPT.strip():
            output = read_until(self.channel, PROMPT, seconds)
        cleaned = _CONTROL.sub("", output).replace(PROMPT, "")
        return cleaned.split("\n", 1)[1] if cleaned.lstrip().startswith(text) and "\n" in cleaned else cleaned

    def print_packets(self, start: str, count: int, seconds: float = 60) -> str:
        """Types the command that starts forwarding in verbose mode; returns what was printed with so many packets. The prompt
        may come among their lines, and in pieces: another thread prints them."""
        self.channel.send(start + "\n")
        text, end = "", time.monotonic() + seconds
        while len(re.findall("ol_flags.*\n", text)) < count:
            if time.monotonic() >= end:
                raise TimeoutError(f"no {count} packets within {seconds} s; the output ends:\n{text[-4000:]}")
            text += self.channel.read(1)
        return text + self.command("set verbose 0")

    def quit(self) -> str:
        self.channel.send("quit\n")
        output = read_until(self.channel, "Bye...", 30)
        status = self.channel.wait(30)
        assert status == 0, f"testpmd ended with status {status}:\n{output}"
        return output

    def stats(self, port: int = 0) -> dict[str, int]:
        """The counters of 'show port stats', by their names there (RX-packets, TX-bytes, ...)."""
        text = self.command(f"show port stats {port}")
        return {name: int(value) for name, value in re.findall(r"([RT]X-[a-z-]+):\s*(\d+)", text)}

    def xstats(self, port: int = 0) -> dict[str, int]:
        text = self.command(f"show port xstats {port}")
        return {name: int(value) for name, value in re.findall(r"^([a-z0-9_]+): (\d+)$", text, re.MULTILINE)}

    def wait_for(self, condition, what: str, tries: int = 200):
        """Asks until `condition()` holds; every try is a command's round trip."""
        for _ in range(tries):
            value = condition()
            if value:
                return value
            self.channel.read(0.02)
        raise AssertionError(f"never came: {what}")


class Testpmd(InteractiveTestpmd):
    """testpmd with the plugin. `channel` starts a program and returns its channel; the default runs it here."""

    __test__ = False

    def __init__(self, build: str, devices: list[str], options: list[str] = (), memory: int = 512,
                 huge: tuple[str, str] | None = None, extra_eal: list[str] = (), before: list[str] = (),
                 seconds: float = 60, lcores: str = "0,1", channel=ProcessChannel):
        eal = eal_arguments(devices, memory, lcores, huge=huge)
        command = [*before, "dpdk-testpmd", *eal, *extra_eal, "--", "-i", "--total-num-mbufs=8192", *options]
        super().__init__(channel(command, environment(build)), seconds)
