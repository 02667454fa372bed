# SPDX-License-Identifier: BSD-3-Clause
"""Byte streams between this machine and programs of a guest: virtio's serial ports, each a socket here and
/dev/vport*pNUMBER there."""

import pathlib
import socket

COUNT = 3


class Port:
    def __init__(self, number: int, path: pathlib.Path):
        self.number = number
        self.path = path
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(str(path))
        self.listener.listen(1)
        self.connection: socket.socket | None = None


class Ports:
    """All of one guest, for one program each at a time."""

    def __init__(self, folder: pathlib.Path):
        self.all = [Port(number, folder / f"port{number}") for number in range(1, COUNT + 1)]
        self.free = list(self.all)

    def qemu_arguments(self) -> str:
        words = ["-device virtio-serial-pci,addr=0x1d"]
        for port in self.all:
            words += [f"-chardev socket,id=port{port.number},path={port.path}",
                      f"-device virtserialport,nr={port.number},chardev=port{port.number}"]
        return " ".join(words)

    def accept(self, seconds: float) -> None:
        """QEMU connects when it starts. TimeoutError when it does not."""
        for port in self.all:
            port.listener.settimeout(seconds)
            port.connection, _ = port.listener.accept()

    def take(self) -> Port:
        if not self.free:
            raise RuntimeError(f"all {COUNT} ports of the guest have a program")
        return self.free.pop(0)

    def give(self, port: Port) -> None:
        self.free.append(port)

    def close(self) -> None:
        for port in self.all:
            for end in (port.connection, port.listener):
                if end:
                    end.close()
