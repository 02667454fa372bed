#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The demonstration behind devtools/demo: real packets through stock testpmd and two Chime ports."""
import argparse
import contextlib
import os
import re
import struct
import subprocess
import sys
import tempfile

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(SOURCE, "test", "system"))

import iperf3  # noqa: E402
from testpmd import Testpmd  # noqa: E402

# testpmd and the taps are in a namespace of their own, which a bridge each joins with the two that talk.
MIDDLE, LEFT, RIGHT = NAMESPACES = "chime-middle", "chime-left", "chime-right"
LEFT_ADDRESS, RIGHT_ADDRESS = "192.0.2.1", "192.0.2.2"  # RFC 5737: documentation, routed nowhere


def run(*command: str, check: bool = True) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if check and done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def why_no_taps() -> str | None:
    """Why this machine can't have two namespaces with a tap each; None when it can."""
    if os.geteuid() != 0:
        return "not root"
    if not os.path.exists("/dev/net/tun"):
        return "no /dev/net/tun"
    try:
        add_namespaces()
        run("ip", "-n", MIDDLE, "tuntap", "add", "dev", "trial", "mode", "tap")
        run("ip", "-n", MIDDLE, "link", "add", "bridge", "type", "bridge")
    except RuntimeError as error:
        return str(error)
    finally:
        remove_namespaces()
    return None


def remove_namespaces() -> None:
    for name in NAMESPACES:
        run("ip", "netns", "del", name, check=False)


def add_namespaces() -> None:
    for name in NAMESPACES:
        run("ip", "netns", "add", name)


def print_statistics(pmd: Testpmd) -> None:
    for port in (0, 1):
        stats = pmd.stats(port)
        print(f"  net_chime{port}: received {stats['RX-packets']} packets, {stats['RX-bytes']} bytes; "
              f"sent {stats['TX-packets']} packets, {stats['TX-bytes']} bytes; "
              f"missed {stats['RX-missed']}, errors {stats['RX-errors']} + {stats['TX-errors']}")


@contextlib.contextmanager
def namespaces():
    remove_namespaces()
    try:
        add_namespaces()
        yield
    finally:
        remove_namespaces()


def join(name: str, tap: str, address: str) -> None:
    """Bridges a tap in the middle to an interface with this address in the namespace `name`."""
    def inside(where: str, *command: str) -> None:
        run("ip", "-n", where, *command)

    bridge, end = f"br-{tap}", f"ve-{tap}"
    inside(MIDDLE, "link", "add", bridge, "type", "bridge")
    inside(MIDDLE, "link", "add", end, "type", "veth", "peer", "name", "eth0", "netns", name)
    for interface in (tap, end):
        inside(MIDDLE, "link", "set", interface, "master", bridge)
    for interface in (tap, end, bridge):
        inside(MIDDLE, "link", "set", interface, "up")
    inside(name, "addr", "add", f"{address}/24", "dev", "eth0")
    inside(name, "link", "set", "eth0", "up")
    # A tap carries no wish for a checksum, so the sender must write it.
    run("ip", "netns", "exec", name, "ethtool", "-K", "eth0", "tx", "off", "tso", "off", "gso", "off")


def iperf(seconds: int, reverse: bool) -> float:
    """Gbit/s of TCP from left to right, or the other way."""
    with iperf3.server(RIGHT):
        report = run("ip", "netns", "exec", LEFT, "iperf3", "-c", RIGHT_ADDRESS, "-t", str(seconds), "-J",
                     *(["-R"] if reverse else []))
    return iperf3.received(report) / 1e9


def with_taps(build: str, seconds: int) -> int:
    devices = ["net_chime0,wire=net_tap0", "net_chime1,wire=net_tap1", "net_tap0,iface=tap0",
               "net_tap1,iface=tap1"]
    print("starting: dpdk-testpmd " + " ".join(f"--vdev {device}" for device in devices))
    with namespaces(), Testpmd(build, devices, ["--forward-mode=io"],
                               before=["ip", "netns", "exec", MIDDLE]) as pmd:
        pmd.command("start")
        join(LEFT, "tap0", LEFT_ADDRESS)
        join(RIGHT, "tap1", RIGHT_ADDRESS)
        ping = run("ip", "netns", "exec", LEFT, "ping", "-c", "20", "-i", "0.05", "-w", "20", RIGHT_ADDRESS, check=False)
        loss = re.search(r"([\d.]+)% packet loss", ping)
        rtt = re.search(r"rtt [^=]*= [\d.]+/([\d.]+)", ping)
        lost = float(loss[1]) if loss else 100.0
        print(f"ping {LEFT} -> {RIGHT}: {lost:g}% loss" + (f", {rtt[1]} ms round trip" if rtt else ""))
        for reverse in (False, True):
            rate = iperf(seconds, reverse)
            print(f"iperf3 TCP {'right -> left' if reverse else 'left -> right'}: {rate:.2f} Gbit/s")
        pmd.command("stop")
        print_statistics(pmd)
    return 0 if lost == 0 else 1


def write_capture(path: str, frames: int) -> None:
    """A pcap file (LINKTYPE_ETHERNET) of numbered frames."""
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for number in range(frames):
            payload = b"\x02\0\0\0\0\x01\x02\0\0\0\0\x02\x88\xb5" + struct.pack(">I", number) + bytes(64 + number % 1000)
            file.write(struct.pack("<IIII", number, 0, len(payload), len(payload)) + payload)


def read_capture(path: str) -> list[bytes]:
    frames = []
    with open(path, "rb") as file:
        file.read(24)
        while header := file.read(16):
            frames.append(file.read(struct.unpack("<IIII", header)[2]))
    return frames


def with_capture(build: str) -> int:
    with tempfile.TemporaryDirectory(dir=build) as folder:
        sent, came = os.path.join(folder, "in.pcap"), os.path.join(folder, "out.pcap")
        write_capture(sent, 500)
        devices = ["net_chime0,wire=cable:demo", "net_chime1,wire=cable:demo", f"net_pcap0,rx_pcap={sent}",
                   f"net_pcap1,tx_pcap={came}"]
        print("starting: dpdk-testpmd " + " ".join(f"--vdev {device}" for device in devices))
        # Capture to the first port, over the cable, from the second port to the other capture.
        with Testpmd(build, devices, ["--forward-mode=io", "--portlist=2,0,1,3", "--no-flush-rx"]) as pmd:
            pmd.command("start")
            pmd.wait_for(lambda: pmd.stats(3)["TX-packets"] >= 500, "500 packets in the second capture")
            pmd.command("stop")
            print_statistics(pmd)
        same = read_capture(sent) == read_capture(came)
        print(f"capture: {len(read_capture(sent))} frames in, {len(read_capture(came))} frames out, "
              f"{'the same bytes in the same order' if same else 'NOT the same'}")
    return 0 if same else 1


def main() -> int:
    parser = argparse.ArgumentParser(prog="devtools/demo")
    parser.add_argument("--build", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--capture", action="store_true")
    arguments = parser.parse_args()
    build = os.path.abspath(arguments.build)
    reason = "asked for" if arguments.capture else why_no_taps()
    if reason:
        print(f"no taps here ({reason}): forwarding a capture file")
        return with_capture(build)
    return with_taps(build, arguments.seconds)


if __name__ == "__main__":
    sys.exit(main())
