# SPDX-License-Identifier: BSD-3-Clause
"""The tool `chime`: what it explains, and RDMA atomics in one process and between two."""
import json
import os
import re
import subprocess

import pytest
from channel import ProcessChannel, read_until
from testpmd import environment


@pytest.fixture
def chime(build):
    program = os.path.join(build, "app", "chime", "chime")

    def run(*arguments: str, seconds: float = 120):
        return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=seconds, check=False,
                              stdin=subprocess.DEVNULL, env={**os.environ, **environment(build)})

    run.program = program
    return run


def test_explains_a_syndrome(chime):
    done = chime("explain", "0x13")
    assert done.returncode == 0, done.stderr
    assert "remote access error" in done.stdout and "remedy" in done.stdout
    assert chime("explain", "13").stdout == done.stdout == chime("explain", "remote-access-error").stdout


def test_explains_the_traps(chime):
    everything = json.loads(chime("explain", "--json").stdout)
    traps = [one["name"] for one in everything if "syndrome" not in one]
    assert traps == ["doorbell-before-record", "misaligned-or-stale", "byte-order", "missing-rights",
                     "no-room-for-the-result"]
    assert [one["syndrome"] for one in everything if "syndrome" in one] == [
        0x01, 0x02, 0x04, 0x05, 0x06, 0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x22]
    assert "0x0100000000000000" in chime("explain", "byte-order").stdout


def test_lists_what_there_is_when_asked_for_nonsense(chime):
    done = chime("explain", "0x99")
    assert done.returncode == 1
    assert "remote-access-error" in done.stderr
