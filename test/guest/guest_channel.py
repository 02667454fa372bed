# SPDX-License-Identifier: BSD-3-Clause
"""The channel of the system tests (test/system/channel.py) to a program in a guest."""
import re
import socket
import time

from channel import ChannelClosed

_END = re.compile(r"@program ended (\d+)\n")


class GuestChannel:
    """A program in the guest, its input and output on the session's port for programs: one at a time."""

    def __init__(self, guest, command: str):
        self.guest = guest
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(str(guest.session.program_port))
        self.status: int | None = None
        self.guest.run(f"""
            modprobe virtio_console
            for i in $(seq 50); do [ -e /dev/vport*p1 ] && break; sleep 0.1; done
            rm -f /run/program.pid
            (exec 3<> $(echo /dev/vport*p1)
             sh -c 'echo $$ > /run/program.pid; exec stdbuf -oL {command}' <&3 >&3 2>&1
             echo "@program ended $?" >&3) > /dev/null 2>&1 < /dev/null &
            for i in $(seq 100); do [ -s /run/program.pid ] && exit 0; sleep 0.05; done; exit 1""")

    def send(self, text: str) -> None:
        self.socket.sendall(text.encode())

    def read(self, seconds: float) -> str:
        """What arrives within `seconds`; returns as soon as there is something. Empty at the end of the time."""
        if self.status is not None:
            raise ChannelClosed("", self.status)
        self.socket.settimeout(max(seconds, 0.001))
        try:
            text = self.socket.recv(65536).decode(errors="replace")
        except TimeoutError:
            return ""
        if not text:
            raise ChannelClosed("", "unknown: the guest is gone")
        # The last line comes at once, and nothing after it.
        if end := _END.search(text):
            self.status = int(end[1])
            return text[:end.start()]
        return text

    def running(self) -> bool:
        return self.status is None

    def wait(self, seconds: float) -> int:
        end = time.monotonic() + seconds
        while self.running():
            if time.monotonic() > end:
                raise TimeoutError(f"the program still runs after {seconds} s")
            self.read(0.2)
        return self.status

    def close(self) -> None:
        if self.running():
            self.guest.run("kill -KILL $(cat /run/program.pid)", check=False)
            try:
                self.wait(10)
            except (TimeoutError, ChannelClosed):
                pass
        self.socket.close()
