# SPDX-License-Identifier: BSD-3-Clause
"""Frames into one network interface and out of another: run in their namespace as
`crossing.py INTO OUT_OF SENT CAME SECONDS`.

Sends the frames of one capture, and writes those of the same source address that come out to the other capture, until
as many came, or none did for SECONDS.
"""
import socket
import sys
import time

from scapy.layers.l2 import Ether
from scapy.utils import rdpcap, wrpcap

ETH_P_ALL = 3
BURST = 32  # what a wire takes at a time


def main(into: str, out_of: str, sent: str, came: str, seconds: str) -> None:
    frames = [bytes(frame) for frame in rdpcap(sent)]
    source = frames[0][6:12]
    with (socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as first,
          socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL)) as last):
        first.bind((into, 0))
        last.bind((out_of, ETH_P_ALL))
        last.settimeout(0.1)
        arrived: list[bytes] = []
        end = time.monotonic() + float(seconds)
        for begin in range(0, len(frames), BURST):
            for frame in frames[begin:begin + BURST]:
                first.send(frame)
            time.sleep(0.01)
        while len(arrived) < len(frames) and time.monotonic() < end:
            try:
                frame, address = last.recvfrom(65536)
            except TimeoutError:
                continue
            if address[2] != socket.PACKET_OUTGOING and frame[6:12] == source:
                arrived.append(frame)
                end = time.monotonic() + float(seconds)
    wrpcap(came, [Ether(frame) for frame in arrived], linktype=1)


if __name__ == "__main__":
    main(*sys.argv[1:])
