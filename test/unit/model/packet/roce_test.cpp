// SPDX-License-Identifier: BSD-3-Clause
#include "model/packet/roce.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "frames.h"
#include "model/packet/bytes.h"
#include "model/packet/crc32.h"
#include "roce_vectors.h"

namespace chime {
namespace {

using net::RoceKind;
using net::RoceParse;
using test::Bytes;

Bytes frame_of(const test::RoceVector& vector) {
  return test::FrameBuilder().hex(vector.frame).bytes();
}

struct Parsed {
  net::Headers headers;
  net::RocePacket packet;
  RoceParse outcome;
};

Parsed parse(const Bytes& frame) {
  Parsed p;
  const auto length = static_cast<std::uint32_t>(frame.size());
  p.headers = net::parse(frame.data(), length, length);
  p.outcome = net::is_roce(frame.data(), p.headers)
                  ? net::parse_roce(p.packet, frame.data(), length, p.headers)
                  : RoceParse::truncated;
  return p;
}

bool crc_ok(const Bytes& frame) {
  const Parsed p = parse(frame);
  const model::Segment whole{frame.data(), static_cast<std::uint32_t>(frame.size())};
  return net::icrc_ok(frame.data(), {&whole, 1}, p.headers);
}

TEST(RocePacket, CrcOfNineDigits) {
  const char digits[] = "123456789";
  EXPECT_EQ(~net::crc32(~0u, reinterpret_cast<const std::byte*>(digits), 9), 0xcbf43926u);
}

TEST(RocePacket, ScapysPacketsAreUnderstood) {
  for (const test::RoceVector& vector : test::roce_vectors) {
    SCOPED_TRACE(vector.name);
    const Bytes frame = frame_of(vector);
    const Parsed p = parse(frame);
    ASSERT_EQ(p.outcome, RoceParse::ok);
    EXPECT_TRUE(crc_ok(frame));
    EXPECT_EQ(p.packet.qpn, 0x123456u);
    EXPECT_EQ(p.packet.psn, 0xfedcbau);
    EXPECT_EQ(p.packet.partition, 0xffff);
    if (p.packet.shape.reth || p.packet.shape.kind == RoceKind::atomic ||
        p.packet.shape.kind == RoceKind::extended_atomic) {
      EXPECT_EQ(p.packet.address, 0x1122334455667788u);
      EXPECT_EQ(p.packet.rkey, 0xa1b2c3d4u);
    }
    if (p.packet.shape.reth) {
      EXPECT_EQ(p.packet.message_length, 300u);
    }
    if (p.packet.shape.kind == RoceKind::atomic) {
      EXPECT_EQ(p.packet.swap_or_add, 0x0102030405060708u);
      EXPECT_EQ(p.packet.compare, 0x1112131415161718u);
    }
    if (p.packet.shape.aeth) {
      EXPECT_EQ(p.packet.msn, 0x00abcdu);
    }
    if (p.packet.shape.immediate) {
      EXPECT_EQ(p.packet.immediate, 0xcafef00du);
    }
    if (p.packet.transport == net::Transport::ud) {
      EXPECT_EQ(p.packet.qkey, 0x11111111u);
      EXPECT_EQ(p.packet.source_qpn, 0x456u);
    }
  }
}

TEST(RocePacket, OursAreScapysToTheByte) {
  for (const test::RoceVector& vector : test::roce_vectors) {
    SCOPED_TRACE(vector.name);
    const Bytes frame = frame_of(vector);
    const Parsed p = parse(frame);
    const std::byte* const l3 = frame.data() + p.headers.l3_offset;
    net::RoceRoute route;
    std::memcpy(route.destination_mac.data(), frame.data(), 6);
    std::memcpy(route.source_mac.data(), frame.data() + 6, 6);
    route.tagged = p.headers.vlans != 0;
    route.tci = p.headers.vlan_tci[0];
    route.ipv6 = p.headers.l3 == net::L3::ipv6;
    if (route.ipv6) {
      std::memcpy(route.source.data(), l3 + 8, 16);
      std::memcpy(route.destination.data(), l3 + 24, 16);
    } else {
      std::memcpy(route.source.data() + 12, l3 + 12, 4);
      std::memcpy(route.destination.data() + 12, l3 + 16, 4);
    }
    route.traffic_class = 0x6a;
    route.hop_limit = 33;
    route.flow_label = 0x54321;
    route.source_port = 0xc123;
    const net::RouteHeader header = net::make_route_header(route);
    Bytes ours(frame.size() + 64, std::byte{0xee});
    std::uint32_t content = net::write_roce(ours.data() + header.length, p.packet);
    std::memcpy(ours.data() + header.length + content, frame.data() + p.packet.payload_offset,
                p.packet.payload_length);
    content += p.packet.payload_length;
    std::memset(ours.data() + header.length + content, 0, p.packet.pad);
    content += p.packet.pad;
    ours.resize(net::finish_roce(ours.data(), header, content));
    EXPECT_EQ(ours, frame);
  }
}

TEST(RocePacket, IcrcInEverySegmentation) {
  const Bytes frame = frame_of(test::roce_vectors[0]);
  const Parsed p = parse(frame);
  const auto length = static_cast<std::uint32_t>(frame.size());
  for (std::uint32_t cut = 1; cut < length; ++cut) {
    const model::Segment parts[] = {{frame.data(), cut}, {frame.data() + cut, length - cut}};
    EXPECT_TRUE(net::icrc_ok(frame.data(), parts, p.headers)) << cut;
  }
}

TEST(RocePacket, IcrcCoversAllThatNoRouterChanges) {
  const Bytes frame = frame_of(test::roce_vectors[0]);
  const std::size_t ip = 14, udp = 34, bth = 42;
  for (std::size_t i = ip; i < frame.size(); ++i) {
    Bytes changed = frame;
    changed[i] ^= std::byte{0x40};
    // Lengths and the header's form decide what is parsed at all.
    const bool shape = i == ip || i == ip + 2 || i == ip + 3 || i == ip + 6 || i == ip + 7 || i == ip + 9 ||
                       i == udp + 2 || i == udp + 3 || i == udp + 4 || i == udp + 5;
    if (shape) continue;
    const bool variant = i == ip + 1 || i == ip + 8 || i == ip + 10 || i == ip + 11 || i == udp + 6 ||
                         i == udp + 7 || i == bth + 4;
    EXPECT_EQ(crc_ok(changed), variant) << i;
  }
}

TEST(RocePacket, CutAnywhereIsNoPacket) {
  for (const test::RoceVector& vector : test::roce_vectors) {
    const Bytes frame = frame_of(vector);
    const Parsed whole = parse(frame);
    // UDP and IP lengths of less than the headers need.
    for (std::uint32_t content = 0; content < whole.packet.payload_offset + 4u - whole.headers.l4_offset - 8;
         ++content) {
      Bytes cut(frame.begin(), frame.begin() + whole.headers.l4_offset + 8 + content);
      const bool ipv6 = whole.headers.l3 == net::L3::ipv6;
      std::byte* const l3 = cut.data() + whole.headers.l3_offset;
      const auto udp = static_cast<std::uint16_t>(8 + content);
      net::store_be(l3 + (ipv6 ? 4 : 2), static_cast<std::uint16_t>(ipv6 ? udp : udp + 20));
      net::store_be(cut.data() + whole.headers.l4_offset + 4, udp);
      EXPECT_EQ(parse(cut).outcome, RoceParse::truncated) << vector.name << content;
    }
  }
}

TEST(RocePacket, UnknownOpcodesAndVersions) {
  Bytes frame = frame_of(test::roce_vectors[0]);
  for (unsigned opcode : {0x15u, 0x1fu, 0x2cu, 0x33u, 0x40u, 0x60u, 0x66u, 0x81u, 0xd4u, 0xffu}) {
    frame[42] = static_cast<std::byte>(opcode);
    EXPECT_EQ(parse(frame).outcome, RoceParse::opcode) << opcode;
  }
  frame[42] = std::byte{4};
  frame[43] |= std::byte{1};
  EXPECT_EQ(parse(frame).outcome, RoceParse::version);
}

TEST(RocePacket, SequenceNumbersGoRound) {
  EXPECT_EQ(net::psn_distance(5, 3), 2);
  EXPECT_EQ(net::psn_distance(1, 0xffffff), 2);
  EXPECT_EQ(net::psn_distance(0xffffff, 1), -2);
  EXPECT_EQ(net::psn_add(0xffffff, 2), 1u);
}

}  // namespace
}  // namespace chime
