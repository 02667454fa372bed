#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes roce_vectors.h: RoCE v2 packets as scapy builds them, for the unit test of our own codec.

usage: roce_vectors.py > roce_vectors.h

IPv4 packets have scapy's ICRC. Scapy has none for IPv6: there it is the annex's definition, written down here with
zlib's CRC.
"""
import struct
import zlib

from scapy.contrib.roce import AETH, BTH, opcode
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Raw

ETHER = {"dst": "02:00:00:00:00:02", "src": "02:00:00:00:00:01"}
RETH = struct.pack("!QII", 0x1122334455667788, 0xA1B2C3D4, 300)
ATOMIC = struct.pack("!QIQQ", 0x1122334455667788, 0xA1B2C3D4, 0x0102030405060708, 0x1112131415161718)
IMMEDIATE = struct.pack("!I", 0xCAFEF00D)
DETH = struct.pack("!II", 0x11111111, 0x000456)


def data(count):
    return bytes((7 * i + 3) & 0xFF for i in range(count))


def bth(transport, name, payload=b"", pad=0, **fields):
    number = name if isinstance(name, int) else opcode(transport, name)[0]
    header = BTH(opcode=number, migreq=1, padcount=pad, dqpn=0x123456, psn=0xFEDCBA, **fields)
    return header / Raw(payload + bytes(pad)) if payload or pad else header


def acknowledge(syndrome):
    return BTH(opcode=opcode("RC", "ACKNOWLEDGE")[0], migreq=1, dqpn=0x123456, psn=0xFEDCBA) / AETH(
        syndrome=syndrome, msn=0x00ABCD)


BODIES = [
    ("send_only", bth("RC", "SEND_ONLY", data(64), ackreq=1, solicited=1)),
    ("send_only_empty", bth("RC", "SEND_ONLY", ackreq=1)),
    ("send_first", bth("RC", "SEND_FIRST", data(256))),
    ("send_middle", bth("RC", "SEND_MIDDLE", data(256))),
    ("send_last_imm_padded", bth("RC", "SEND_LAST_WITH_IMMEDIATE", IMMEDIATE + data(61), pad=3, ackreq=1)),
    ("write_first", bth("RC", "RDMA_WRITE_FIRST", RETH + data(256))),
    ("write_only_imm", bth("RC", "RDMA_WRITE_ONLY_WITH_IMMEDIATE", RETH + IMMEDIATE + data(18), pad=2)),
    ("read_request", bth("RC", "RDMA_READ_REQUEST", RETH, ackreq=1)),
    ("read_response_first", bth("RC", "RDMA_READ_RESPONSE_FIRST", b"\x1f\x00\xab\xcd" + data(256))),
    ("read_response_middle", bth("RC", "RDMA_READ_RESPONSE_MIDDLE", data(256))),
    ("read_response_only", bth("RC", "RDMA_READ_RESPONSE_ONLY", b"\x1f\x00\xab\xcd" + data(5), pad=3)),
    ("acknowledge", acknowledge(0x1F)),
    ("nak_sequence", acknowledge(0x60)),
    ("rnr", acknowledge(0x2C)),
    ("atomic_acknowledge", bth("RC", "ATOMIC_ACKNOWLEDGE", b"\x1f\x00\xab\xcd" + data(8))),
    ("compare_swap", bth("RC", "COMPARE_SWAP", ATOMIC, ackreq=1)),
    ("fetch_add", bth("RC", "FETCH_ADD", ATOMIC, ackreq=1)),
    ("uc_send_only_imm", bth("UC", "SEND_ONLY_WITH_IMMEDIATE", IMMEDIATE + data(7), pad=1)),
    ("uc_write_last", bth("UC", "RDMA_WRITE_LAST", data(40))),
    ("ud_send_only", bth("UD", "SEND_ONLY", DETH + data(99), pad=1)),
    ("ud_send_only_imm", bth("UD", "SEND_ONLY_WITH_IMMEDIATE", DETH + IMMEDIATE + data(12))),
    ("extended_atomic", bth("RC", 0xD3, RETH[:12] + b"\x03\x04\x00\x00" + data(32), ackreq=1)),
    ("extended_acknowledge", bth("RC", 0xD2, b"\x1f\x00\xab\xcd" + data(16))),
]


def over_ipv4(body, tagged):
    below = Ether(**ETHER) / Dot1Q(prio=5, vlan=77) if tagged else Ether(**ETHER)
    ip = IP(src="10.1.2.3", dst="10.4.5.6", tos=0x6A, ttl=33, id=0, flags="DF")
    return bytes(below / ip / UDP(sport=0xC123, dport=4791, chksum=0) / body)


def over_ipv6(body):
    ip = IPv6(src="2001:db8::1", dst="2001:db8::2", tc=0x6A, fl=0x54321, hlim=33)
    plain = bytes(body)[:-4]  # whatever stands for the ICRC is replaced

    def frame(icrc):
        return bytes(Ether(**ETHER) / ip / UDP(sport=0xC123, dport=4791) / Raw(plain + icrc))

    masked = bytearray(frame(bytes(4))[14:-4])
    masked[0] |= 0x0F
    masked[1:4] = b"\xff\xff\xff"  # traffic class, flow label
    masked[7] = 0xFF  # hop limit
    masked[46:48] = b"\xff\xff"  # UDP checksum
    masked[40 + 8 + 4] = 0xFF  # BTH's congestion marks
    return frame(struct.pack("<I", zlib.crc32(b"\xff" * 8 + bytes(masked))))


def main():
    print("// SPDX-License-Identifier: BSD-3-Clause")
    print("// Written by roce_vectors.py.")
    print("#pragma once\n\nnamespace chime::test {\n")
    print("struct RoceVector {\n  const char* name;\n  const char* frame;\n};\n")
    print("inline constexpr RoceVector roce_vectors[] = {")
    for name, body in BODIES:
        for suffix, frame in (("", over_ipv4(body, False)), ("_tagged", over_ipv4(body, True)), ("_ipv6", over_ipv6(body))):
            text = frame.hex()
            lines = [text[i:i + 96] for i in range(0, len(text), 96)]
            print('    {"%s%s",' % (name, suffix))
            print("\n".join('     "%s"' % line for line in lines) + "},")
    print("};\n\n}  // namespace chime::test")


main()
