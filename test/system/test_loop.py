# SPDX-License-Identifier: BSD-3-Clause
"""A port whose wire is looped: what testpmd sends comes back."""


def test_loop_forwards(testpmd):
    with testpmd(["net_chime0"]) as pmd:
        pmd.command("start tx_first 4")
        stats = pmd.wait_for(lambda: (s := pmd.stats())["RX-packets"] > 100_000 and s, "looped packets")
        pmd.command("stop")
        assert stats["RX-errors"] == 0 and stats["TX-errors"] == 0
        assert stats["RX-bytes"] == 64 * stats["RX-packets"]
        final = pmd.stats()
        # Every packet stays on the loop; the bursts in flight are the only difference.
        assert abs(final["TX-packets"] - final["RX-packets"]) <= 4 * 32
