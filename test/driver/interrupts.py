# SPDX-License-Identifier: BSD-3-Clause
"""Receive interrupts: an application that sleeps until one of its queues has a packet."""


def test_wakeups(backend):
    said = backend.program("wakeups", [backend.looped], "100")
    assert "208 wake-ups of 2 queues, each for its packet" in said, said
