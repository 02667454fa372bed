// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "rig.h"

namespace chime::test {
namespace {

class MultiPacket : public ::testing::Test {
 protected:
  MultiPacket() : cq(rig.make_cq(6)), sq(rig.make_sq(6, cq)) { offer(true); }

  void offer(bool there, bool first_form = true) {
    using E = prm::per_protocol_networking_offload_caps;
    constexpr auto type = static_cast<unsigned>(prm::hca_cap_type::ethernet_offloads);
    ASSERT_TRUE(rig.card->capabilities.add(type));
    prm::View<E>(rig.card->capabilities.current(type))
        .set(E::enhanced_multi_pkt_send_wqe, there)
        .set(E::multi_pkt_send_wqe, first_form);
  }

  void send(const std::vector<Data>& packets, SendOptions options = {}) {
    options.opcode = prm::wqe_opcode::enhanced_mpsw;
    options.ce = prm::wqe_ce::always;
    sq.post(packets, options);
    rig.ring(sq);
    rig.run();
  }

  /// Of the first form.
  void send_equal(const std::vector<Data>& packets, unsigned length, SendOptions options = {}) {
    options.opcode = prm::wqe_opcode::lso;
    options.opmod = prm::lso_multi_packet;
    options.mss = length;
    options.ce = prm::wqe_ce::always;
    sq.post(packets, options);
    rig.ring(sq);
    rig.run();
  }

  Rig rig;
  CompletionQueue cq;
  SendQueue sq;
};

TEST_F(MultiPacket, EachSegmentIsAPacket) {
  std::vector<Bytes> frames;
  for (unsigned i = 0; i < 20; ++i) frames.push_back(udp4_frame(60 + i * 70, i));
  std::vector<Data> packets;
  for (const Bytes& frame : frames) packets.push_back(pointer(rig, frame));
  packets[7] = {.in_line = frames[7] = udp4_frame(100)};
  send(packets);
  EXPECT_EQ(rig.wire.sent, frames);
  prm::Cqe cqe;
  ASSERT_TRUE(cq.poll(cqe));
  EXPECT_EQ(cqe.sop_drop_qpn >> 24, 0x29u);
  EXPECT_FALSE(cq.poll(cqe));
}

TEST_F(MultiPacket, AsManyAsARequestHasAtEveryOffsetOfTheRing) {
  for (unsigned offset = 0; offset < 66; ++offset) {
    std::vector<Data> packets;
    std::vector<Bytes> frames;
    for (unsigned i = 0; i < 61; ++i) frames.push_back(udp4_frame(64, i + offset));
    for (const Bytes& frame : frames) packets.push_back(pointer(rig, frame));
    rig.wire.sent.clear();
    send(packets);
    ASSERT_EQ(rig.wire.sent, frames) << offset;
    prm::Cqe cqe;
    ASSERT_TRUE(cq.poll(cqe));
    cq.publish();
  }
}

TEST_F(MultiPacket, OffloadsHoldForEachPacket) {
  Bytes frame = udp4_frame(100);
  const Bytes right = frame;
  frame[24] = frame[25] = frame[40] = frame[41] = std::byte{0};
  const Data packet = pointer(rig, frame);
  send({packet, packet}, {.cs_flags = prm::eth_l3_csum | prm::eth_l4_csum});
  ASSERT_EQ(rig.wire.sent.size(), 2u);
  EXPECT_EQ(rig.wire.sent[0], right);
  EXPECT_EQ(rig.wire.sent[1], right);
}

TEST_F(MultiPacket, ACardWithoutThemRefuses) {
  offer(false);
  send({pointer(rig, udp4_frame(64))});
  EXPECT_EQ(cq.poll_error().syndrome, static_cast<unsigned>(prm::cqe_syndrome::local_qp_operation));
  EXPECT_EQ(rig.diagnostics.count("wqe.multi-packet"), 1u);
}

TEST_F(MultiPacket, AnInlineHeaderIsAnError) {
  send({pointer(rig, udp4_frame(64))}, {.inline_header = Bytes(18)});
  EXPECT_EQ(rig.diagnostics.count("wqe.inline-header"), 1u);
}

TEST_F(MultiPacket, EqualPacketsByPointers) {
  std::vector<Bytes> frames;
  for (unsigned i = 0; i < 5; ++i) frames.push_back(udp4_frame(200, i));
  std::vector<Data> packets;
  for (const Bytes& frame : frames) packets.push_back(pointer(rig, frame));
  send_equal(packets, 200);
  EXPECT_EQ(rig.wire.sent, frames);
  prm::Cqe cqe;
  ASSERT_TRUE(cq.poll(cqe));
  EXPECT_EQ(cqe.sop_drop_qpn >> 24, 0x0eu);
}

TEST_F(MultiPacket, EqualPacketsInOneInlineSegment) {
  Bytes all;
  std::vector<Bytes> frames;
  for (unsigned i = 0; i < 6; ++i) {
    frames.push_back(udp4_frame(70, i));
    all.insert(all.end(), frames.back().begin(), frames.back().end());
  }
  send_equal({{.in_line = all}}, 70);
  EXPECT_EQ(rig.wire.sent, frames);
}

TEST_F(MultiPacket, UnequalPacketsOfTheFirstFormAreAnError) {
  send_equal({pointer(rig, udp4_frame(64)), pointer(rig, udp4_frame(65))}, 64);
  EXPECT_EQ(cq.poll_error().syndrome, static_cast<unsigned>(prm::cqe_syndrome::local_length));
  EXPECT_EQ(rig.diagnostics.count("wqe.unequal-packets"), 1u);
}

TEST_F(MultiPacket, AnInlineSegmentHoldsWholePackets) {
  send_equal({{.in_line = udp4_frame(100)}}, 64);
  EXPECT_EQ(rig.diagnostics.count("wqe.unequal-packets"), 1u);
}

TEST_F(MultiPacket, EqualPacketsHaveALength) {
  send_equal({{.in_line = udp4_frame(100)}}, 0);
  EXPECT_EQ(rig.diagnostics.count("wqe.unequal-packets"), 1u);
}

TEST_F(MultiPacket, ACardWithoutTheFirstFormRefuses) {
  offer(true, false);
  send_equal({pointer(rig, udp4_frame(64))}, 64);
  EXPECT_EQ(rig.diagnostics.count("wqe.multi-packet"), 1u);
}

}  // namespace
}  // namespace chime::test
