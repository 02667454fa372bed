# SPDX-License-Identifier: BSD-3-Clause
"""A guest that stays up and runs one script after the other, over its second serial port."""

import base64
import contextlib
import pathlib
import socket
import time

from .kernel import Kernel
from .machine import Card, Machine, Server
from .ports import Ports
from .qemu import Qemu

# Runs what comes, a line of base64 a script, each in a subshell: a new shell would take an emulated CPU a tenth of a second.
# The answer lies between two lines that no output holds by chance.
AGENT = r'''
cat > /run/agent << 'END'
stty -F /dev/ttyS1 raw -echo
exec 3<>/dev/ttyS1
printf '@ready\n' >&3
while read -r mark script <&3; do
  ( eval "$(base64 -d <<< "$script")" ) > /run/answer 2>&1 3>&- < /dev/null
  status=$?
  printf '@%s\n%s\n@%s %d\n' "$mark" "$(< /run/answer)" "$mark" $status >&3
done
END
exec bash /run/agent
'''


class GuestError(Exception):
    """The guest did not answer, or a script ended with another status than 0."""


class Session:
    """One machine with a prompt for programs: `run` returns what a script wrote."""

    def __init__(self, kernel: Kernel, folder: pathlib.Path, work: pathlib.Path, memory: str = "1G",
                 cpu: int | None = None, reboots: bool = False, append: str = "", namespace: str = "", qemu_arguments: str = "",
                 emulator: Qemu | None = None):
        self.port = folder / "agent"
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(str(self.port))
        self.listener.listen(1)
        self.ports = Ports(folder)
        self.machine = Machine(kernel, folder, AGENT, work, memory, cpu, f"loglevel=7 {append}", reboots=reboots,
                               namespace=namespace, qemu_arguments=f"-chardev socket,id=agent,path={self.port} "
                               f"-serial chardev:agent {self.ports.qemu_arguments()} {qemu_arguments}",
                               emulator=emulator)
        self.connection: socket.socket | None = None
        self.buffer = b""
        self.count = 0

    def start(self, timeout: float = 300) -> None:
        self.machine.start()
        self.listener.settimeout(20)
        try:
            self.connection, _ = self.listener.accept()
            self.ports.accept(20)
        except TimeoutError as error:
            log = (self.machine.folder / "qemu.log").read_text(errors="replace")
            raise GuestError(f"QEMU did not start: {log}") from error
        self.ready(timeout)

    def ready(self, timeout: float = 300) -> None:
        """Waits until the guest is up, for the first time or after a reboot."""
        self._until(b"@ready\n", timeout)

    def run(self, script: str, timeout: float = 180, check: bool = True) -> str:
        """@return the script's output. GuestError when it fails, unless `check` is off, or when it takes too long."""
        output, status = self.status(script, timeout)
        if check and status != 0:
            raise GuestError(f"status {status} of {script!r}:\n{output}")
        return output

    def status(self, script: str, timeout: float = 180) -> tuple[str, int]:
        """The script's output and exit status."""
        self.count += 1
        mark = f"answer{self.count}".encode()
        self.connection.sendall(mark + b" " + base64.b64encode(script.encode()) + b"\n")
        self._until(b"@" + mark + b"\n", timeout)
        output = self._until(b"\n@" + mark + b" ", timeout)
        status = self._until(b"\n", timeout)
        return output.decode(errors="replace").strip("\n"), int(status)

    def _until(self, end: bytes, timeout: float) -> bytes:
        deadline = time.monotonic() + timeout
        while (at := self.buffer.find(end)) < 0:
            self.connection.settimeout(max(0.01, deadline - time.monotonic()))
            try:
                part = self.connection.recv(65536)
            except TimeoutError as error:
                raise GuestError(f"no answer within {timeout:.0f} s; the console ends:\n"
                                 + self.machine.output()[-3000:]) from error
            if not part:
                raise GuestError("the guest is gone; its console ends:\n" + self.machine.output()[-3000:])
            self.buffer += part
        found, self.buffer = self.buffer[:at], self.buffer[at + len(end):]
        return found

    def stop(self) -> None:
        for end in (self.connection, self.listener):
            if end:
                end.close()
        self.ports.close()
        self.machine.stop()


def boot(stack: contextlib.ExitStack, build: pathlib.Path, kernel: Kernel, folder: pathlib.Path, work: pathlib.Path,
         cards: list[Card], eal: str = "", cpus: tuple[int | None, int | None] = (0, 0), namespace: str = "",
         **options) -> tuple[Session, Server | None]:
    """A guest that is up, and what serves its cards, both ended by `stack`; @param cpus of guest and cards, @param options
    Session's"""
    session = Session(kernel, folder, work, cpu=cpus[0], namespace=namespace, **options)
    server = Server(build / "app" / "chime" / "chime", folder, eal, cpus[1], namespace) if cards else None

    def stop() -> None:
        session.stop()  # first: cards end with their guest
        if server:
            server.stop()

    stack.callback(stop)
    for card in cards:
        session.machine.insert(card, server)
    if server:
        server.start()
    session.start()
    return session, server
