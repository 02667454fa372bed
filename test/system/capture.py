# SPDX-License-Identifier: BSD-3-Clause
"""Frames through a pair of cabled ports: a capture goes in at net_chime0 and comes out of net_chime1.

    net_pcap0 -> testpmd -> net_chime0 == cable == net_chime1 -> testpmd -> net_pcap1

scapy makes the frames and reads what came.
"""
import os

from scapy.utils import rdpcap, wrpcap

PORTS = ["--portlist=2,0,1,3", "--no-flush-rx"]


def devices(folder, first: str = "", second: str = "") -> list[str]:
    return [f"net_chime0,wire=cable:test{first}", f"net_chime1,wire=cable:test{second}",
            f"net_pcap0,rx_pcap={os.path.join(folder, 'in.pcap')}",
            f"net_pcap1,tx_pcap={os.path.join(folder, 'out.pcap')}"]


def carry(testpmd, folder, frames, options=(), before=(), after=(), mode="io", expected=None, **keywords) -> list[bytes]:
    """Sends the frames; returns those that came out, as bytes. `before` are commands typed before 'start'."""
    wrpcap(os.path.join(folder, "in.pcap"), frames)
    expected = len(frames) if expected is None else expected
    with testpmd(devices(folder), [f"--forward-mode={mode}", *PORTS, *options], **keywords) as pmd:
        for command in before:
            pmd.command(command)
        pmd.command("start")
        pmd.wait_for(lambda: pmd.stats(3)["TX-packets"] >= expected, f"{expected} frames in the second capture")
        pmd.command("stop")
        for command in after:
            pmd.command(command)
    return [bytes(frame) for frame in rdpcap(os.path.join(folder, "out.pcap"))]
