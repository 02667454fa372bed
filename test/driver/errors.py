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


def test_what_is_not_there(backend):
    """A start with a setting that the port has not is refused, in words, and works without it."""
    with backend.start([backend.looped]) as pmd:
        pmd.command("port stop 0")
        for setting, back, words in [
                ("port config 0 speed 10000 duplex full", "port config 0 speed auto duplex auto",
                 "link_speeds: the speed is the wire's and can't be fixed; ask for autonegotiation"),
                ("port config 0 loopback 2", "port config 0 loopback 0", "lpbk_mode 2: only 0 and 1 are there")]:
            assert "Bad" not in pmd.command(setting)
            text = pmd.command("port start 0")
            assert words in text, text
            pmd.command(back)
        pmd.command("port config 0 loopback 1")
        text = pmd.command("port start 0")
        if backend.loopback:
            assert "Fail" not in text, text
        else:
            assert "lpbk_mode 1 needs a port whose wire is looped (wire=loop)" in text, text
            pmd.command("port config 0 loopback 0")
            assert "Fail" not in pmd.command("port start 0")
        until_looped(pmd, 1000)
