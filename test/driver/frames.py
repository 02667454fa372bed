# SPDX-License-Identifier: BSD-3-Clause
"""What goes in comes out: bytes and checksums, judged by scapy and tshark."""
import re
import subprocess

from capture import FIRST, SECOND, carry, crossing
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import GRE, Dot1Q, Ether
from scapy.layers.vxlan import VXLAN
from scapy.packet import Raw
from scapy.utils import wrpcap

JUMBO = ["--mbuf-size=10240", "--max-pkt-len=9996", "--total-num-mbufs=4096"]
ETHER = Ether(dst="02:00:00:00:00:02", src="02:00:00:00:00:01")


def sized(length: int, seed: int = 0) -> bytes:
    frame = ETHER / IP(src="192.0.2.1", dst="192.0.2.2") / UDP(sport=1000 + seed % 1000, dport=2000)
    room = length - len(frame)
    return bytes(frame / Raw(bytes((seed + i) % 256 for i in range(room))))


def test_every_length_up_to_an_mtu_of_1500(backend, tmp_path):
    """tshark sees nothing wrong in them either."""
    sent = [sized(length, length) for length in range(60, 1515, 2)]
    sent.append(bytes(ETHER / IP(src="192.0.2.1", dst="192.0.2.2") / ICMP() / Raw(bytes(64))))
    came = carry(backend, sent)
    assert came == sent
    capture = str(tmp_path / "came.pcap")
    wrpcap(capture, [Ether(frame) for frame in came], linktype=1)
    done = subprocess.run(
        ["tshark", "-r", capture, "-d", "udp.port==1-65535,data",
         "-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE",
         "-Y", "_ws.malformed or ip.checksum.status == 0 or udp.checksum.status == 0"],
        capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""


def test_jumbo_frames_in_one_buffer(backend):
    sent = [sized(length, length) for length in (64, 1514, 1515, 4096, 9000, 9991, 9992)]
    came = carry(backend, sent, JUMBO)
    assert came == sent


def test_jumbo_frames_over_several_buffers(backend):
    sent = [sized(length, length) for length in (64, 1514, 2048, 2049, 4096, 9000, 9992)]
    commands = ["port stop 0", "port stop 1", "port config 0 rx_offload scatter on", "port config 1 rx_offload scatter on",
                "port config 0 tx_offload multi_segs on", "port config 1 tx_offload multi_segs on",
                "port config mtu 0 9978", "port config mtu 1 9978", "port start 0", "port start 1"]
    came = carry(backend, sent, commands=commands)
    assert came == sent


def test_checksums_are_inserted(backend):
    payload = Raw(bytes(range(100)))
    good = [
        ETHER / IP(src="192.0.2.1", dst="192.0.2.2") / UDP(sport=1, dport=2) / payload,
        ETHER / IP(src="192.0.2.1", dst="192.0.2.2") / TCP(sport=1, dport=2) / payload,
        ETHER / IPv6(src="2001:db8::1", dst="2001:db8::2") / UDP(sport=1, dport=2) / payload,
        ETHER / IPv6(src="2001:db8::1", dst="2001:db8::2") / TCP(sport=1, dport=2) / payload,
        ETHER / Dot1Q(vlan=7) / IP(src="192.0.2.1", dst="192.0.2.2") / TCP(sport=1, dport=2) / Raw(b"odd"),
    ]
    wanted = [bytes(frame) for frame in good]
    sent = [Ether(frame) for frame in wanted]
    for frame in sent:
        for layer in (IP, UDP, TCP):
            if layer in frame:
                frame[layer].chksum = 0x1234
    commands = ["port stop all"] + [f"csum set {layer} hw {port}" for layer in ("ip", "udp", "tcp")
                                       for port in (FIRST, SECOND)]
    commands += ["port start all"]
    came = carry(backend, [bytes(frame) for frame in sent], commands=commands, mode="csum")
    # The csum engine may rewrite addresses; the rest is the frame with right checksums.
    assert [frame[12:] for frame in came] == [frame[12:] for frame in wanted]


SEGMENT = 700
TUNNELS = {
    "plain": lambda inner: inner,
    "vlan": lambda inner: Ether(dst=inner.dst, src=inner.src) / Dot1Q(vlan=7) / inner[IP],
    "vxlan": lambda inner: ETHER / IP(src="198.51.100.1", dst="198.51.100.2") / UDP(sport=9, dport=4789, chksum=0) /
                           VXLAN(vni=42) / inner,
    "gre": lambda inner: ETHER / IP(src="198.51.100.1", dst="198.51.100.2") / GRE(proto=0x6558) / inner,
    "ipip": lambda inner: ETHER / IP(src="198.51.100.1", dst="198.51.100.2") / inner[IP],
}


def test_segmentation(backend):
    """testpmd's csum engine asks for TSO; scapy makes the frames that have to come."""
    data = bytes(i * 7 % 251 for i in range(3000))

    def frame(tunnel: str, number: int, begin: int, size: int, flags: str) -> bytes:
        inner = ETHER / IP(src="192.0.2.1", dst="192.0.2.2", id=100 + number) / \
            TCP(sport=1, dport=2, seq=1000 + begin, flags=flags) / Raw(data[begin:begin + size])
        made = Ether(bytes(TUNNELS[tunnel](inner)))
        made[IP].id = (100 if made[IP].proto == 6 else 1) + number
        del made[IP].chksum
        return bytes(made)

    sent = [frame(tunnel, 0, 0, len(data), "PA") for tunnel in TUNNELS]
    wanted = {tunnel: [frame(tunnel, i, begin, min(SEGMENT, len(data) - begin), "PA" if begin + SEGMENT >= len(data) else "A")
                       for i, begin in enumerate(range(0, len(data), SEGMENT))] for tunnel in TUNNELS}
    count = len(wanted["plain"])
    commands = ["port stop all"]
    commands += [f"csum set {layer} hw {port}" for layer in ("ip", "tcp", "outer-ip") for port in (FIRST, SECOND)]
    commands += [f"csum parse-tunnel on {port}" for port in (FIRST, SECOND)]
    commands += [f"{kind} set {SEGMENT} {port}" for kind in ("tso", "tunnel_tso") for port in (FIRST, SECOND)]
    commands += ["port start all"]
    came = carry(backend, sent, JUMBO, commands=commands, mode="csum", expected=len(TUNNELS) * count)
    for i, tunnel in enumerate(TUNNELS):
        # The csum engine may rewrite addresses; the rest is the frame with right checksums.
        assert [frame[12:] for frame in came[i * count:(i + 1) * count]] == [frame[12:] for frame in wanted[tunnel]], tunnel


def test_checksum_status_of_received_frames(backend):
    payload = Raw(bytes(100))
    frames = [ETHER / IP(src="192.0.2.1", dst="192.0.2.2") / UDP(sport=1, dport=2) / payload,
              ETHER / IP(src="192.0.2.1", dst="192.0.2.2", chksum=1) / UDP(sport=1, dport=2) / payload,
              ETHER / IP(src="192.0.2.1", dst="192.0.2.2") / TCP(sport=1, dport=2, chksum=1) / payload]
    with crossing(backend, [bytes(frame) for frame in frames]) as through:
        pmd = through.pmd
        pmd.command(f"port stop {SECOND}")
        for layer in ("ipv4", "udp", "tcp"):
            pmd.command(f"port config {SECOND} rx_offload {layer}_cksum on")
        pmd.command(f"port start {SECOND}")
        through.links_up()
        pmd.command("set verbose 1")
        text = pmd.print_packets("start", 6)  # each frame is seen at two ports
        pmd.command("stop")
    lines = [line for line in text.splitlines() if "ol_flags" in line]
    assert any("RX_IP_CKSUM_GOOD" in line and "RX_L4_CKSUM_GOOD" in line for line in lines), text
    assert any("RX_IP_CKSUM_BAD" in line for line in lines), text
    assert any("RX_L4_CKSUM_BAD" in line for line in lines), text


def test_vlan_tag_survives(backend):
    sent = [bytes(ETHER / Dot1Q(vlan=tag, prio=5) / IP(src="192.0.2.1", dst="192.0.2.2") / UDP() / Raw(bytes(64)))
            for tag in (1, 4094)]
    assert carry(backend, sent) == sent


def test_vlan_strip_removes_the_tag(backend):
    inner = IP(src="192.0.2.1", dst="192.0.2.2") / UDP() / Raw(bytes(64))
    sent = [bytes(ETHER / Dot1Q(vlan=9) / inner)]
    came = carry(backend, sent, commands=["vlan set strip on 1"])
    assert came == [bytes(ETHER / inner)]


def test_vlan_insert_adds_the_tag(backend):
    inner = IP(src="192.0.2.1", dst="192.0.2.2") / UDP() / Raw(bytes(64))
    # The "mac" engine asks for the tag; it also writes addresses, which are not compared.
    came = carry(backend, [bytes(ETHER / inner)], commands=["port stop 0", "tx_vlan set 0 77", "port start 0"],
                 mode="mac")
    assert [frame[12:] for frame in came] == [bytes(ETHER / Dot1Q(vlan=77) / inner)[12:]]
