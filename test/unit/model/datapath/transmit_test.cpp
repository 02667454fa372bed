// SPDX-License-Identifier: BSD-3-Clause
// Send requests: what goes out, and what is completed.
#include <gtest/gtest.h>

#include <cstring>

#include "transmit_fixture.h"

namespace chime {
namespace {

using prm::wqe_ce;
using test::Bytes;
using test::Data;
using test::FrameBuilder;
using test::pointer;
using test::SendQueue;

struct Transmit : test::TransmitFixture {};

TEST_F(Transmit, OnePointerSegment) {
  const Bytes frame = test::udp4_frame(100);
  sq.post({pointer(rig, frame)}, {.ce = wqe_ce::always});
  ring_and_run();
  ASSERT_EQ(rig.wire.sent.size(), 1u);
  EXPECT_EQ(rig.wire.sent[0], frame);
  prm::Cqe cqe;
  ASSERT_TRUE(cq.poll(cqe));
  EXPECT_EQ(prm::cqe_opcode_of(cqe.op_own), prm::cqe_opcode::requester);
  EXPECT_EQ(cqe.sop_drop_qpn, 0x0au << 24 | sq.sq->number);
  EXPECT_EQ(cqe.wqe_counter, 0);
  EXPECT_EQ(cqe.srqn, 0x77u);
  EXPECT_NE(cqe.timestamp, 0u);
  EXPECT_FALSE(cq.poll(cqe));
  EXPECT_EQ(rig.card->vport.transmitted.unicast.packets, 1u);
  EXPECT_EQ(rig.card->vport.transmitted.unicast.octets, 100u);
  EXPECT_EQ(rig.card->port.transmitted.unicast.octets, 104u);
  EXPECT_TRUE(rig.diagnostics.rules.empty());
}

TEST_F(Transmit, EverySizeOfInlineHeader) {
  for (std::size_t n = 0; n <= 120; ++n) {
    const Bytes frame = test::udp4_frame(150, static_cast<unsigned>(n));
    const auto cut = static_cast<std::ptrdiff_t>(n);
    sq.post({pointer(rig, Bytes(frame.begin() + cut, frame.end()))},
            {.inline_header = Bytes(frame.begin(), frame.begin() + cut)});
    ring_and_run();
    ASSERT_EQ(rig.wire.sent.size(), n + 1);
    ASSERT_EQ(rig.wire.sent.back(), frame) << n;
  }
}

TEST_F(Transmit, InlineAndPointerSegmentsMixed) {
  const Bytes frame = test::udp4_frame(300);
  const auto part = [&](int from, int to) { return Bytes(frame.begin() + from, frame.begin() + to); };
  sq.post({pointer(rig, part(18, 40)),
           {.in_line = part(40, 141)},
           pointer(rig, part(141, 142)),
           {.in_line = part(142, 154)},
           pointer(rig, part(154, 300))},
          {.inline_header = part(0, 18)});
  ring_and_run();
  ASSERT_EQ(rig.wire.sent.size(), 1u);
  EXPECT_EQ(rig.wire.sent[0], frame);
}

TEST_F(Transmit, LongestRequestAtEveryOffsetOfTheRing) {
  // 58 pointer segments of a few bytes and an inline header: ds 62, 16 blocks of the ring's 64.
  for (unsigned offset = 0; offset < 70; ++offset) {
    const Bytes frame = test::udp4_frame(18 + 58 * 3, offset);
    std::vector<Data> segments;
    const std::uint64_t at = rig.memory.allocate(frame.size());
    rig.memory.write(at, frame);
    for (unsigned i = 0; i < 58; ++i) segments.push_back(pointer(rig, at + 18 + i * 3, 3));
    sq.post(segments, {.inline_header = Bytes(frame.begin(), frame.begin() + 18), .ce = wqe_ce::always});
    EXPECT_EQ(sq.last_ds, 61u);
    ring_and_run();
    ASSERT_EQ(rig.wire.sent.size(), offset + 1);
    ASSERT_EQ(rig.wire.sent.back(), frame) << offset;
    prm::Cqe cqe;
    ASSERT_TRUE(cq.poll(cqe));
    EXPECT_EQ(cqe.wqe_counter, sq.last);
    cq.publish();
    // One small request moves the next by a block.
    sq.post({pointer(rig, at, 60)});
    ring_and_run();
    rig.wire.sent.pop_back();
  }
  EXPECT_GT(sq.producer, 64 * 10);
}

TEST_F(Transmit, InlineDataWrapsTheRing) {
  for (unsigned i = 0; i < 40; ++i) {
    const Bytes frame = test::udp4_frame(60 + i * 17, i);
    sq.post({{.in_line = Bytes(frame.begin() + 18, frame.end())}},
            {.inline_header = Bytes(frame.begin(), frame.begin() + 18)});
    ring_and_run();
    ASSERT_EQ(rig.wire.sent.back(), frame) << i;
  }
}

TEST_F(Transmit, WorksWhereNoTwoPagesAreNeighbours) {
  rig.memory.scatter();
  SendQueue big = rig.make_sq(8, cq);  // four pages
  for (unsigned i = 0; i < 300; ++i) {
    const Bytes frame = test::udp4_frame(5000, i);
    const std::uint64_t at = rig.memory.allocate(frame.size(), 8);
    rig.memory.write(at, frame);
    big.post({pointer(rig, at + 18, 3000), pointer(rig, at + 3018, frame.size() - 3018)},
             {.inline_header = Bytes(frame.begin(), frame.begin() + 18)});
    rig.ring(big);
    rig.run();
    ASSERT_EQ(rig.wire.sent.size(), i + 1);
    ASSERT_EQ(rig.wire.sent.back(), frame);
  }
}

TEST_F(Transmit, ABatchADoorbell) {
  const Data data = pointer(rig, test::udp4_frame(64));
  for (unsigned i = 0; i < 40; ++i) {
    sq.post({data}, {.ce = i % 8 == 7 ? wqe_ce::always : wqe_ce::on_first_error});
  }
  ring_and_run();
  EXPECT_EQ(rig.wire.batches, std::vector<std::size_t>{40});
  prm::Cqe cqe;
  for (unsigned i = 7; i < 40; i += 8) {
    ASSERT_TRUE(cq.poll(cqe));
    EXPECT_EQ(cqe.wqe_counter, i);
  }
  EXPECT_FALSE(cq.poll(cqe));
}

TEST_F(Transmit, NopCompletesInOrder) {
  sq.post({pointer(rig, test::udp4_frame(64))}, {.ce = wqe_ce::always});
  const std::uint16_t index = sq.producer;
  sq.post_raw(FrameBuilder()
                  .u32(prm::wqe_opmod_idx_opcode(0, index, prm::wqe_opcode::nop))
                  .u32(prm::wqe_qpn_ds(sq.sq->number, 1))
                  .u32(0x08)
                  .u32(0)
                  .bytes());
  ring_and_run();
  prm::Cqe cqe;
  ASSERT_TRUE(cq.poll(cqe));
  EXPECT_EQ(cqe.sop_drop_qpn >> 24, 0x0au);
  ASSERT_TRUE(cq.poll(cqe));
  EXPECT_EQ(cqe.sop_drop_qpn >> 24, 0u);
  EXPECT_EQ(cqe.wqe_counter, index);
  EXPECT_EQ(rig.wire.sent.size(), 1u);
}

TEST_F(Transmit, ChecksumsByFlags) {
  const Bytes good = test::udp4_frame(200);
  Bytes bad = good;
  bad[24] = bad[25] = bad[40] = bad[41] = std::byte{0x11};
  for (unsigned flags : {0x00u, 0x40u, 0x80u, 0xc0u, 0x10u, 0x20u, 0x30u}) {
    const bool l3 = (flags & 0x50) != 0, l4 = (flags & 0xa0) != 0;
    sq.post({pointer(rig, Bytes(bad.begin() + 18, bad.end()))},
            {.inline_header = Bytes(bad.begin(), bad.begin() + 18), .cs_flags = flags});
    ring_and_run();
    Bytes expected = bad;
    if (l3) std::copy(good.begin() + 24, good.begin() + 26, expected.begin() + 24);
    if (l4) std::copy(good.begin() + 40, good.begin() + 42, expected.begin() + 40);
    EXPECT_EQ(rig.wire.sent.back(), expected) << flags;
  }
  // Host memory is read, never written.
  EXPECT_TRUE(rig.diagnostics.rules.empty());
}

TEST_F(Transmit, ChecksumOfAFrameInSmallPieces) {
  const Bytes good = test::udp4_frame(400);
  Bytes bad = good;
  bad[40] = std::byte{0x11};
  const std::uint64_t at = rig.memory.allocate(bad.size());
  rig.memory.write(at, bad);
  std::vector<Data> pieces;
  for (std::size_t i = 0; i < 400; i += 25) pieces.push_back(pointer(rig, at + i, 25));
  sq.post(pieces, {.cs_flags = 0xc0});
  ring_and_run();
  EXPECT_EQ(rig.wire.sent.back(), good);
  EXPECT_EQ(rig.memory.read(at, bad.size()), bad);
}

TEST_F(Transmit, ChecksumBehindLongExtensionHeaders) {
  FrameBuilder b;
  b.ethernet(0x86dd).ipv6(60, 152 + 8 + 32).u8(17).u8(18).fill(150).udp(32).fill(32);
  sq.post({pointer(rig, b.bytes())}, {.cs_flags = 0x80});
  ring_and_run();
  const Bytes& out = rig.wire.sent.back();
  const std::size_t udp = 14 + 40 + 152;
  const std::uint32_t pseudo = test::naive_sum(out.data() + 22, 32, 17 + 40);
  EXPECT_EQ(test::naive_sum(out.data() + udp, 40, pseudo), 0xffff);
}

TEST_F(Transmit, VlanInsertion) {
  const Bytes frame = test::udp4_frame(64);
  for (bool svlan : {false, true}) {
    sq.post({pointer(rig, frame)}, {.cs_flags = 0xc0, .vlan = 0x6123, .svlan = svlan});
    ring_and_run();
    Bytes expected(frame.begin(), frame.begin() + 12);
    const Bytes tag = FrameBuilder().u16(svlan ? 0x88a8 : 0x8100).u16(0x6123).bytes();
    expected.insert(expected.end(), tag.begin(), tag.end());
    expected.insert(expected.end(), frame.begin() + 12, frame.end());
    EXPECT_EQ(rig.wire.sent.back(), expected);
  }
}

TEST_F(Transmit, ShortFramesArePadded) {
  for (std::size_t n : {14u, 42u, 59u}) {
    const Bytes frame = n < 42 ? FrameBuilder().ethernet(0x88b5).bytes() : test::udp4_frame(n);
    for (int vlan : {-1, 5}) {
      for (unsigned flags : {0x00u, 0xc0u}) {
        sq.post({pointer(rig, frame)}, {.cs_flags = flags, .vlan = vlan});
        ring_and_run();
        EXPECT_EQ(rig.wire.sent.back().size(), std::max<std::size_t>(60, n + (vlan < 0 ? 0 : 4)));
      }
    }
  }
}

TEST_F(Transmit, CountsByDestination) {
  Bytes frame = test::udp4_frame(64);
  frame[0] = std::byte{0x01};
  sq.post({pointer(rig, frame)});
  for (int i = 0; i < 6; ++i) frame[static_cast<std::size_t>(i)] = std::byte{0xff};
  sq.post({pointer(rig, Bytes(frame.begin() + 3, frame.end()))},
          {.inline_header = Bytes(frame.begin(), frame.begin() + 3)});
  ring_and_run();
  EXPECT_EQ(rig.card->vport.transmitted.multicast.packets, 1u);
  EXPECT_EQ(rig.card->vport.transmitted.broadcast.packets, 1u);
  EXPECT_EQ(rig.card->port.transmitted.broadcast.octets, 68u);
}

TEST_F(Transmit, TooLongForThePortIsDroppedAndCounted) {
  rig.card->port.admin_mtu = 1518;
  sq.post({pointer(rig, test::udp4_frame(1518))}, {.ce = wqe_ce::always});
  sq.post({pointer(rig, test::udp4_frame(1519))}, {.ce = wqe_ce::always});
  sq.post({pointer(rig, test::udp4_frame(64))}, {.ce = wqe_ce::always});
  ring_and_run();
  EXPECT_EQ(rig.wire.sent.size(), 2u);
  EXPECT_EQ(rig.card->port.transmit_discarded, 1u);
  EXPECT_EQ(rig.diagnostics.count("port.frame-too-long"), 1u);
  prm::Cqe cqe;
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(cq.poll(cqe));
}

TEST_F(Transmit, LinkDownDropsAndCompletes) {
  rig.wire.set_up(false);
  sq.post({pointer(rig, test::udp4_frame(64))}, {.ce = wqe_ce::always});
  ring_and_run();
  EXPECT_TRUE(rig.wire.sent.empty());
  EXPECT_EQ(rig.card->port.transmit_discarded, 1u);
  prm::Cqe cqe;
  EXPECT_TRUE(cq.poll(cqe));
  rig.wire.set_up(true);
  sq.post({pointer(rig, test::udp4_frame(64))});
  ring_and_run();
  EXPECT_EQ(rig.wire.sent.size(), 1u);
}

TEST_F(Transmit, TurnsAmongQueues) {
  SendQueue other = rig.make_sq(9, cq), many = rig.make_sq(9, cq);
  const Data data = pointer(rig, test::udp4_frame(64, 1)), another = pointer(rig, test::udp4_frame(64, 2));
  for (unsigned i = 0; i < 400; ++i) many.post({data});
  for (unsigned i = 0; i < 10; ++i) other.post({another});
  rig.ring(many);
  rig.ring(other);
  EXPECT_NE(rig.hca->step(), 0u);
  // The second is served before the first is done.
  EXPECT_EQ(other.sq->fetched, 10);
  EXPECT_LT(many.sq->fetched, 400);
  rig.run();
  EXPECT_EQ(rig.wire.sent.size(), 410u);
}

}  // namespace
}  // namespace chime
