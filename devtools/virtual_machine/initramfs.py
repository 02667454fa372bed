# SPDX-License-Identifier: BSD-3-Clause
"""The initial file system of a guest: enters the host's root, read-only under an overlay, and runs a script."""

import pathlib
import shutil
import subprocess
import tempfile

from .kernel import Kernel

# What is needed to get at the host's files.
EARLY_MODULES = ["virtio_pci", "9p", "9pnet_virtio", "overlay"]

INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
for module in $(cat /modules/order); do insmod /modules/$module || echo "init: $module failed"; done
mkdir -p /host /upper /root
mount -t 9p -o trans=virtio,version=9p2000.L,ro,msize=262144,cache=loose host /host || exec poweroff -f
mount -t tmpfs -o mode=755 upper /upper
mkdir /upper/changes /upper/work
mount -t overlay -o lowerdir=/host,upperdir=/upper/changes,workdir=/upper/work overlay /root || exec poweroff -f
for place in proc sys dev; do mount --move /$place /root/$place; done
mount -t tmpfs tmpfs /root/tmp
mount -t tmpfs tmpfs /root/run
cp /command /root/run/chime-command
# What udev links; a shell's <(command) needs it.
ln -s /proc/self/fd /root/dev/fd
for number in 0:stdin 1:stdout 2:stderr; do ln -s fd/${number%:*} /root/dev/${number#*:}; done
mkdir -p /root/dev/shm /root/dev/pts /root/lib/modules/@VERSION@
mount -t tmpfs tmpfs /root/dev/shm
mount -t devpts devpts /root/dev/pts
mount --bind /host@MODULES@ /root/lib/modules/@VERSION@
exec chroot /root /bin/sh -c '
  export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb LANG=C.UTF-8
  hostname guest
  ip link set lo up
  mount -t debugfs debugfs /sys/kernel/debug
  cd @FOLDER@
  . /run/chime-command
  echo "chime-vm: status $?"
  sync
  echo o > /proc/sysrq-trigger
  while :; do :; done
'
"""


def make(kernel: Kernel, folder: pathlib.Path, command: str, output: pathlib.Path) -> None:
    """@param command shell text run in the guest, in `folder` of the host's tree"""
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        for directory in ("bin", "proc", "sys", "dev", "modules"):
            (root / directory).mkdir()
        shutil.copy("/bin/busybox", root / "bin")
        order = []
        for file in kernel.with_dependencies(EARLY_MODULES):
            shutil.copy(file, root / "modules")
            order.append(file.name)
        (root / "modules" / "order").write_text("\n".join(order) + "\n")
        text = INIT
        for key, value in (("VERSION", kernel.version), ("MODULES", str(kernel.modules)),
                           ("FOLDER", str(folder))):
            text = text.replace(f"@{key}@", value)
        (root / "command").write_text(command + "\n")
        (root / "init").write_text(text)
        (root / "init").chmod(0o755)
        files = subprocess.run(["find", "."], cwd=root, capture_output=True, check=True).stdout
        with output.open("wb") as archive:
            subprocess.run(["cpio", "--quiet", "-o", "-H", "newc"], cwd=root, input=files, stdout=archive, check=True)
