// SPDX-License-Identifier: BSD-3-Clause
#include "model/packet/headers.h"

#include <gtest/gtest.h>

#include "frames.h"

namespace chime {
namespace {

using net::Headers;
using net::L3;
using net::L4;
using test::Bytes;
using test::FrameBuilder;

Headers parse(const FrameBuilder& builder) {
  const Bytes& b = builder.bytes();
  return net::parse(b.data(), static_cast<std::uint32_t>(b.size()), static_cast<std::uint32_t>(b.size()));
}

TEST(Headers, Udp4) {
  const Headers h = parse(FrameBuilder().ethernet(0x0800).ipv4(17, 18).udp(10).fill(10));
  EXPECT_EQ(h.l3_offset, 14);
  EXPECT_EQ(h.l3, L3::ipv4);
  EXPECT_EQ(h.l4, L4::udp);
  EXPECT_EQ(h.l4_offset, 34);
  EXPECT_EQ(h.payload_offset, 42);
  EXPECT_EQ(h.ip_end, 52);
  EXPECT_EQ(h.ip_protocol, 17);
  EXPECT_TRUE(h.ip_length_ok);
  EXPECT_FALSE(h.fragment);
  EXPECT_FALSE(h.wants_more);
}

TEST(Headers, Tcp4WithOptionsAndPadding) {
  const Headers h = parse(FrameBuilder().ethernet(0x0800).ipv4(6, 20, 3).tcp().fill(6));
  EXPECT_EQ(h.l4, L4::tcp);
  EXPECT_EQ(h.l4_offset, 14 + 32);
  EXPECT_EQ(h.ip_end, 14 + 32 + 20);
  EXPECT_EQ(h.payload_offset, h.ip_end);
}

TEST(Headers, IcmpHasEightBytesOrFour) {
  const Bytes whole = FrameBuilder().ethernet(0x0800).ipv4(1, 8).hex("0803 0000 12345678").fill(20).bytes();
  const auto length = static_cast<std::uint32_t>(whole.size());
  const std::uint32_t front = 14 + 20 + 4;
  Headers h = net::parse(whole.data(), front, length);
  EXPECT_EQ(h.l4, L4::none) << "its last four bytes are matched too";
  EXPECT_TRUE(h.wants_more);
  h = net::parse(whole.data(), front + 4, length);
  EXPECT_EQ(h.l4, L4::icmp);
  EXPECT_EQ(h.payload_offset, front + 4);
  EXPECT_FALSE(h.wants_more);
  h = parse(FrameBuilder().ethernet(0x0800).ipv4(1, 4).hex("0803 0000").fill(22));
  EXPECT_EQ(h.l4, L4::icmp);
  EXPECT_EQ(h.payload_offset, front);
  EXPECT_FALSE(h.wants_more);
}

TEST(Headers, DatagramThatEndsBehind16Bits) {
  const std::size_t length = 0xffff + 9;
  const Bytes frame = FrameBuilder().ethernet(0x0800).ipv4(6, length - 34).tcp().fill(length - 54).bytes();
  for (const std::uint32_t available : {54u, static_cast<std::uint32_t>(length)}) {
    const Headers h = net::parse(frame.data(), available, static_cast<std::uint32_t>(length));
    EXPECT_EQ(h.l3, L3::ipv4);
    EXPECT_EQ(h.l4, L4::none);
    EXPECT_FALSE(h.ip_length_ok);
    EXPECT_EQ(h.ip_end, 0xffff);
  }
}

TEST(Headers, OneTwoAndThreeTags) {
  Headers h = parse(FrameBuilder().ethernet(0x8100).vlan(0x6123, 0x0800).ipv4(17, 8).udp(0));
  EXPECT_EQ(h.vlans, 1);
  EXPECT_EQ(h.vlan_tci[0], 0x6123);
  EXPECT_EQ(h.ethertype, 0x0800);
  EXPECT_EQ(h.l4, L4::udp);
  h = parse(FrameBuilder().ethernet(0x88a8).vlan(1, 0x8100).vlan(2, 0x0800).ipv4(17, 8).udp(0));
  EXPECT_EQ(h.vlans, 2);
  EXPECT_EQ(h.vlan_type[0], 0x88a8);
  EXPECT_EQ(h.vlan_type[1], 0x8100);
  EXPECT_EQ(h.vlan_tci[1], 2);
  EXPECT_EQ(h.l3_offset, 22);
  h = parse(
      FrameBuilder().ethernet(0x88a8).vlan(1, 0x8100).vlan(2, 0x8100).vlan(3, 0x0800).ipv4(17, 8).udp(0));
  EXPECT_EQ(h.vlans, 2);
  EXPECT_EQ(h.ethertype, 0x8100);
  EXPECT_EQ(h.l3, L3::none);
}

TEST(Headers, Ipv6ExtensionChain) {
  FrameBuilder b;
  b.ethernet(0x86dd).ipv6(0, 8 + 16 + 8 + 24 + 12);
  b.u8(43).u8(0).fill(6);                      // hop by hop
  b.u8(60).u8(1).fill(14);                     // routing
  b.u8(51).u8(0).fill(6);                      // destination options
  b.u8(17).u8(4).u16(0).u32(0xabcd).fill(16);  // AH counts in words of 4
  b.udp(4).fill(4);
  const Headers h = parse(b);
  EXPECT_EQ(h.l3, L3::ipv6);
  EXPECT_EQ(h.ip_protocol, 17);
  EXPECT_EQ(h.l4, L4::udp);
  EXPECT_EQ(h.l4_offset, 14 + 40 + 56);
  EXPECT_EQ(h.spi_offset, 14 + 40 + 32 + 4);
}

TEST(Headers, Fragments) {
  Headers h = parse(FrameBuilder().ethernet(0x0800).ipv4(17, 16, 0, 0x2000).udp(8).fill(8));
  EXPECT_TRUE(h.fragment);
  EXPECT_EQ(h.l4, L4::none);
  EXPECT_EQ(h.ip_protocol, 17);
  h = parse(FrameBuilder().ethernet(0x0800).ipv4(17, 16, 0, 0x0005).fill(16));
  EXPECT_TRUE(h.fragment);
  // IPv6: first, later, and a whole datagram behind a fragment header
  h = parse(FrameBuilder().ethernet(0x86dd).ipv6(44, 16).u8(17).u8(0).u16(1).u32(7).udp(0));
  EXPECT_TRUE(h.fragment);
  EXPECT_EQ(h.l4, L4::none);
  EXPECT_EQ(h.ip_protocol, 17);
  h = parse(FrameBuilder().ethernet(0x86dd).ipv6(44, 16).u8(0).u8(0).u16(0x88).u32(7).fill(8));
  EXPECT_TRUE(h.fragment);
  EXPECT_EQ(h.ip_protocol, 0);
  h = parse(FrameBuilder().ethernet(0x86dd).ipv6(44, 16).u8(17).u8(0).u16(0).u32(7).udp(0));
  EXPECT_FALSE(h.fragment);
  EXPECT_EQ(h.l4, L4::udp);
}

TEST(Headers, LyingLengths) {
  Headers h = parse(FrameBuilder().ethernet(0x0800).ipv4(17, 100).udp(10).fill(10));
  EXPECT_EQ(h.l3, L3::ipv4);
  EXPECT_FALSE(h.ip_length_ok);
  EXPECT_EQ(h.l4, L4::none);
  h = parse(FrameBuilder().ethernet(0x0800).hex("45000010").fill(30));
  EXPECT_FALSE(h.ip_length_ok);
  h = parse(FrameBuilder().ethernet(0x0800).hex("44000020").fill(30));  // header of 16 bytes
  EXPECT_EQ(h.l3, L3::none);
  h = parse(FrameBuilder().ethernet(0x0800).hex("65000020").fill(30));  // version 6 by ethertype IPv4
  EXPECT_EQ(h.l3, L3::none);
  h = parse(FrameBuilder().ethernet(0x86dd).ipv6(0, 16).u8(17).u8(5).fill(14));  // extension too long
  EXPECT_FALSE(h.ip_length_ok);
  EXPECT_EQ(h.l4, L4::none);
  h = parse(FrameBuilder().ethernet(0x0800).ipv4(6, 20).hex("03e807d00102030405060708f010020000000000"));
  EXPECT_EQ(h.l4, L4::none);  // TCP header of 60 bytes in 20
}

TEST(Headers, EveryCutIsParsedWithoutReadingBehind) {
  FrameBuilder b;
  b.ethernet(0x88a8).vlan(1, 0x8100).vlan(2, 0x86dd).ipv6(0, 8 + 20).u8(6).u8(0).fill(6).tcp();
  for (std::size_t cut = 0; cut <= b.size(); ++cut) {
    const Bytes part(b.bytes().begin(), b.bytes().begin() + static_cast<std::ptrdiff_t>(cut));
    const auto length = static_cast<std::uint32_t>(cut);
    const Headers whole = net::parse(part.data(), length, length);
    EXPECT_FALSE(whole.wants_more) << cut;
    EXPECT_LE(whole.payload_offset, cut);
    const Headers front = net::parse(part.data(), length, static_cast<std::uint32_t>(b.size()));
    EXPECT_EQ(front.wants_more, cut < b.size()) << cut;
  }
}

}  // namespace
}  // namespace chime
