# SPDX-License-Identifier: BSD-3-Clause
"""The tool `chime`: what it explains, and RDMA atomics in one process and between two."""
import json
import os
import re
import subprocess

import pytest
from atomics import *  # noqa: F401,F403
from atomics import finish
from channel import read_until
from testpmd import environment


@pytest.fixture
def chime(build):
    program = os.path.join(build, "app", "chime", "chime")

    def run(*arguments: str, seconds: float = 120):
        return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=seconds, check=False,
                              stdin=subprocess.DEVNULL, env={**os.environ, **environment(build)})

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


def test_adds_and_queues_in_one_process(chime):
    done = chime("atomics", "--items", "20000", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads(done.stdout)
    assert result["counter"] == result["additions"] == 1000
    assert result["items"] == 20000


def test_loses_and_doubles_nothing_on_a_bad_wire(chime):
    done = chime("atomics", "--items", "2000", "--count", "200", "--faults", "loss=1%,reorder=1%,duplicate=1%",
                 seconds=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "none lost or doubled" in done.stdout


# A machine of many guests may take a CPU away for 100 ms: that must be less than eight timeouts, here 268 ms.
BAD = {"faults": ",loss=1%,reorder=1%,duplicate=1%"}
PATIENT = ["--ack-timeout", "13", "--tail-probe"]


def test_two_processes_over_a_bad_memif(backend):
    server = backend.atomics("server", "--items", "250000", *PATIENT, **BAD)
    client = backend.atomics("client", "--items", "250000", "--count", "100", *PATIENT, **BAD)
    finish(client)
    finish(server)


def test_losses_at_the_end_of_a_burst_without_tail_probes(backend):
    """Nothing tells of them but the acknowledgement timeout."""
    server = backend.atomics("server", "--items", "3000", **BAD)
    client = backend.atomics("client", "--items", "3000", "--count", "100", **BAD)
    finish(client)
    finish(server)


@pytest.mark.parametrize("wire", [{}, BAD], ids=["good", "bad"])
def test_a_killed_peer_loses_and_doubles_nothing(backend, wire):
    """Killed in the middle, and started again: it goes on where what came through ends."""
    server = backend.atomics("server", "--items", "60000", *PATIENT, **wire)
    victim = backend.atomics("client", "--items", "60000", "--count", "10", *PATIENT, **wire)
    read_until(victim, "items are in the queue", 60)
    victim.close()
    gone = read_until(server, "waiting for others", 60)
    assert 0 < int(re.search(r"went after (\d+) items", gone).group(1)) < 60000
    client = backend.atomics("client", "--items", "60000", "--count", "0", *PATIENT, **wire)
    finish(client)
    finish(server)
