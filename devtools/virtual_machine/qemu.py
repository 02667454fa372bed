# SPDX-License-Identifier: BSD-3-Clause
"""QEMU: the installed one, or a newer one from Debian's archive, unpacked into a cache folder and not installed."""

import json
import os
import pathlib
import shutil
import subprocess

from . import command

# The release whose QEMU has vfio-user-pci (10.1 and later).
NEWER = "forky"


class QemuError(Exception):
    pass


class Qemu:
    """A QEMU: the words that start it, and by which of its devices a card comes into a guest."""

    def __init__(self, command: list[str]):
        self.command = command
        self.vfio_user = self._has("vfio-user-pci")
        if not self.vfio_user and not self._has("x-pci-proxy-dev"):
            raise QemuError(f"{' '.join(command)} has neither vfio-user-pci nor x-pci-proxy-dev")

    def _has(self, device: str) -> bool:
        words = [*self.command, "-device", f"{device},help"]
        shown = subprocess.run(words, capture_output=True, text=True, check=False)
        # One that lacks a device says so, and nothing more.
        if shown.returncode != 0 and f"'{device}'" not in shown.stderr:
            raise QemuError(f"{' '.join(words)}: status {shown.returncode}: {shown.stderr.strip()}")
        return shown.stdout.startswith(f"{device} options")

    def device(self, name: str, slot: int, way: "int | pathlib.Path") -> list[str]:
        """Arguments for a card; @param way the descriptor of the proxy's socket, or the path of vfio-user's"""
        if isinstance(way, int):
            return ["-device", f"x-pci-proxy-dev,id={name},fd={way},addr={slot:#x}"]
        socket = {"type": "unix", "path": str(way)}
        return ["-device", json.dumps({"driver": "vfio-user-pci", "id": name, "addr": f"{slot:#x}", "socket": socket})]


def installed() -> Qemu:
    if not shutil.which("qemu-system-x86_64"):
        raise QemuError("no qemu-system-x86_64; install it: devtools/install-packages guest")
    return Qemu(["qemu-system-x86_64"])


def _apt(folder: pathlib.Path, *words: str) -> None:
    """apt-get with a state, a cache and sources of its own; packages are checked against Debian's keys as always."""
    settings = folder / "apt.conf"
    if not settings.exists():
        for name in ("state/lists/partial", "cache/archives/partial", "etc/apt.conf.d", "etc/preferences.d"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / "status").touch()
        (folder / "sources.list").write_text(f"deb http://deb.debian.org/debian {NEWER} main\n")
        # An archive that was mirrored some weeks ago is as good.
        settings.write_text(f'Dir "{folder}";\nDir::State "{folder}/state";\nDir::State::status "{folder}/status";\n'
                            f'Dir::Cache "{folder}/cache";\nDir::Etc "{folder}/etc";\n'
                            f'Dir::Etc::sourcelist "{folder}/sources.list";\n'
                            'Dir::Etc::trustedparts "/usr/share/keyrings";\nAPT::Install-Recommends "false";\n'
                            'Acquire::Check-Valid-Until "false";\nAPT::Sandbox::User "root";\n')
    _run(["apt-get", "-qq", *words], env={**os.environ, "APT_CONFIG": str(settings)})


def _run(words: list, **options) -> None:
    command.run(words, QemuError, "--qemu newer needs it", **options)


def newer(cache: pathlib.Path, say) -> Qemu:
    """The QEMU of Debian's next release with all its libraries, from the cache or else from Debian's archive."""
    root = cache.resolve() / f"qemu-{NEWER}"
    if not root.exists():
        building = root.with_name(root.name + ".new")
        shutil.rmtree(building, ignore_errors=True)
        building.mkdir(parents=True)
        say(f"fetching QEMU of Debian {NEWER}")
        _apt(building, "update", "--error-on=any")
        _apt(building, "install", "-y", "--download-only", "qemu-system-x86")
        say("unpacking QEMU")
        unpacked = building / "root"
        for archive in sorted((building / "cache" / "archives").glob("*.deb")):
            _run(["dpkg-deb", "-x", archive, unpacked])
        unpacked.rename(root)
        shutil.rmtree(building)
    libraries = root / "usr" / "lib" / "x86_64-linux-gnu"
    program = root / "usr" / "bin" / "qemu-system-x86_64"
    if not program.exists():
        raise QemuError(f"no {program}; remove {root}, and it is fetched anew")
    return Qemu(["env", f"QEMU_MODULE_DIR={libraries / 'qemu'}",
                 str(libraries / "ld-linux-x86-64.so.2"), "--library-path", str(libraries),
                 str(program),
                 "-L", str(root / "usr" / "share" / "qemu"), "-L", str(root / "usr" / "share" / "seabios")])
