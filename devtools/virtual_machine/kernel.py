# SPDX-License-Identifier: BSD-3-Clause
"""The guest's kernel: Debian's package, unpacked into a cache folder and not installed."""

import bz2
import gzip
import lzma
import pathlib
import re
import shutil
import subprocess

from . import command


class KernelError(Exception):
    pass


class Kernel:
    """An unpacked linux-image package: `image` in ELF form, which boots fastest, and its modules."""

    def __init__(self, folder: pathlib.Path, version: str):
        self.folder = folder
        self.version = version
        self.image = folder / f"vmlinux-{version}"
        self.modules = folder / "lib" / "modules" / version

    def with_dependencies(self, names: list[str]) -> list[pathlib.Path]:
        """Files of the modules and all that they need, in the order in which to load them."""
        files: list[pathlib.Path] = []
        for name in names:
            shown = subprocess.run(
                ["modprobe", "-d", self.folder, "-S", self.version, "--show-depends", name],
                capture_output=True, text=True, check=False)
            if shown.returncode != 0:
                raise KernelError(f"module {name}: {shown.stderr.strip()}")
            for line in shown.stdout.splitlines():
                kind, _, path = line.strip().partition(" ")
                file = pathlib.Path(path.split()[0]) if path else None
                if kind == "insmod" and file not in files:
                    files.append(file)
        return files


def package_of(name: str = "linux-image-amd64") -> str:
    """The versioned package behind Debian's metapackage."""
    shown = subprocess.run(["apt-cache", "depends", name], capture_output=True, text=True, check=False)
    found = re.search(r"Depends: (linux-image-\d\S+)", shown.stdout)
    if not found:
        raise KernelError(f"apt-cache knows no kernel behind {name}; apt-get update may help")
    return found.group(1)


def extract_elf(image: bytes) -> bytes:
    """The ELF kernel inside of a bzImage."""
    for magic, decompress in ((b"\xfd7zXZ\x00", _xz), (b"\x1f\x8b\x08", _gzip), (b"BZh", bz2.decompress)):
        at = image.find(magic)
        while at >= 0:
            try:
                inside = decompress(image[at:])
                if inside.startswith(b"\x7fELF"):
                    return inside
            except (OSError, EOFError, lzma.LZMAError, ValueError):
                pass
            at = image.find(magic, at + 1)
    raise KernelError("the kernel's image holds no ELF file that xz, gzip or bzip2 unpack")


def _xz(data: bytes) -> bytes:
    return lzma.LZMADecompressor(lzma.FORMAT_XZ).decompress(data)


def _gzip(data: bytes) -> bytes:
    with gzip.GzipFile(fileobj=__import__("io").BytesIO(data)) as stream:
        parts = []
        try:
            while part := stream.read(1 << 20):
                parts.append(part)
        except (OSError, EOFError):
            pass  # what follows the stream is no gzip
        return b"".join(parts)


def _run(words: list, **options) -> None:
    command.run(words, KernelError, "devtools/install-packages guest installs it", **options)


def fetch(cache: pathlib.Path, say) -> Kernel:
    """The kernel, from the cache or else from Debian's archive."""
    cache = cache.resolve()
    package = package_of()
    version = package.removeprefix("linux-image-")
    kernel = Kernel(cache / version, version)
    if kernel.image.exists():
        return kernel
    say(f"fetching {package}")
    building = cache / f"{version}.new"
    shutil.rmtree(building, ignore_errors=True)
    building.mkdir(parents=True)
    _run(["apt-get", "-qq", "download", package], cwd=building)
    archive = next(building.glob("*.deb"))
    say(f"unpacking {archive.name}")
    _run(["dpkg-deb", "-x", archive, building])
    archive.unlink()
    elf = extract_elf((building / "boot" / f"vmlinuz-{version}").read_bytes())
    (building / f"vmlinux-{version}").write_bytes(elf)
    _run(["depmod", "-b", building, version])
    building.rename(kernel.folder)
    return kernel
