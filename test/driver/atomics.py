# SPDX-License-Identifier: BSD-3-Clause
"""`chime atomics` between two processes, each with an HCA: additions that are read back, and a queue of many producers."""
import re

from channel import read_until


def finish(peer, seconds: float = 200) -> str:
    """@return what it said"""
    output = read_until(peer, "none lost or doubled", seconds)
    assert peer.wait(60) == 0
    return output


def test_two_processes(backend):
    """Every answer of an addition is the one before and 1; every item comes once."""
    items = ["--items", str(backend.items), "--producers", str(backend.producers)]
    server = backend.atomics("server", *items)
    client = backend.atomics("client", *items, "--count", str(backend.additions))
    assert re.search(rf"read back: {backend.additions}\n", finish(client))
    assert f"queue: {backend.items} items of {backend.producers} producers" in finish(server)
