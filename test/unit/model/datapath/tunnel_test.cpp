// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "rig.h"

namespace chime::test {
namespace {

constexpr unsigned kernel_flags = prm::eth_l3_csum | prm::eth_l3_inner_csum | prm::eth_l4_inner_csum;
constexpr unsigned vxlan = 4789;

unsigned word(const Bytes& frame, std::size_t offset) {
  return static_cast<unsigned>(frame[offset]) << 8 | static_cast<unsigned>(frame[offset + 1]);
}

/// Whether the checksum over `length` bytes of L4 at `l4` is right, with the pseudo header of IPv4 at `l3`.
void expect_right_l4(const Bytes& frame, std::size_t l3, std::size_t l4, unsigned protocol) {
  const std::size_t length = frame.size() - l4;
  EXPECT_EQ(naive_sum(&frame[l4], length,
                      naive_sum(&frame[l3 + 12], 8) + protocol + static_cast<std::uint32_t>(length)),
            0xffff);
}

class Tunnel : public ::testing::Test {
 protected:
  Tunnel() : cq(rig.make_cq(6)), sq(rig.make_sq(6, cq)) {}

  std::vector<Bytes> send(const Bytes& header, const Bytes& payload, unsigned mss, unsigned flags) {
    sq.post({{.in_line = payload}}, {.inline_header = header,
                                     .cs_flags = flags,
                                     .mss = mss,
                                     .opcode = mss ? prm::wqe_opcode::lso : prm::wqe_opcode::send});
    rig.wire.sent.clear();
    rig.ring(sq);
    rig.run();
    return rig.wire.sent;
  }

  static Bytes pattern(std::size_t length) { return FrameBuilder().fill(length, 3, 11).bytes(); }

  Rig rig;
  CompletionQueue cq;
  SendQueue sq;
};

/// Ethernet 14, IPv4 20, UDP 8, VXLAN 8, Ethernet 14, IPv4 20, TCP 20
Bytes in_vxlan(std::size_t payload, unsigned port) {
  return FrameBuilder()
      .ethernet(0x0800)
      .ipv4(17, 70 + payload)
      .udp(62 + payload, 1000, port)
      .hex("08000000 00002a00")
      .ethernet(0x0800)
      .ipv4(6, 20 + payload)
      .tcp(0x18)
      .bytes();
}

TEST_F(Tunnel, LargeSendInVxlan) {
  const Bytes header = in_vxlan(0, vxlan);
  ASSERT_EQ(header.size(), 104u);
  const Bytes payload = pattern(250);
  const auto frames = send(header, payload, 100, kernel_flags);
  ASSERT_EQ(frames.size(), 3u);
  for (unsigned i = 0; i < 3; ++i) {
    const Bytes& frame = frames[i];
    const unsigned bytes = i < 2 ? 100 : 50;
    ASSERT_EQ(frame.size(), 104 + bytes);
    EXPECT_EQ(word(frame, 16), 90 + bytes) << "outer IP";
    EXPECT_EQ(word(frame, 18), word(header, 18) + i);
    EXPECT_EQ(naive_sum(&frame[14], 20), 0xffff);
    EXPECT_EQ(word(frame, 38), 70 + bytes) << "outer UDP";
    EXPECT_EQ(word(frame, 40), word(header, 40)) << "its checksum is software's";
    EXPECT_EQ(word(frame, 66), 40 + bytes) << "inner IP";
    EXPECT_EQ(word(frame, 68), word(header, 68) + i);
    EXPECT_EQ(naive_sum(&frame[64], 20), 0xffff);
    EXPECT_EQ(word(frame, 90), word(header, 90) + 100 * i) << "sequence";
    EXPECT_EQ(word(frame, 96) & 0xff, i < 2 ? 0x10u : 0x18u) << "PSH";
    expect_right_l4(frame, 64, 84, 6);
  }
}

/// Ethernet 14, IPv4 20, GRE with a key 8, IPv6 40, UDP 8
TEST_F(Tunnel, LargeSendInGre) {
  const Bytes header =
      FrameBuilder().ethernet(0x0800).ipv4(47, 56).hex("2000 86dd 00000001").ipv6(17, 8).udp(0).bytes();
  const auto frames = send(header, pattern(120), 60, kernel_flags);
  ASSERT_EQ(frames.size(), 2u);
  for (const Bytes& frame : frames) {
    ASSERT_EQ(frame.size(), 150u);
    EXPECT_EQ(word(frame, 16), 136u);
    EXPECT_EQ(word(frame, 46), 68u);
    EXPECT_EQ(word(frame, 86), 68u);
    EXPECT_EQ(naive_sum(&frame[82], 68, naive_sum(&frame[50], 32) + 17 + 68), 0xffff);
  }
}

TEST_F(Tunnel, LargeSendOfIpInIp) {
  const Bytes header = FrameBuilder().ethernet(0x0800).ipv4(4, 40).ipv4(6, 20).tcp().bytes();
  const auto frames = send(header, pattern(90), 60, kernel_flags);
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(word(frames[1], 16), 90u);
  EXPECT_EQ(word(frames[1], 36), 70u);
  expect_right_l4(frames[1], 34, 54, 6);
}

TEST_F(Tunnel, ChecksumsOfBothDatagrams) {
  const auto frames = send(in_vxlan(40, vxlan), pattern(40), 0, kernel_flags | prm::eth_l4_csum);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(naive_sum(&frames[0][64], 20), 0xffff);
  expect_right_l4(frames[0], 64, 84, 6);
  expect_right_l4(frames[0], 14, 34, 17);
}

/// What is no tunnel has one datagram, and both kinds of bits mean it.
TEST_F(Tunnel, AnotherPortIsNone) {
  const Bytes header = in_vxlan(40, 4790), payload = pattern(40);
  auto frames = send(header, payload, 0, prm::eth_l4_inner_csum);
  ASSERT_EQ(frames.size(), 1u);
  expect_right_l4(frames[0], 14, 34, 17);
  EXPECT_EQ(word(frames[0], 100), word(header, 100)) << "the inner TCP checksum is payload";

  ASSERT_TRUE(rig.card->port.vxlan_ports.add(4790));
  frames = send(header, payload, 0, prm::eth_l4_inner_csum);
  expect_right_l4(frames[0], 64, 84, 6);

  ASSERT_TRUE(rig.card->port.vxlan_ports.remove(4790));
  frames = send(header, payload, 0, prm::eth_l4_inner_csum);
  expect_right_l4(frames[0], 14, 34, 17);
}

TEST_F(Tunnel, CutHeadersAreNone) {
  // GRE that says it has a key, and an inner header beyond the datagram.
  const Bytes gre = FrameBuilder().ethernet(0x0800).ipv4(47, 4).hex("2000 0800").bytes();
  EXPECT_EQ(send(gre, pattern(40), 0, kernel_flags).size(), 1u);
  const Bytes short_vxlan =
      FrameBuilder().ethernet(0x0800).ipv4(17, 12).udp(4, 1, vxlan).hex("08000000").bytes();
  EXPECT_EQ(send(short_vxlan, pattern(40), 0, kernel_flags).size(), 1u);
}

}  // namespace
}  // namespace chime::test
