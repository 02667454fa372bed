# SPDX-License-Identifier: BSD-3-Clause
"""A port's wire is any DPDK port: frames, link, MTU, and a wire that goes and comes back."""
import os
import re
import subprocess

import pytest
from channel import read_until
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from scapy.utils import rdpcap, wrpcap

NEIGHBOUR = os.path.join(os.path.dirname(os.path.abspath(__file__)), "neighbour.py")
ONE_PORT = ["--forward-mode=macswap", "--mbuf-size=10240", "--total-num-mbufs=4096"]


def numbered(count: int, length: int = 100) -> list[bytes]:
    ether = Ether(dst="02:00:00:00:00:02", src="02:00:00:00:00:01", type=0x88B5)
    return [bytes(ether / Raw(i.to_bytes(2, "big") + bytes((i + n) % 256 for n in range(length - 16))))
            for i in range(count)]


def swapped(frames: list[bytes]) -> list[bytes]:
    return [frame[6:12] + frame[0:6] + frame[12:] for frame in frames]


class Neighbour:
    """Sends to an interface in a namespace, and reads what comes back."""

    def __init__(self, namespace, interface: str, folder):
        self.namespace, self.interface = namespace, interface
        self.sent, self.came = os.path.join(folder, "sent.pcap"), os.path.join(folder, "came.pcap")
        # Nobody else is to talk here.
        namespace("sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1", "net.ipv6.conf.default.disable_ipv6=1")

    def exchange(self, frames: list[bytes], seconds: float = 5) -> list[bytes]:
        wrpcap(self.sent, [Ether(frame) for frame in frames], linktype=1)
        self.namespace("/usr/bin/python3", "-B", NEIGHBOUR, self.interface, self.sent, self.came, str(seconds))
        return [bytes(frame) for frame in rdpcap(self.came)]


def inside(namespace) -> list[str]:
    return ["ip", "netns", "exec", namespace.name]


@pytest.fixture
def tap(namespace, tmp_path):
    """Its own namespace, what is behind the tap there, and the wire's vdev."""
    return namespace, Neighbour(namespace, "chimetap", tmp_path), "net_tap0,iface=chimetap"


def test_a_capture_arrives_whole(testpmd, tmp_path):
    """The wire is a capture: from its first frame to its last, and out to another one."""
    frames = numbered(400)
    wrpcap(str(tmp_path / "in.pcap"), [Ether(frame) for frame in frames], linktype=1)
    wire = f"net_pcap0,rx_pcap={tmp_path}/in.pcap,tx_pcap={tmp_path}/out.pcap"
    # A capture gives its frames when the port starts: then promiscuous mode is on already, and a ring holds them all.
    options = ["--disable-device-start", "--no-flush-rx", "--rxd=1024", "--forward-mode=macswap"]
    with testpmd(["net_chime0,wire=net_pcap0", wire], options) as pmd:
        pmd.command("port start 0")
        pmd.command("start")
        pmd.wait_for(lambda: pmd.stats()["TX-packets"] >= len(frames), "the whole capture")
        pmd.command("stop")
        assert pmd.xstats()["rx_steer_missed_packets"] == 0
    assert [bytes(frame) for frame in rdpcap(str(tmp_path / "out.pcap"))] == swapped(frames)


def test_net_tap(testpmd, tap):
    namespace, neighbour, wire = tap
    frames = numbered(300)
    with testpmd(["net_chime0,wire=net_tap0", wire], ONE_PORT, before=inside(namespace)) as pmd:
        pmd.command("start")
        assert neighbour.exchange(frames) == swapped(frames)
        pmd.command("stop")


def test_tap_of_the_kernel(testpmd, tap):
    """Without a driver between; jumbo frames too."""
    namespace, neighbour, _ = tap
    with testpmd(["net_chime0,wire=tap:chimetap"], [*ONE_PORT, "--max-pkt-len=9996"], before=inside(namespace)) as pmd:
        namespace("ip", "link", "set", "chimetap", "mtu", "9978")
        pmd.command("start")
        for frames in (numbered(300), numbered(50, 9992)):
            assert neighbour.exchange(frames) == swapped(frames)
        pmd.command("stop")


