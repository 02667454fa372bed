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

from . import initramfs
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
        self.process: subprocess.Popen | None = None
        self.log = folder / "serve.log"

    def add(self, card: Card, qtest: pathlib.Path) -> socket.socket:
        """@return QEMU's end of the card's connection"""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        words = {"name": card.name, "fd": str(ours.fileno()), "qtest": str(qtest), **card.options}
        self.nics.append(",".join(f"{key}={value}" for key, value in words.items()))
        self.ends.append(ours)
        return theirs

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
                 reboots: bool = False, namespace: str = ""):
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
        self.cards: list[tuple[str, socket.socket]] = []
        self.process: subprocess.Popen | None = None
        self.initramfs = folder / "initramfs"
        initramfs.make(kernel, work, command, self.initramfs)

    def insert(self, card: Card, server: Server) -> None:
        self.cards.append((card.name, server.add(card, self.qtest)))

    def arguments(self, interactive: bool) -> list[str]:
        words = ["qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none",
                 "-machine", "q35,memory-backend=mem", "-accel", "tcg", "-cpu", "max", "-smp", "1",
                 "-object", f"memory-backend-memfd,id=mem,size={self.memory},share=on", "-m", self.memory,
                 "-kernel", str(self.kernel.image), "-initrd", str(self.initramfs),
                 "-append", f"console=ttyS0 panic=-1 {'' if interactive else 'quiet '}{self.append}".strip(),
                 "-virtfs", "local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap",
                 "-qtest", f"unix:{self.qtest},server=on,wait=off", "-qtest-log", "/dev/null",
                 "-serial", "mon:stdio" if interactive else f"file:{self.console}"]
        words += [] if self.reboots else ["-no-reboot"]
        for number, (name, end) in enumerate(self.cards, 3):
            words += ["-device", f"x-pci-proxy-dev,id={name},fd={end.fileno()},addr={number:#x}"]
        words += shlex.split(self.qemu_arguments)
        return self.prefix + (words if self.cpu is None else ["taskset", "-c", str(self.cpu), *words])

    def start(self, interactive: bool = False) -> None:
        ends = [end.fileno() for _, end in self.cards]
        quiet = None if interactive else subprocess.DEVNULL
        with (self.folder / "qemu.log").open("wb") as log:
            self.process = subprocess.Popen(self.arguments(interactive), stdin=quiet, stdout=quiet,
                                            stderr=None if interactive else log, pass_fds=ends)
        for _, end in self.cards:
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
