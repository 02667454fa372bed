# SPDX-License-Identifier: BSD-3-Clause
"""A port whose wire is looped: what testpmd sends comes back."""
from capture import link_is


def test_loop_forwards(backend):
    with backend.start([backend.looped]) as pmd:
        link_is(pmd, 0, "up")
        pmd.command("start tx_first 4")
        stats = pmd.wait_for(lambda: (s := pmd.stats())["RX-packets"] > 5 * backend.many and s, "looped packets")
        pmd.command("stop")
        assert stats["RX-errors"] == 0 and stats["TX-errors"] == 0
        assert stats["RX-bytes"] == 64 * stats["RX-packets"]
        final = pmd.stats()
        # Every packet stays on the loop; the bursts in flight are the only difference.
        assert abs(final["TX-packets"] - final["RX-packets"]) <= 4 * 32