def test_net_af_packet(testpmd, namespace, tmp_path):
    namespace("ip", "link", "add", "chime0", "type", "veth", "peer", "name", "other0")
    neighbour = Neighbour(namespace, "other0", tmp_path)
    for interface in ("chime0", "other0"):
        namespace("ip", "link", "set", interface, "up")
    frames = numbered(300)
    wire = "net_af_packet0,iface=chime0"
    with testpmd(["net_chime0,wire=net_af_packet0", wire], ONE_PORT, before=inside(namespace)) as pmd:
        pmd.command("start")
        assert neighbour.exchange(frames) == swapped(frames)
        pmd.command("stop")


def test_net_memif(testpmd, tmp_path):
    """A pair of memifs: one is the wire, the other testpmd's own port."""
    socket = tmp_path / "memif.sock"
    devices = ["net_chime0,wire=net_memif0", f"net_memif0,role=server,id=0,socket={socket},socket-abstract=no",
               f"net_memif1,role=client,id=0,socket={socket},socket-abstract=no"]
    with testpmd(devices, ["--portlist=0,2"]) as pmd:
        for port in (0, 2):
            pmd.wait_for(lambda port=port: "Link status: up" in pmd.command(f"show port info {port}"), f"link of port {port}")
        pmd.command("start tx_first")
        pmd.wait_for(lambda: min(pmd.stats(0)["RX-packets"], pmd.stats(2)["RX-packets"]) > 1000, "packets both ways")
        pmd.command("stop")
        stats = pmd.stats(0)
        assert stats["RX-errors"] == stats["TX-errors"] == 0
        assert stats["RX-bytes"] == 64 * stats["RX-packets"]


def test_link_of_the_wire(testpmd, tap):
    namespace, neighbour, wire = tap
    with testpmd(["net_chime0,wire=net_tap0", wire], ONE_PORT, before=inside(namespace)) as pmd:
        pmd.command("start")
        for state in ("down", "up"):
            namespace("ip", "link", "set", "chimetap", state)
            read_until(pmd.channel, "link state change event", 10)
            pmd.wait_for(lambda state=state: f"Link status: {state}" in pmd.command("show port info 0"), f"link {state}")
        frames = numbered(50)
        assert neighbour.exchange(frames) == swapped(frames)
        pmd.command("stop")


def test_mtu_while_running(testpmd, tap):
    namespace, neighbour, wire = tap
    short, long = numbered(20, 500), numbered(20, 1000)
    with testpmd(["net_chime0,wire=net_tap0", wire], ONE_PORT, before=inside(namespace)) as pmd:
        pmd.command("start")
        assert neighbour.exchange(long) == swapped(long)
        pmd.command("port config mtu 0 600")
        assert "MTU: 600" in pmd.command("show port info 0")
        assert not neighbour.exchange(long, 0.5)
        assert pmd.xstats()["rx_too_long_packets"] == len(long)
        assert neighbour.exchange(short) == swapped(short)
        pmd.command("port config mtu 0 1500")
        assert neighbour.exchange(long) == swapped(long)
        pmd.command("stop")


