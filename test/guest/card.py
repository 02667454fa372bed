# SPDX-License-Identifier: BSD-3-Clause
"""The tests of test/driver over virtual cards beside their stock kernel drivers: programs and captures in the guest."""
import base64
import gzip
import io
import itertools
import pathlib
import shlex
import subprocess

from backend import Backend
from conftest import guest_testpmd
from guest_channel import GuestChannel
from scapy.layers import l2  # noqa: F401 - what rdpcap() reads
from scapy.utils import PcapWriter, rdpcap
from testpmd import eal_arguments, environment

CARDS = [("net0", {"wire": "cable:a"}), ("net1", {"wire": "cable:a"}), ("net2", {"wire": "loop"})]
PLUGINS = pathlib.Path("/usr/lib/x86_64-linux-gnu/dpdk")
NEEDED = ["bus_vdev", "mempool_ring", "net_pcap"]
_serial = itertools.count()


def prepare(guest) -> None:
    """Kernel drivers, and of DPDK's own drivers only those that testpmd is linked with or asks for: EAL loads all that it
    finds, emulated."""
    program = subprocess.run(["sh", "-c", "ldd $(which dpdk-testpmd)"], capture_output=True, text=True, check=True).stdout
    folder = next(PLUGINS.glob("pmds-*"))
    linked = [path for path in folder.glob("*.so.*.*") if path.name.partition(".")[0] in program or
              path.name.partition(".")[0].removeprefix("librte_") in NEEDED]
    guest.run(f"""
        set -e
        modprobe mlx5_core prof_sel=1; modprobe -a mlx5_ib ib_uverbs
        sysctl -qw net.ipv6.conf.all.disable_ipv6=1
        # What the first opening of a netdev makes stays.
        for i in {" ".join(f"eth{i}" for i in range(len(CARDS)))}; do ip link set $i up; ip link set $i down; done
        mkdir /run/plugins
        cp -a {" ".join(f"{folder}/{path.name.partition('.')[0]}.so*" for path in linked)} /run/plugins
        mount --bind /run/plugins {folder}""")


class Card(Backend):
    """Three of them: RDMA devices in the order of their slots."""

    looped = "net_chime0,ibdev=mlx5_2"
    ends = ("net_chime0,ibdev=mlx5_0", "net_chime1,ibdev=mlx5_1")
    refused = [("wire=loop", r"wire is for the embedded software HCA; it can't go with ibdev=mlx5_2"),
               ("loss=1%", r"loss is for the embedded software HCA; it can't go with ibdev=mlx5_2")]
    loopback = False
    many, additions, items, producers = 2_000, 50, 200, 2

    def __init__(self, guest, build):
        self._guest = guest
        self._build = str(build)
        self._programs: list[GuestChannel] = []
        self._netdevs: set[str] = set()
        self._folder = f"/run/captures{next(_serial)}"  # write() makes it

    def start(self, devices=(), options=(), memory: int = 256):
        program = guest_testpmd(self._guest, self._build, devices, options, memory)
        self._programs.append(program.channel)
        return program

    def program(self, name: str, devices: list[str], *arguments: str) -> str:
        words = shlex.join([f"{self._build}/test/driver/{name}", *eal_arguments(devices, 128, "(0-1)@0"), "--", *arguments])
        text, status = self._guest.status(f"LD_LIBRARY_PATH={environment(self._build)['LD_LIBRARY_PATH']} {words} 2>&1",
                                          timeout=200)
        assert status == 0, f"{words}: {status}\n{text}"
        return text

    def path(self, name: str) -> str:
        return f"{self._folder}/{name}"

    def write(self, name: str, frames: list[bytes]) -> str:
        capture = io.BytesIO()
        writer = PcapWriter(capture, linktype=1)
        writer.write_header(None)
        for frame in frames:
            writer.write_packet(frame)
        packed = base64.b64encode(gzip.compress(capture.getvalue())).decode()
        self._guest.run(f"mkdir -p {self._folder} && echo {packed} | base64 -d | gzip -d > {self.path(name)}")
        return self.path(name)

    def read(self, name: str) -> list[bytes]:
        packed = self._guest.run(f"gzip -1c {self.path(name)} | base64 -w0")
        return [bytes(frame) for frame in rdpcap(io.BytesIO(gzip.decompress(base64.b64decode(packed))))]

    def atomics(self, role: str, *options: str):
        """The cable joins the cards, whose RDMA addresses are their netdevs' IP addresses."""
        number = 0 if role == "server" else 1
        self._guest.run(f"ip addr replace 10.1.{number}.1/24 dev eth{number}; ip link set eth{number} up")
        command = [f"{self._build}/app/chime/chime", "atomics", "--timeout", "60", *options,
                   "--serve" if role == "server" else "--join", "127.0.0.1:5000",
                   "--device", f"net_chime0,ibdev=mlx5_{number}"]
        self._programs.append(GuestChannel(self._guest.session, command, environment(self._build)))
        self._netdevs.add(f"eth{number}")
        return self._programs[-1]

    def close(self) -> None:
        for program in self._programs:
            program.close()
        for netdev in self._netdevs:
            self._guest.run(f"ip addr flush dev {netdev}; ip link set {netdev} down")
