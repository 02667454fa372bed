// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cstring>

#include "rig.h"

namespace chime {
namespace {

using model::QueueState;
using prm::wqe_ce;
using test::Bytes;
using test::CompletionQueue;
using test::Data;
using test::FrameBuilder;
using test::pointer;
using test::Rig;
using test::SendQueue;
using test::TestMemory;

struct Transmit : ::testing::Test {
  Rig rig;
  CompletionQueue cq = rig.make_cq(6);
  SendQueue sq = rig.make_sq(6, cq);

  void ring_and_run() {
    rig.ring(sq);
    rig.run();
  }

  /// The queue's error CQE; the queue is in error, the reason was said.
  prm::ErrorCqe expect_error(const char* rule, prm::cqe_syndrome syndrome) {
    ring_and_run();
    const prm::ErrorCqe error = cq.poll_error();
    EXPECT_EQ(prm::cqe_opcode_of(error.op_own), prm::cqe_opcode::requester_error);
    EXPECT_EQ(error.syndrome, static_cast<std::uint8_t>(syndrome));
    EXPECT_EQ(error.s_wqe_opcode_qpn & 0xffffff, sq.sq->number);
    EXPECT_NE(error.vendor_err_synd, 0);
    EXPECT_EQ(rig.diagnostics.count(rule), 1u) << rule;
    EXPECT_EQ(sq.sq->state, QueueState::error);
    EXPECT_TRUE(rig.wire.sent.empty());
    return error;
  }
};

constexpr auto operation = prm::cqe_syndrome::local_qp_operation;
constexpr auto length = prm::cqe_syndrome::local_length;
constexpr auto protection = prm::cqe_syndrome::local_protection;

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

// ---- errors ----

TEST_F(Transmit, UnknownOperations) {
  sq.post({pointer(rig, test::udp4_frame(64))}, {.opcode = prm::wqe_opcode::rdma_write});
  const prm::ErrorCqe error = expect_error("wqe.opcode", operation);
  EXPECT_EQ(error.s_wqe_opcode_qpn >> 24, 0x08u);
}

TEST_F(Transmit, NothingIsSentWithoutATis) {
  sq.sq->tis = {};
  sq.post({pointer(rig, test::udp4_frame(64))});
  expect_error("wqe.no-tis", operation);
}

TEST_F(Transmit, WrongIndex) {
  sq.post({pointer(rig, test::udp4_frame(64))});
  auto& ctrl = rig.memory.at<prm::WqeCtrl>(sq.ring);
  ctrl.opmod_idx_opcode = prm::wqe_opmod_idx_opcode(0, 3, prm::wqe_opcode::send);
  // The doorbell would disagree with the record.
  sq.write_record();
  rig.hca->replay_records(rig.uar->number);
  rig.run();
  EXPECT_EQ(rig.diagnostics.count("wqe.index"), 1u);
  EXPECT_EQ(cq.poll_error().syndrome, static_cast<std::uint8_t>(operation));
}

TEST_F(Transmit, WrongQueueNumber) {
  sq.post({pointer(rig, test::udp4_frame(64))});
  sq.write_record();
  rig.memory.at<prm::WqeCtrl>(sq.ring).qpn_ds = prm::wqe_qpn_ds(sq.sq->number + 1, sq.last_ds);
  rig.hca->replay_records(rig.uar->number);
  rig.run();
  EXPECT_EQ(rig.diagnostics.count("wqe.queue-number"), 1u);
}

TEST_F(Transmit, RequestLongerThanWhatIsPosted) {
  const Data data = pointer(rig, test::udp4_frame(64));
  sq.post({data, data, data, data});
  EXPECT_EQ(sq.producer, 2);
  sq.producer = 1;
  sq.write_record();
  rig.hca->replay_records(rig.uar->number);
  rig.run();
  EXPECT_EQ(rig.diagnostics.count("wqe.beyond-posted"), 1u);
}

TEST_F(Transmit, RequestWithoutEthernetSegment) {
  sq.post_raw(FrameBuilder()
                  .u32(prm::wqe_opmod_idx_opcode(0, 0, prm::wqe_opcode::send))
                  .u32(prm::wqe_qpn_ds(sq.sq->number, 1))
                  .u32(0)
                  .u32(0)
                  .bytes());
  expect_error("wqe.size", operation);
}

TEST_F(Transmit, InlineHeaderBeyondTheRequest) {
  sq.post({}, {.inline_header = test::udp4_frame(100)});
  rig.memory.at<prm::WqeEth>(sq.ring + 16).inline_hdr_sz = 500;
  expect_error("wqe.inline-header", length);
}

TEST_F(Transmit, InlineDataBeyondTheRequest) {
  const Bytes frame = test::udp4_frame(60);
  sq.post({{.in_line = frame}});
  rig.memory.at<prm::WqeData>(sq.ring + 32).byte_count = 0x80000000 | 77;
  expect_error("wqe.inline-data", length);
}

TEST_F(Transmit, EmptySegment) {
  sq.post({pointer(rig, test::udp4_frame(64)), pointer(rig, TestMemory::base, 0)});
  expect_error("wqe.empty-segment", length);
}

TEST_F(Transmit, TooShortForAFrame) {
  sq.post({pointer(rig, Bytes(13))});
  expect_error("wqe.too-short", length);
}

TEST_F(Transmit, TooLongForAnything) {
  sq.post({pointer(rig, TestMemory::base, 60000), pointer(rig, TestMemory::base, 60000)});
  expect_error("wqe.too-long", length);
}

TEST_F(Transmit, TooLongByAnInlineSegment) {
  const Data all = pointer(rig, TestMemory::base, 0xffff), byte{.in_line = Bytes(1)};
  sq.post({all, byte, all, all});
  expect_error("wqe.too-long", length);
}

TEST_F(Transmit, VlanInsertionOfAnUnknownKind) {
  sq.post({pointer(rig, test::udp4_frame(64))}, {.vlan = 1});
  rig.memory.at<prm::WqeEth>(sq.ring + 16).inline_hdr_sz = 0x8012;
  expect_error("wqe.vlan-insertion", operation);
}

TEST_F(Transmit, SoftwareParserIsRefused) {
  sq.post({pointer(rig, test::udp4_frame(64))});
  rig.memory.at<prm::WqeEth>(sq.ring + 16).swp_flags = 1;
  expect_error("wqe.software-parser", operation);
}

TEST_F(Transmit, InlineModes) {
  const Bytes tcp = FrameBuilder().ethernet(0x0800).ipv4(6, 20 + 40).tcp().fill(40).bytes();
  const struct {
    std::uint8_t mode;
    std::size_t least;
  } cases[] = {{0, 0}, {1, 14}, {2, 34}, {3, 54}};
  for (const auto& c : cases) {
    for (std::size_t n : {std::size_t{0}, std::size_t{13}, std::size_t{14}, std::size_t{33}, std::size_t{34},
                          std::size_t{53}, std::size_t{54}, std::size_t{60}}) {
      Rig one;
      CompletionQueue done = one.make_cq(4);
      SendQueue queue = one.make_sq(4, done);
      queue.sq->min_inline_mode = c.mode;
      const auto cut = static_cast<std::ptrdiff_t>(n);
      queue.post({pointer(one, Bytes(tcp.begin() + cut, tcp.end()))},
                 {.inline_header = Bytes(tcp.begin(), tcp.begin() + cut)});
      one.ring(queue);
      one.run();
      EXPECT_EQ(one.wire.sent.size(), n >= c.least ? 1u : 0u) << int{c.mode} << " " << n;
      EXPECT_EQ(one.diagnostics.count("wqe.inline-mode"), n >= c.least ? 0u : 1u);
    }
  }
}

TEST_F(Transmit, ForeignAndWrongKeys) {
  const Bytes frame = test::udp4_frame(64);
  const Data good = pointer(rig, frame);
  model::Pd other;
  const struct {
    const char* rule;
    void (*spoil)(Rig&, model::Pd&, Data&);
  } cases[] = {
      {"key.unknown", [](Rig&, model::Pd&, Data& d) { d.lkey += 0x100000; }},
      {"key.unknown", [](Rig&, model::Pd&, Data& d) { d.lkey ^= 1; }},
      {"key.pd", [](Rig& r, model::Pd& pd, Data&) { r.key->pd = model::Ref(&pd); }},
      {"key.rights", [](Rig& r, model::Pd&, Data&) { r.key->rights = model::local_write; }},
      {"key.bounds", [](Rig& r, model::Pd&, Data& d) { r.key->length = d.address - TestMemory::base + 63; }},
      {"key.bounds", [](Rig&, model::Pd&, Data& d) { d.address = 0x1000; }},
      {"key.free", [](Rig& r, model::Pd&, Data&) { r.key->is_free = true; }},
      {"key.memory", [](Rig& r, model::Pd&, Data& d) { r.memory.take_away(d.address, 64); }},
  };
  for (const auto& c : cases) {
    Rig one;
    CompletionQueue done = one.make_cq(4);
    SendQueue queue = one.make_sq(4, done);
    one.memory.allocate(0, TestMemory::page);
    Data data = pointer(one, frame);
    c.spoil(one, other, data);
    queue.post({data});
    one.ring(queue);
    one.run();
    EXPECT_EQ(one.diagnostics.count(c.rule), 1u) << c.rule;
    EXPECT_EQ(done.poll_error().syndrome, static_cast<std::uint8_t>(protection));
    EXPECT_EQ(queue.sq->state, QueueState::error);
    EXPECT_TRUE(one.wire.sent.empty());
    one.key->pd.reset();
  }
}

TEST_F(Transmit, ReservedKey) {
  const Bytes frame = test::udp4_frame(64);
  Data data = pointer(rig, frame);
  data.lkey = rig.card->reserved_lkey;
  sq.sq->reserved_lkey = true;
  sq.post({data});
  ring_and_run();
  ASSERT_EQ(rig.wire.sent.size(), 1u);
  EXPECT_EQ(rig.wire.sent[0], frame);
  sq.sq->reserved_lkey = false;
  sq.post({data});
  ring_and_run();
  EXPECT_EQ(rig.diagnostics.count("key.unknown"), 1u);
}

TEST_F(Transmit, WhatCameBeforeTheErrorIsSentAndWhatComesAfterIsFlushed) {
  sq.sq->flush_in_error = true;
  const Data good = pointer(rig, test::udp4_frame(64));
  Data bad = good;
  bad.lkey ^= 1;
  sq.post({good}, {.ce = wqe_ce::always});
  sq.post({bad});
  sq.post({good}, {.ce = wqe_ce::always});
  sq.post({good}, {.ce = wqe_ce::on_first_error});
  sq.post({good}, {.ce = wqe_ce::on_error});
  ring_and_run();
  EXPECT_EQ(rig.wire.sent.size(), 1u);
  prm::Cqe cqe;
  ASSERT_TRUE(cq.poll(cqe));
  EXPECT_EQ(prm::cqe_opcode_of(cqe.op_own), prm::cqe_opcode::requester);
  prm::ErrorCqe error = cq.poll_error();
  EXPECT_EQ(error.wqe_counter, 1);
  EXPECT_EQ(error.syndrome, static_cast<std::uint8_t>(protection));
  for (unsigned counter : {2u, 4u}) {  // "first error" is silent about the rest
    error = cq.poll_error();
    EXPECT_EQ(error.wqe_counter, counter);
    EXPECT_EQ(error.syndrome, static_cast<std::uint8_t>(prm::cqe_syndrome::flushed));
  }
  EXPECT_FALSE(cq.poll(cqe));
  // What is rung from here on is flushed too.
  sq.post({good});
  ring_and_run();
  EXPECT_EQ(cq.poll_error().wqe_counter, 5);
  EXPECT_EQ(rig.wire.sent.size(), 1u);
}

TEST_F(Transmit, WithoutFlushWhatComesAfterTheErrorIsKept) {
  Data bad = pointer(rig, test::udp4_frame(64));
  const Data good = bad;
  bad.lkey ^= 1;
  sq.post({bad});
  sq.post({good}, {.ce = wqe_ce::always});
  ring_and_run();
  cq.poll_error();
  prm::Cqe cqe;
  EXPECT_FALSE(cq.poll(cqe));
  // Reset and ready: the queue begins at 0 again and works.
  sq.sq->state = QueueState::reset;
  rig.card->engine->state_changed(*sq.sq, QueueState::error);
  sq.sq->state = QueueState::ready;
  rig.card->engine->state_changed(*sq.sq, QueueState::reset);
  sq.producer = 0;
  sq.post({good}, {.ce = wqe_ce::always});
  ring_and_run();
  ASSERT_TRUE(cq.poll(cqe));
  EXPECT_EQ(cqe.wqe_counter, 0);
  EXPECT_EQ(rig.wire.sent.size(), 1u);
}

TEST_F(Transmit, ACommandThatPutsTheQueueInErrorFlushes) {
  sq.sq->flush_in_error = true;
  sq.post({pointer(rig, test::udp4_frame(64))});
  rig.ring(sq);
  sq.sq->state = QueueState::error;
  rig.card->engine->state_changed(*sq.sq, QueueState::ready);
  rig.run();
  EXPECT_EQ(cq.poll_error().syndrome, static_cast<std::uint8_t>(prm::cqe_syndrome::flushed));
  EXPECT_TRUE(rig.wire.sent.empty());
}

TEST_F(Transmit, CompletionQueueOverflowPutsTheQueueInError) {
  CompletionQueue small = rig.make_cq(1);
  SendQueue queue = rig.make_sq(6, small);
  const Data data = pointer(rig, test::udp4_frame(64));
  for (int i = 0; i < 5; ++i) queue.post({data}, {.ce = wqe_ce::always});
  rig.ring(queue);
  rig.run();
  EXPECT_EQ(small.cq->state, model::Cq::State::overflow);
  EXPECT_EQ(queue.sq->state, QueueState::error);
  EXPECT_EQ(rig.diagnostics.count("cq.overflow"), 1u);
  prm::Cqe cqe;
  EXPECT_TRUE(small.poll(cqe));
  EXPECT_TRUE(small.poll(cqe));
  EXPECT_FALSE(small.poll(cqe));
}

// ---- doorbells ----

TEST_F(Transmit, DoorbellBeforeRecord) {
  sq.post({pointer(rig, test::udp4_frame(64))});
  rig.hca->doorbell(rig.uar->number, prm::uar_blueflame, sq.doorbell());
  rig.run();
  EXPECT_TRUE(rig.wire.sent.empty());
  EXPECT_EQ(rig.diagnostics.count("doorbell.ahead-of-record"), 1u);
  ring_and_run();
  EXPECT_EQ(rig.wire.sent.size(), 1u);
}

TEST_F(Transmit, DoorbellOfAnotherRequestThanTheLast) {
  const Data data = pointer(rig, test::udp4_frame(64));
  sq.post({data});
  const std::uint64_t first = sq.doorbell();
  sq.post({data});
  sq.write_record();
  rig.hca->doorbell(rig.uar->number, prm::uar_blueflame, first);
  rig.run();
  EXPECT_EQ(rig.wire.sent.size(), 2u);
  sq.post({data});
  ring_and_run();
  EXPECT_EQ(rig.diagnostics.count("doorbell.behind-record"), 1u);
}

TEST_F(Transmit, DoorbellsThatAreDrainedLateAreNoFault) {
  const Data data = pointer(rig, test::udp4_frame(64));
  std::vector<std::uint64_t> stores;
  for (int i = 0; i < 5; ++i) {
    sq.post({data});
    sq.post({data});
    sq.write_record();
    stores.push_back(sq.doorbell());
  }
  for (std::uint64_t store : stores) rig.hca->doorbell(rig.uar->number, prm::uar_blueflame, store);
  rig.run();
  EXPECT_EQ(rig.wire.sent.size(), 10u);
  EXPECT_TRUE(rig.diagnostics.rules.empty());
}

TEST_F(Transmit, MorePostedThanTheRingHolds) {
  test::EventQueue eq = rig.make_eq(3, 1u << 5);
  sq.post({pointer(rig, test::udp4_frame(64))});
  rig.memory.at<prm::WqRecord>(sq.record).send = 65;
  rig.hca->doorbell(rig.uar->number, prm::uar_blueflame, sq.doorbell());
  rig.run();
  EXPECT_EQ(rig.diagnostics.count("doorbell.overrun"), 1u);
  EXPECT_EQ(sq.sq->state, QueueState::error);
  prm::Eqe eqe;
  ASSERT_TRUE(eq.poll(eqe));
  EXPECT_EQ(eqe.type, 0x05);
  EXPECT_EQ(eqe.data[6], sq.sq->number);
}

TEST_F(Transmit, DoorbellsThatMeanNothing) {
  sq.post({pointer(rig, test::udp4_frame(64))});
  sq.write_record();
  model::Uar* other = *rig.card->uars.insert(std::make_unique<model::Uar>());
  rig.hca->doorbell(other->number, prm::uar_blueflame, sq.doorbell());
  EXPECT_EQ(rig.diagnostics.count("doorbell.foreign-uar"), 1u);
  rig.hca->doorbell(rig.uar->number, prm::uar_blueflame, prm::host_to_be(std::uint64_t{0xffffff04}));
  EXPECT_EQ(rig.diagnostics.count("doorbell.unknown-queue"), 1u);
  sq.sq->state = QueueState::reset;
  rig.hca->doorbell(rig.uar->number, prm::uar_blueflame, sq.doorbell());
  EXPECT_EQ(rig.diagnostics.count("doorbell.queue-state"), 1u);
  rig.run();
  EXPECT_TRUE(rig.wire.sent.empty());
}

TEST_F(Transmit, ReplayFindsWhatNoDoorbellAnnounced) {
  sq.post({pointer(rig, test::udp4_frame(64))});
  sq.write_record();
  rig.hca->replay_records(rig.uar->number);
  rig.run();
  EXPECT_EQ(rig.wire.sent.size(), 1u);
}

TEST_F(Transmit, MemoryOfTheQueueIsTakenAway) {
  sq.post({pointer(rig, test::udp4_frame(64))});
  rig.ring(sq);
  rig.memory.take_away(sq.ring, 4096);
  rig.run();
  EXPECT_EQ(rig.diagnostics.count("wqe.memory"), 1u);
  EXPECT_EQ(sq.sq->state, QueueState::error);
}

}  // namespace
}  // namespace chime
