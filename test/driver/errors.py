# SPDX-License-Identifier: BSD-3-Clause
"""Wrong input gets an error that names what was wrong and what would work."""
import re

from port import until_looped


def test_wrong_device_arguments(backend):
    with backend.start() as pmd:
        for argument, words in [
                ("pace=9", r"unknown argument .pace.; known: .*wire"),
                ("mac=01:00:00:00:00:01", r"multicast"),
                ("mac=", r"mac has no value"),
                *backend.refused]:
            text = pmd.command(f"port attach {backend.looped},{argument}")
            assert re.search(words, text), text
            assert "is attached" not in text


def test_mtu_out_of_range(backend):
    with backend.start([backend.looped]) as pmd:
        pmd.command("port config mtu 0 20000")
        assert "MTU: 1500" in pmd.command("show port info 0")
        until_looped(pmd, 1000)


def test_descriptors_out_of_range(backend):
    with backend.start([backend.looped]) as pmd:
        pmd.command("port stop 0")
        pmd.command("port config 0 rxq 0 ring_size 1000")
        assert "1000" in pmd.command("port start 0")
        pmd.command("port config 0 rxq 0 ring_size 512")
        pmd.command("port start 0")
        until_looped(pmd, 1000)
