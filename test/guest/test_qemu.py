# SPDX-License-Identifier: BSD-3-Clause
"""The newer QEMU, when it cannot be fetched or is not whole: the reason is told, and nothing half done stays. No guest."""
import subprocess
import sys

import pytest

from conftest import SOURCE
from virtual_machine import qemu

NOBODY = "http://127.0.0.1:9"  # port "discard", where nobody listens
NAME = f"qemu-{qemu.NEWER}"


def refused(cache) -> str:
    with pytest.raises(qemu.QemuError) as caught:
        qemu.newer(cache, print)
    return str(caught.value)


def test_no_network(tmp_path, monkeypatch):
    monkeypatch.setenv("http_proxy", NOBODY)
    half = tmp_path / f"{NAME}.new" / "root"
    half.mkdir(parents=True)
    (half / "rest").touch()
    text = refused(tmp_path)
    assert "apt-get -qq update" in text and "Could not connect" in text
    assert not (half / "rest").exists() and not (tmp_path / NAME).exists()
    assert "Could not connect" in refused(tmp_path), "and so the next time"


def test_no_apt(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert refused(tmp_path) == "apt-get: No such file or directory; --qemu newer needs it"


def test_a_cache_that_is_not_whole(tmp_path, newer):
    (tmp_path / NAME).mkdir()
    assert f"remove {tmp_path / NAME}, and it is fetched anew" in refused(tmp_path)
    programs = tmp_path / NAME / "usr" / "bin"
    programs.mkdir(parents=True)
    (programs / "qemu-system-x86_64").touch()
    assert "status 127" in refused(tmp_path), "its libraries are not there"


def test_vm_says_why(tmp_path, kernel, monkeypatch):
    monkeypatch.setenv("http_proxy", NOBODY)
    (tmp_path / "vm").mkdir()
    (tmp_path / "vm" / kernel.version).symlink_to(kernel.folder)
    done = subprocess.run([sys.executable, "-B", SOURCE / "devtools" / "vm", "--build", tmp_path, "--qemu", "newer", "true"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "vm: apt-get -qq update" in done.stderr and "Traceback" not in done.stderr
