// SPDX-License-Identifier: BSD-3-Clause
// Send requests and doorbells that are wrong.
#include <gtest/gtest.h>

#include <cstring>

#include "transmit_fixture.h"

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

constexpr auto operation = prm::cqe_syndrome::local_qp_operation;
constexpr auto length = prm::cqe_syndrome::local_length;
constexpr auto protection = prm::cqe_syndrome::local_protection;

struct TransmitFaults : test::TransmitFixture {};

TEST_F(TransmitFaults, UnknownOperations) {
  sq.post({pointer(rig, test::udp4_frame(64))}, {.opcode = prm::wqe_opcode::rdma_write});
  const prm::ErrorCqe error = expect_error("wqe.opcode", operation);
  EXPECT_EQ(error.s_wqe_opcode_qpn >> 24, 0x08u);
}

TEST_F(TransmitFaults, NothingIsSentWithoutATis) {
  sq.sq->tis = {};
  sq.post({pointer(rig, test::udp4_frame(64))});
  expect_error("wqe.no-tis", operation);
}

TEST_F(TransmitFaults, WrongIndex) {
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

TEST_F(TransmitFaults, WrongQueueNumber) {
  sq.post({pointer(rig, test::udp4_frame(64))});
  sq.write_record();
  rig.memory.at<prm::WqeCtrl>(sq.ring).qpn_ds = prm::wqe_qpn_ds(sq.sq->number + 1, sq.last_ds);
  rig.hca->replay_records(rig.uar->number);
  rig.run();
  EXPECT_EQ(rig.diagnostics.count("wqe.queue-number"), 1u);
}

TEST_F(TransmitFaults, RequestLongerThanWhatIsPosted) {
  const Data data = pointer(rig, test::udp4_frame(64));
  sq.post({data, data, data, data});
  EXPECT_EQ(sq.producer, 2);
  sq.producer = 1;
  sq.write_record();
  rig.hca->replay_records(rig.uar->number);
  rig.run();
  EXPECT_EQ(rig.diagnostics.count("wqe.beyond-posted"), 1u);
}

TEST_F(TransmitFaults, RequestWithoutEthernetSegment) {
  sq.post_raw(FrameBuilder()
                  .u32(prm::wqe_opmod_idx_opcode(0, 0, prm::wqe_opcode::send))
                  .u32(prm::wqe_qpn_ds(sq.sq->number, 1))
                  .u32(0)
                  .u32(0)
                  .bytes());
  expect_error("wqe.size", operation);
}

TEST_F(TransmitFaults, InlineHeaderBeyondTheRequest) {
  sq.post({}, {.inline_header = test::udp4_frame(100)});
  rig.memory.at<prm::WqeEth>(sq.ring + 16).inline_hdr_sz = 500;
  expect_error("wqe.inline-header", length);
}

TEST_F(TransmitFaults, InlineDataBeyondTheRequest) {
  const Bytes frame = test::udp4_frame(60);
  sq.post({{.in_line = frame}});
  rig.memory.at<prm::WqeData>(sq.ring + 32).byte_count = 0x80000000 | 77;
  expect_error("wqe.inline-data", length);
}

TEST_F(TransmitFaults, EmptySegment) {
  sq.post({pointer(rig, test::udp4_frame(64)), pointer(rig, TestMemory::base, 0)});
  expect_error("wqe.empty-segment", length);
}

TEST_F(TransmitFaults, TooShortForAFrame) {
  sq.post({pointer(rig, Bytes(13))});
  expect_error("wqe.too-short", length);
}

TEST_F(TransmitFaults, TooLongForAnything) {
  sq.post({pointer(rig, TestMemory::base, 60000), pointer(rig, TestMemory::base, 60000)});
  expect_error("wqe.too-long", length);
}

TEST_F(TransmitFaults, TooLongByAnInlineSegment) {
  const Data all = pointer(rig, TestMemory::base, 0xffff), byte{.in_line = Bytes(1)};
  sq.post({all, byte, all, all});
  expect_error("wqe.too-long", length);
}

TEST_F(TransmitFaults, VlanInsertionOfAnUnknownKind) {
  sq.post({pointer(rig, test::udp4_frame(64))}, {.vlan = 1});
  rig.memory.at<prm::WqeEth>(sq.ring + 16).inline_hdr_sz = 0x8012;
  expect_error("wqe.vlan-insertion", operation);
}

TEST_F(TransmitFaults, SoftwareParserIsRefused) {
  sq.post({pointer(rig, test::udp4_frame(64))});
  rig.memory.at<prm::WqeEth>(sq.ring + 16).swp_flags = 1;
  expect_error("wqe.software-parser", operation);
}

TEST_F(TransmitFaults, InlineModes) {
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

TEST_F(TransmitFaults, ForeignAndWrongKeys) {
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

TEST_F(TransmitFaults, ReservedKey) {
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

TEST_F(TransmitFaults, WhatCameBeforeTheErrorIsSentAndWhatComesAfterIsFlushed) {
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

TEST_F(TransmitFaults, WithoutFlushWhatComesAfterTheErrorIsKept) {
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

TEST_F(TransmitFaults, ACommandThatPutsTheQueueInErrorFlushes) {
  sq.sq->flush_in_error = true;
  sq.post({pointer(rig, test::udp4_frame(64))});
  rig.ring(sq);
  sq.sq->state = QueueState::error;
  rig.card->engine->state_changed(*sq.sq, QueueState::ready);
  rig.run();
  EXPECT_EQ(cq.poll_error().syndrome, static_cast<std::uint8_t>(prm::cqe_syndrome::flushed));
  EXPECT_TRUE(rig.wire.sent.empty());
}

TEST_F(TransmitFaults, CompletionQueueOverflowPutsTheQueueInError) {
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

TEST_F(TransmitFaults, DoorbellBeforeRecord) {
  sq.post({pointer(rig, test::udp4_frame(64))});
  rig.hca->doorbell(rig.uar->number, prm::uar_blueflame, sq.doorbell());
  rig.run();
  EXPECT_TRUE(rig.wire.sent.empty());
  EXPECT_EQ(rig.diagnostics.count("doorbell.ahead-of-record"), 1u);
  ring_and_run();
  EXPECT_EQ(rig.wire.sent.size(), 1u);
}

TEST_F(TransmitFaults, DoorbellOfAnotherRequestThanTheLast) {
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

TEST_F(TransmitFaults, DoorbellsThatAreDrainedLateAreNoFault) {
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

TEST_F(TransmitFaults, MorePostedThanTheRingHolds) {
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

TEST_F(TransmitFaults, DoorbellsThatMeanNothing) {
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

TEST_F(TransmitFaults, ReplayFindsWhatNoDoorbellAnnounced) {
  sq.post({pointer(rig, test::udp4_frame(64))});
  sq.write_record();
  rig.hca->replay_records(rig.uar->number);
  rig.run();
  EXPECT_EQ(rig.wire.sent.size(), 1u);
}

TEST_F(TransmitFaults, MemoryOfTheQueueIsTakenAway) {
  sq.post({pointer(rig, test::udp4_frame(64))});
  rig.ring(sq);
  rig.memory.take_away(sq.ring, 4096);
  rig.run();
  EXPECT_EQ(rig.diagnostics.count("wqe.memory"), 1u);
  EXPECT_EQ(sq.sq->state, QueueState::error);
}

}  // namespace
}  // namespace chime