def test_wire_that_goes_and_comes_back(testpmd, tap):
    """As the guide says: the port is stopped, its wire's device detached. Then it is attached again."""
    namespace, neighbour, wire = tap
    frames = numbered(100)
    with testpmd(["net_chime0,wire=net_tap0", wire], ONE_PORT, before=inside(namespace)) as pmd:
        for _ in range(3):
            pmd.command("start")
            assert neighbour.exchange(frames) == swapped(frames)
            # More is under way while the port goes.
            flood = subprocess.Popen(  # pylint: disable=consider-using-with
                [*inside(namespace), "/usr/bin/python3", "-B", NEIGHBOUR, neighbour.interface, neighbour.sent,
                 neighbour.came, "1"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            pmd.command("stop")
            pmd.command("port stop 0")
            flood.wait(30)
            assert "detached" in pmd.command("device detach net_tap0")
            pmd.wait_for(lambda: "Link status: down" in pmd.command("show port info 0"), "the link to go")
            refused = pmd.command("port start 0")
            assert re.search(r"no port net_tap0 to be its wire; ports there are: none", refused), refused
            assert "is attached" in pmd.command(f"port attach {wire}")
            pmd.command("port start 0")
            pmd.wait_for(lambda: "Link status: up" in pmd.command("show port info 0"), "the link")
            # testpmd forwards on what it attached; the wire is not its.
            pmd.command("set portlist 0")


def test_port_that_closes_under_traffic(testpmd):
    """Port 0 sends as fast as it can; port 1 at the other end of the cable is stopped, started and closed."""
    options = ["--forward-mode=txonly", "--portlist=0"]
    with testpmd(["net_chime0,wire=cable:c", "net_chime1,wire=cable:c"], options) as pmd:
        pmd.command("start")
        for _ in range(3):
            pmd.command("port stop 1")
            pmd.command("port start 1")
            before = pmd.stats(1)
            pmd.wait_for(lambda before=before: pmd.stats(1) != before, "frames at the port that started again")
        pmd.command("port stop 1")
        pmd.command("port close 1")
        pmd.wait_for(lambda: "Link status: down" in pmd.command("show port info 0"), "the cable's other end to go")
        sent = pmd.stats(0)["TX-packets"]
        pmd.wait_for(lambda: pmd.stats(0)["TX-packets"] > sent, "packets that are taken, and dropped")
        assert "detached" in pmd.command("device detach net_chime1")
        assert "is attached" in pmd.command("port attach net_chime1,wire=cable:c")
        pmd.command("port start 1")
        pmd.wait_for(lambda: "Link status: up" in pmd.command("show port info 0"), "the link")
        pmd.command("stop")


def refusal(testpmd, devices: list[str], command: str) -> str:
    with testpmd(devices) as pmd:
        return pmd.command(command)


@pytest.mark.parametrize("command, words", [
    ("port attach net_chime1,wire=net_chime1", r"net_chime1 can't be its own wire; ports there are: .*net_chime0"),
    ("port attach net_chime1,wire=net_null0", r"net_null0 is the wire of net_chime0 already.*ports there are: .*net_null0"),
    ("port attach net_chime1,wire=cable:x", None),
])
def test_wrong_wires(testpmd, command, words):
    said = refusal(testpmd, ["net_chime0,wire=net_null0", "net_null0"], command)
    if words:
        assert re.search(words, said), said
    else:
        assert "is attached" in said, said


def test_cycle_of_wires(testpmd):
    with testpmd(["net_chime0,wire=net_chime1", "net_null0"], ["--disable-device-start"]) as pmd:
        said = pmd.command("port attach net_chime1,wire=net_chime0")
        assert re.search(r"net_chime1 with wire net_chime0 is a cycle.*ports there are: .*net_null0", said), said
        # It was not too late for a wire that leads elsewhere.
        assert re.search(r"no port net_chime1 to be its wire; ports there are: .*net_null0", pmd.command("port start 0"))


def test_the_responder_answers_the_kernel(testpmd, namespace):
    """Linux finds the port's link-local address by neighbour discovery; without responder=1 nobody answers."""
    address = "fe80::ff:fe00:77"

    def neighbour(responder: int) -> str:
        devices = [f"net_chime0,wire=net_tap0,mac=02:00:00:00:00:77,responder={responder}", "net_tap0,iface=chimetap"]
        with testpmd(devices, ONE_PORT, before=inside(namespace)):
            # The tap's own address must be ready first.
            for _ in range(50):
                if "tentative" not in namespace("ip", "-6", "addr", "show", "dev", "chimetap"):
                    break
                namespace("sleep", "0.2")
            namespace("ping", "-6", "-c", "1", "-W", "3", f"{address}%chimetap", check=False)
            return namespace("ip", "-6", "neigh", "show", address, "dev", "chimetap")

    assert "lladdr 02:00:00:00:00:77" in neighbour(1)
    assert "lladdr" not in neighbour(0)
