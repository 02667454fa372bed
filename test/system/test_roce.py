# SPDX-License-Identifier: BSD-3-Clause
"""Every RDMA operation on a wire: what tshark makes of the packets, and whether their ICRC is scapy's."""
import os
import signal
import subprocess
import sys
import time

import pytest
from scapy.contrib.roce import BTH
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.utils import rdpcap, wrpcap
from conftest import SOURCE
from testpmd import environment

HERE = os.path.join(SOURCE, "test", "system", "linking")
EAL = ["--no-pci", "--no-huge", "--no-shconf", "-m", "256", "-l", "0", "--no-telemetry", "--log-level=lib.eal:error"]
OPCODES = {
    0x00: "SEND first", 0x01: "SEND middle", 0x02: "SEND last", 0x03: "SEND last, immediate", 0x04: "SEND only",
    0x05: "SEND only, immediate", 0x06: "WRITE first", 0x07: "WRITE middle", 0x08: "WRITE last",
    0x09: "WRITE last, immediate", 0x0A: "WRITE only", 0x0B: "WRITE only, immediate", 0x0C: "READ request",
    0x0D: "READ response first", 0x0E: "READ response middle", 0x0F: "READ response last", 0x10: "READ response only",
    0x11: "acknowledge", 0x12: "atomic acknowledge", 0x13: "compare-and-swap", 0x14: "fetch-and-add",
}
OURS = {0xD2, 0xD3}  # the manufacturer's: masked and extended atomics, which nobody dissects


class Capture:
    """What passes an interface in a namespace, RoCE alone."""

    END = b"the capture ends here"

    def __init__(self, namespace, interface: str, path: str):
        self.path = path
        self._namespace = namespace
        self._interface = interface
        self._process = subprocess.Popen(
            ["ip", "netns", "exec", namespace.name, "tcpdump", "-i", interface, "-Z", "root", "-U",
             "--immediate-mode", "-s", "0", "-B", "16384",
             "-w", path, "udp port 4791"], stderr=subprocess.PIPE, text=True)
        while "listening" not in (line := self._process.stderr.readline()):
            if not line:
                pytest.skip("tcpdump does not run here")

    def _all_is_written(self) -> bool:
        with open(self.path, "rb") as file:
            return self.END in file.read()

    def stop(self) -> list:
        # What tcpdump has not read from the kernel when it is ended is lost: a last packet tells that it has.
        frame = bytes(Ether(src="02:00:00:00:00:0e", dst="02:00:00:00:00:0f") / IP() / UDP(dport=4791) / self.END)
        send = ("import socket, sys; s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW); "
                f"s.bind(({self._interface!r}, 0)); s.send(bytes.fromhex({frame.hex()!r}))")
        self._namespace(sys.executable, "-c", send)
        deadline = time.monotonic() + 30
        while not self._all_is_written():
            assert time.monotonic() < deadline, "the last packet is not in the capture"
            time.sleep(0.01)
        self._process.send_signal(signal.SIGINT)
        summary = self._process.communicate(timeout=30)[1]
        assert "\n0 packets dropped by kernel" in summary, summary
        frames = [frame for frame in rdpcap(self.path) if self.END not in bytes(frame)]
        wrpcap(self.path, frames)
        return frames


@pytest.fixture(scope="module")
def program(build, tmp_path_factory):
    """The C application, against the build folder."""
    path = str(tmp_path_factory.mktemp("roce") / "every_operation")
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "libdpdk"], capture_output=True, text=True, check=True)
    subprocess.run(["cc", "-Wall", "-Wextra", "-Werror", "-o", path, os.path.join(HERE, "every_operation.c"),
                    "-I", os.path.join(SOURCE, "drivers", "net", "chime", "include"), *flags.stdout.split(),
                    "-L", os.path.join(build, "drivers", "net", "chime"), "-lrte_net_chime"], check=True)
    return path


@pytest.fixture
def capture(namespace, program, build, tmp_path):
    """Runs the application over a pair of virtual Ethernets; what went over them."""
    namespace("sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1", "net.ipv6.conf.default.disable_ipv6=1")
    namespace("ip", "link", "add", "near", "type", "veth", "peer", "name", "far")
    devices = []
    for number, interface in enumerate(("near", "far")):
        namespace("ip", "link", "set", interface, "up")
        devices += ["--vdev", f"net_chime{number},wire=net_af_packet{number}"]
    for number, interface in enumerate(("near", "far")):
        # Past the queueing discipline nobody would see what is sent.
        devices += ["--vdev", f"net_af_packet{number},iface={interface},qdisc_bypass=0"]

    def run(*arguments: str) -> tuple[str, list]:
        path = str(tmp_path / "roce.pcap")
        seen = Capture(namespace, "near", path)
        done = subprocess.run(["ip", "netns", "exec", namespace.name, program, *EAL, "--file-prefix", f"roce{os.getpid()}",
                               *devices, "--", *arguments], capture_output=True, text=True, timeout=120, check=False,
                              stdin=subprocess.DEVNULL, env={**os.environ, **environment(build)})
        frames = seen.stop()
        assert done.returncode == 0 and "every operation is done" in done.stdout, done.stdout + done.stderr
        return path, frames

    return run


def tshark(path: str, *fields: str) -> list[list[str]]:
    # What a SEND carries is nobody's protocol: without this, some bytes are taken for a broken RPC.
    command = ["tshark", "--disable-protocol", "rpcordma", "-r", path, "-T", "fields"]
    for field in fields:
        command += ["-e", field]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return [line.split("\t") for line in done.stdout.splitlines()]


@pytest.mark.parametrize("address", [[], ["10.77.0.1"]], ids=["IPv6", "IPv4"])
def test_every_operation_on_the_wire(capture, address):
    path, frames = capture(*address)
    opcodes = [frame[BTH].opcode for frame in frames]
    missing = [name for code, name in OPCODES.items() if code not in opcodes]
    assert not missing and OURS <= set(opcodes), f"not seen: {missing}"

    dissected = tshark(path, "infiniband.bth.opcode", "_ws.expert.message", "_ws.malformed")
    assert len(dissected) == len(frames)
    assert [int(row[0]) for row in dissected if row[0]] == opcodes
    wrong = [row for row in dissected if (row[1] or row[2]) and int(row[0]) not in OURS]
    assert not wrong, wrong[:5]


def test_the_icrc_is_scapys(capture):
    _, frames = capture("10.77.0.1")
    for frame in frames:
        raw = bytes(frame)
        again = Ether(raw)
        again[BTH].icrc = None
        assert bytes(again) == raw, f"opcode {again[BTH].opcode:#x}: ICRC {raw[-4:].hex()}, scapy has {bytes(again)[-4:].hex()}"
