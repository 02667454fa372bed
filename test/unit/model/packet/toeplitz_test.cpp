// SPDX-License-Identifier: BSD-3-Clause
#include "model/packet/toeplitz.h"

#include <gtest/gtest.h>

#include "frames.h"

namespace chime {
namespace {

using net::HashInput;
using net::HashSelection;
using net::Toeplitz;
using test::Bytes;
using test::FrameBuilder;

/// The key and the vectors that Microsoft publishes for verifying an RSS implementation.
Owned<Toeplitz> published_key() {
  const Bytes key = FrameBuilder()
                        .hex(
                            "6d5a56da255b0ec24167253d43a38fb0d0ca2bcbae7b30b4"
                            "77cb2da38030f20c6a42b73bbeac01fa")
                        .bytes();
  return std::move(*Toeplitz::create(std::span<const std::byte, 40>(key.data(), 40)));
}

struct Vector {
  const char* destination;
  unsigned destination_port;
  const char* source;
  unsigned source_port;
  std::uint32_t with_ports;
  std::uint32_t addresses;
};

constexpr Vector ipv4[] = {
    {"a18e6450", 1766, "420995bb", 2794, 0x51ccc178, 0x323e8fc2},
    {"41458c53", 4739, "c75c6f02", 14230, 0xc626b0ea, 0xd718262a},
    {"0c16cfb8", 38024, "1813c65f", 12898, 0x5c2b394a, 0xd2d0a5de},
    {"d18ea306", 2217, "261bcd1e", 48228, 0xafc7327f, 0x82989176},
    {"cabc7f02", 1303, "9927a3bf", 44251, 0x10e828a2, 0x5d1809c5},
};

constexpr Vector ipv6[] = {
    {"3ffe2501020000030000000000000001", 1766, "3ffe250102001fff0000000000000007", 2794, 0x40207d3d,
     0x2cc18cd5},
    {"ff020000000000000000000000000001", 4739, "3ffe050100080000026097fffe40efab", 14230, 0xdde51bbf,
     0x0f0c461c},
    {"fe800000000000000200f8fffe2167cf", 38024, "3ffe1900454500030200f8fffe2167cf", 44251, 0x02d1feef,
     0x4b61e985},
};

Bytes frame_of(const Vector& v, bool six, unsigned protocol) {
  FrameBuilder b;
  if (six) {
    b.ethernet(0x86dd).u32(0x60000000).u16(20).u8(protocol).u8(64);
  } else {
    b.ethernet(0x0800).u8(0x45).u8(0).u16(40).u32(0).u8(64).u8(protocol).u16(0);
  }
  b.hex(v.source).hex(v.destination).u16(v.source_port).u16(v.destination_port);
  return b.fill(8).u16(0x5010).fill(6).bytes();
}

HashInput gather(const Bytes& frame, const HashSelection& selection) {
  HashInput input;
  const auto length = static_cast<std::uint32_t>(frame.size());
  net::gather_hash_input(input, selection, frame.data(), net::parse(frame.data(), length, length));
  return input;
}

std::uint32_t hash(const Toeplitz& key, const Bytes& frame, const HashSelection& selection) {
  const HashInput input = gather(frame, selection);
  return key.hash(input.bytes, input.length);
}

TEST(Toeplitz, PublishedVectors) {
  const auto key = published_key();
  for (const Vector& v : ipv4) {
    const Bytes frame = frame_of(v, false, 6);
    EXPECT_EQ(hash(*key, frame, {.fields = 0xf}), v.with_ports);
    EXPECT_EQ(hash(*key, frame, {.fields = 0x3}), v.addresses);
  }
  for (const Vector& v : ipv6) {
    const Bytes frame = frame_of(v, true, 6);
    EXPECT_EQ(hash(*key, frame, {.fields = 0xf, .l3 = net::L3::ipv6}), v.with_ports);
    EXPECT_EQ(hash(*key, frame, {.fields = 0x3, .l3 = net::L3::ipv6}), v.addresses);
  }
}

TEST(Toeplitz, EverySelectionTakesItsFieldsInOrder) {
  const Bytes tcp4 = frame_of(ipv4[0], false, 6);
  const char* pieces[] = {"420995bb", "a18e6450", "0aea", "06e6"};
  for (unsigned fields = 0; fields < 16; ++fields) {
    FrameBuilder expected;
    unsigned type = 0;
    for (unsigned i = 0; i < 4; ++i) {
      if ((fields & 1u << i) == 0) continue;
      expected.hex(pieces[i]);
      type |= 1u << 2 * i;
    }
    const HashInput input = gather(tcp4, {.fields = static_cast<std::uint8_t>(fields)});
    ASSERT_EQ(input.length, expected.size()) << fields;
    EXPECT_EQ(Bytes(input.bytes, input.bytes + input.length), expected.bytes()) << fields;
    EXPECT_EQ(input.type, type) << fields;
  }
}

TEST(Toeplitz, TypesAndMismatches) {
  const Bytes tcp4 = frame_of(ipv4[0], false, 6), udp4 = frame_of(ipv4[0], false, 17);
  const Bytes udp6 = frame_of(ipv6[0], true, 17);
  // An l4_prot_type that is not the packet's leaves the addresses, an l3_prot_type nothing.
  EXPECT_EQ(gather(tcp4, {.fields = 0xf, .l4 = net::L4::udp}).length, 8);
  EXPECT_EQ(gather(tcp4, {.fields = 0xf, .l4 = net::L4::udp}).type, 0x05);
  EXPECT_EQ(gather(udp4, {.fields = 0xf, .l4 = net::L4::udp}).type, 0xa5);
  EXPECT_EQ(gather(udp6, {.fields = 0xf, .l3 = net::L3::ipv6, .l4 = net::L4::udp}).type, 0xaa);
  EXPECT_EQ(gather(udp6, {.fields = 0xf, .l3 = net::L3::ipv6, .l4 = net::L4::udp}).length, 36);
  EXPECT_EQ(gather(udp6, {.fields = 0xf}).length, 0);
  EXPECT_EQ(gather(udp6, {.fields = 0xf}).type, 0);
}

TEST(Toeplitz, SecurityParameterIndex) {
  const auto esp = FrameBuilder().ethernet(0x0800).ipv4(50, 8).u32(0xcafebabe).u32(1).bytes();
  const HashInput input = gather(esp, {.fields = net::hash_ipsec_spi});
  EXPECT_EQ(Bytes(input.bytes, input.bytes + input.length), FrameBuilder().u32(0xcafebabe).bytes());
  EXPECT_EQ(input.type, 0xf0);
}

TEST(Toeplitz, SymmetricHashesBothDirectionsAlike) {
  const auto key = published_key();
  const auto both = [&](const Vector& v, bool six) {
    const HashSelection selection{
        .fields = 0xf, .l3 = six ? net::L3::ipv6 : net::L3::ipv4, .symmetric = true};
    const Vector back{v.source, v.source_port, v.destination, v.destination_port, 0, 0};
    EXPECT_EQ(hash(*key, frame_of(v, six, 6), selection), hash(*key, frame_of(back, six, 6), selection));
    // One side alone is not mixed with anything.
    const HashSelection source{.fields = 0x5, .l3 = selection.l3, .symmetric = true};
    const HashSelection plain{.fields = 0x5, .l3 = selection.l3};
    EXPECT_EQ(hash(*key, frame_of(v, six, 6), source), hash(*key, frame_of(v, six, 6), plain));
  };
  for (const Vector& v : ipv4) both(v, false);
  for (const Vector& v : ipv6) both(v, true);
}

TEST(Toeplitz, InvertedXor8) {
  const Bytes input = FrameBuilder().hex("0102040810").bytes();
  EXPECT_EQ(net::inverted_xor8(input.data(), input.size()), 0xe0u);
}

}  // namespace
}  // namespace chime
