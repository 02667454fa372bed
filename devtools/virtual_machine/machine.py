# SPDX-License-Identifier: BSD-3-Clause
"""A QEMU guest with virtual cards, and the process that serves the cards."""

import json
import os
import pathlib
import re
import shlex
import signal
import socket
import subprocess
import tempfile
import time

from . import initramfs, qemu
from .kernel import Kernel


class Card:
    """One `--nic` of chime serve; @param options wire, profile, mac"""

    def __init__(self, name: str, **options: str):
        self.name = name
        self.options = options


class Server:
    """chime serve with the cards of one or more guests, and its control socket."""

    def __init__(self, chime: pathlib.Path, folder: pathlib.Path, eal: str = "", cpu: int | None = None,
                 namespace: str = ""):
        self.prefix = ["ip", "netns", "exec", namespace] if namespace else []
        self.chime = chime
        self.folder = folder
        self.control_path = folder / "control"
        self.eal = eal
        self.cpu = cpu
        self.nics: list[str] = []
        self.ends: list[socket.socket] = []
        self.sockets: list[pathlib.Path] = []
        self.process: subprocess.Popen | None = None
        self.log = folder / "serve.log"

    def add(self, card: Card, qtest: pathlib.Path) -> socket.socket:
        """A card behind x-pci-proxy-dev. @return QEMU's end of its connection"""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self._add(card, fd=str(ours.fileno()), qtest=str(qtest))
        self.ends.append(ours)
        return theirs

    def add_vfio_user(self, card: Card) -> pathlib.Path:
        """A card behind vfio-user-pci. @return the socket for QEMU to connect to, once the server has started"""
        path = self.folder / f"{card.name}.vfio-user"
        self._add(card, **{"vfio-user": str(path)})
        self.sockets.append(path)
        return path

    def _add(self, card: Card, **way: str) -> None:
        words = {"name": card.name, **way, **card.options}
        self.nics.append(",".join(f"{key}={value}" for key, value in words.items()))

    def start(self) -> None:
        command = [str(self.chime), "serve", "--control", str(self.control_path)]
        for nic in self.nics:
            command += ["--nic", nic]
        if self.eal:
            command += ["--eal", self.eal]
        if self.cpu is not None:
            command = ["taskset", "-c", str(self.cpu), *command]
        command = [*self.prefix, *command]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            pass_fds=[end.fileno() for end in self.ends])
        for end in self.ends:
            end.close()
        for _ in range(2000):  # in steps of 10 ms
            if all(path.exists() for path in self.sockets) or self.process.poll() is not None:
                break
            time.sleep(0.01)

    def control(self, line: str) -> dict:
        """One command of the control socket, such as "link net0 down"."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
            client.settimeout(10)
            client.connect(str(self.control_path))
            client.sendall(line.encode() + b"\n")
            answer = client.makefile().readline()
        return json.loads(answer)

    def stop(self, timeout: float = 10) -> int:
        if self.process is None:
            return 0
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGTERM)
            return self.process.wait(timeout)


class Machine:
    """One guest that runs one command and powers off."""

    def __init__(self, kernel: Kernel, folder: pathlib.Path, command: str, work: pathlib.Path,
                 memory: str = "1G", cpu: int | None = None, append: str = "", qemu_arguments: str = "",
                 reboots: bool = False, namespace: str = "", emulator: qemu.Qemu | None = None):
        self.emulator = emulator or qemu.installed()
        self.prefix = ["ip", "netns", "exec", namespace] if namespace else []
        self.kernel = kernel
        self.folder = folder
        self.qtest = folder / "qtest"
        self.console = folder / "console.log"
        self.memory = memory
        self.cpu = cpu
        self.append = append
        self.qemu_arguments = qemu_arguments
        self.reboots = reboots
        self.cards: list[tuple[str, socket.socket | pathlib.Path]] = []
        self.process: subprocess.Popen | None = None
        self.initramfs = folder / "initramfs"
        initramfs.make(kernel, work, command, self.initramfs)

    def insert(self, card: Card, server: Server) -> None:
        way = server.add_vfio_user(card) if self.emulator.vfio_user else server.add(card, self.qtest)
        self.cards.append((card.name, way))

    def ends(self) -> list[socket.socket]:
        """Of sockets that QEMU inherits."""
        return [way for _, way in self.cards if isinstance(way, socket.socket)]

    def arguments(self, interactive: bool) -> list[str]:
        words = [*self.emulator.command, "-nodefaults", "-no-user-config", "-display", "none",
                 "-machine", "q35,memory-backend=mem", "-accel", "tcg", "-cpu", "max", "-smp", "1",
                 "-object", f"memory-backend-memfd,id=mem,size={self.memory},share=on", "-m", self.memory,
                 "-kernel", str(self.kernel.image), "-initrd", str(self.initramfs),
                 "-append", f"console=ttyS0 panic=-1 {'' if interactive else 'quiet '}{self.append}".strip(),
                 "-virtfs", "local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap",
                 "-qtest", f"unix:{self.qtest},server=on,wait=off", "-qtest-log", "/dev/null",
                 "-serial", "mon:stdio" if interactive else f"file:{self.console}"]
        words += [] if self.reboots else ["-no-reboot"]
        for number, (name, way) in enumerate(self.cards, 3):
            words += self.emulator.device(name, number, way.fileno() if isinstance(way, socket.socket) else way)
        words += shlex.split(self.qemu_arguments)
        return self.prefix + (words if self.cpu is None else ["taskset", "-c", str(self.cpu), *words])

    def start(self, interactive: bool = False) -> None:
        quiet = None if interactive else subprocess.DEVNULL
        with (self.folder / "qemu.log").open("wb") as log:
            self.process = subprocess.Popen(self.arguments(interactive), stdin=quiet, stdout=quiet,
                                            stderr=None if interactive else log,
                                            pass_fds=[end.fileno() for end in self.ends()])
        for end in self.ends():
            end.close()

    def wait(self, timeout: float) -> int:
        """@return the command's exit status in the guest. TimeoutExpired when it takes longer."""
        self.process.wait(timeout)
        found = re.search(r"chime-vm: status (\d+)", self.output())
        return int(found.group(1)) if found else 255

    def output(self) -> str:
        if not self.console.exists():
            return ""
        return self.console.read_bytes().decode(errors="replace").replace("\r\n", "\n")

    def stop(self) -> None:
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
