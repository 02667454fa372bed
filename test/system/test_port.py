# SPDX-License-Identifier: BSD-3-Clause
"""Life of a port of the embedded HCA; virtual devices that come and go in a running testpmd."""
import re

from port import *  # noqa: F401,F403


def test_attach_and_detach(testpmd):
    with testpmd(["net_chime0"]) as pmd:
        assert "Port 1 is attached" in pmd.command("port attach net_chime1")
        pmd.command("port start 1")
        assert "net_chime1" in pmd.command("show port info 1")
        pmd.command("port stop 1")
        pmd.command("port close 1")
        pmd.command("port attach net_chime1")
        assert "is attached" in pmd.command("port attach net_chime2")
        assert re.search(r"detached", pmd.command("port detach 2") + pmd.command("device detach net_chime2"))
