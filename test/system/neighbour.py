# SPDX-License-Identifier: BSD-3-Clause
"""What is at the other end of a network interface: run in its namespace as `neighbour.py IFACE IN OUT SECONDS`.

Sends the frames of one capture, and writes those that come in to the other until as many came, or none did for
SECONDS. Only frames whose EtherType is 0x88b5 (for experiments) count.
"""
import socket
import sys
import time

from scapy.layers.l2 import Ether
from scapy.utils import rdpcap, wrpcap

EXPERIMENT = 0x88B5
SO_RCVBUFFORCE = 33


def main(interface: str, sent: str, came: str, seconds: str) -> None:
    frames = [bytes(frame) for frame in rdpcap(sent)]
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(EXPERIMENT)) as wire:
        wire.bind((interface, EXPERIMENT))
        wire.settimeout(0.2)
        wire.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 23)
        arrived: list[bytes] = []
        end = time.monotonic() + float(seconds)
        for frame in frames:
            wire.send(frame)
        while len(arrived) < len(frames) and time.monotonic() < end:
            try:
                frame, address = wire.recvfrom(65536)
            except TimeoutError:
                continue
            if address[2] != socket.PACKET_OUTGOING:
                arrived.append(frame)
                end = time.monotonic() + float(seconds)
    wrpcap(came, [Ether(frame) for frame in arrived], linktype=1)


if __name__ == "__main__":
    main(*sys.argv[1:])
