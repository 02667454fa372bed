# SPDX-License-Identifier: BSD-3-Clause
"""How the tests talk to a program under test: lines in, text out, wherever it runs.

A channel is anything with send(text), read() and close(); the same tests run over a local process and over a
guest's console.
"""
import re
import os
import selectors
import subprocess
import time


class ChannelClosed(Exception):
    """The program ended; the text so far is in .output."""

    def __init__(self, output: str, status):
        super().__init__(f"the program ended with status {status}; its output ends:\n{output[-4000:]}")
        self.output = output
        self.status = status


class ProcessChannel:
    """A local process on pipes. stdbuf makes its standard output arrive by lines."""

    def __init__(self, command: list[str], environment: dict[str, str] | None = None):
        self.command = command
        self._process = subprocess.Popen(
            ["stdbuf", "-oL", *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(environment or {})},
        )
        os.set_blocking(self._process.stdout.fileno(), False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._process.stdout, selectors.EVENT_READ)

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, text: str) -> None:
        self._process.stdin.write(text.encode())
        self._process.stdin.flush()

    def read(self, seconds: float) -> str:
        """What arrives within `seconds`; returns as soon as there is something. Empty at the end of the time."""
        if not self._selector.select(seconds):
            return ""
        data = self._process.stdout.read()
        if data == b"":
            raise ChannelClosed("", self._process.wait())
        return (data or b"").decode(errors="replace")

    def wait(self, seconds: float) -> int:
        """Waits for the end; kills the process when it does not come."""
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            raise

    def running(self) -> bool:
        return self._process.poll() is None

    def close(self) -> None:
        self._selector.close()
        if self.running():
            self._process.kill()
        self._process.wait()
        self._process.stdin.close()
        self._process.stdout.close()


def read_until(channel, wanted: str, seconds: float) -> str:
    """Reads until `wanted` has come. Raises TimeoutError, or ChannelClosed with all the output."""
    text = ""
    end = time.monotonic() + seconds
    # testpmd reports events from another thread, in the midst of its prompt.
    while wanted not in text and wanted not in re.sub(r"\r?\nPort \d+: [^\n]*event\r?\n", "", text):
        left = end - time.monotonic()
        if left <= 0:
            raise TimeoutError(f"no {wanted!r} within {seconds} s; the output ends:\n{text[-4000:]}")
        try:
            text += channel.read(left)
        except ChannelClosed as closed:
            raise ChannelClosed(text, closed.status) from None
    return text
