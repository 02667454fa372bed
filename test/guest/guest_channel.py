# SPDX-License-Identifier: BSD-3-Clause
"""A program in the guest behind a channel as in test/system/channel.py: the same tests can drive it there."""
import re
import shlex
import time

from channel import ChannelClosed

ENDED = re.compile(rb"\0ended (\d+)\n")  # no text has the first byte
BEGINNING = re.compile(rb"\0[ended 0-9]*\Z")


class GuestChannel:
    """Its input and output are one of the guest's program ports. A program that polls leaves the guest's one CPU to others
    (nice)."""

    def __init__(self, session, command: list[str], environment: dict[str, str] | None = None):
        self.session = session
        self.data = b""
        self.status: int | None = None
        words = shlex.join(["nice", "-n", "19", "stdbuf", "-oL", *command])
        for name, value in (environment or {}).items():
            words = f"{name}={shlex.quote(value)} {words}"
        self.port = session.ports.take()
        name = f"/dev/vport*p{self.port.number}"
        # The kernel hears of QEMU's end after it has made the port; a program before may be about to close it.
        self.pid = int(session.run(f"""
            [ -e {name} ] || modprobe virtio_console
            for i in {{1..100}}; do
              [[ $(< /sys/kernel/debug/virtio-ports/vport*p{self.port.number}) == *'host_connected: 1'* ]] &&
                command exec 3<>{name} && break
              sleep 0.05
            done 2> /dev/null
            echo $({{ {words} <&3 >&3 2>&1 3>&- & echo $!; exec > /dev/null 2>&1
                      wait $!; printf '\\0ended %d\\n' $? >&3; }} &)"""))

    def send(self, text: str) -> None:
        self.port.connection.sendall(text.encode())

    def read(self, seconds: float) -> str:
        """What arrives within `seconds`; returns as soon as there is something. Empty at the end of the time."""
        if self.status is not None:
            raise ChannelClosed("", self.status)
        self.port.connection.settimeout(max(seconds, 0.001))
        try:
            part = self.port.connection.recv(65536)
        except TimeoutError:
            return ""
        if not part:
            raise ChannelClosed("", "of the guest, which is gone")
        self.data += part
        if ended := ENDED.search(self.data):
            self.status = int(ended[1])
            self.session.ports.give(self.port)
            whole, self.data = self.data[:ended.start()], b""
            if not whole:
                raise ChannelClosed("", self.status)
            return whole.decode(errors="replace")
        # The line of the end may come in parts.
        beginning = BEGINNING.search(self.data)
        at = beginning.start() if beginning else len(self.data)
        whole, self.data = self.data[:at], self.data[at:]
        return whole.decode(errors="replace")

    def running(self) -> bool:
        return self.status is None

    def kill(self) -> None:
        """kill -9, and waits until it has gone with all that it had."""
        self.session.run(f"kill -9 {self.pid} || true")
        self.wait(60)

    def wait(self, seconds: float) -> int:
        """@return the exit status; kills the program when its end does not come."""
        end = time.monotonic() + seconds
        while self.status is None:
            left = end - time.monotonic()
            if left <= 0:
                self.session.run(f"kill -9 {self.pid}")
                raise TimeoutError(f"{self.pid} did not end within {seconds} s")
            try:
                self.read(left)
            except ChannelClosed:
                pass
        return self.status

    def close(self) -> None:
        if self.running():
            self.kill()
