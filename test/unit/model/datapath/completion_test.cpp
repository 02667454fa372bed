// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "rig.h"

namespace chime {
namespace {

using test::Bytes;
using test::CompletionQueue;
using test::EventQueue;
using test::pointer;
using test::ReceiveQueue;
using test::Rig;

struct Completion : ::testing::Test {
  Rig rig;
  EventQueue eq = rig.make_eq(4, 0, 3);
  CompletionQueue cq = rig.make_cq(6, eq.eq);
  ReceiveQueue rq = rig.make_rq(8, 1, cq);
  std::uint64_t buffer = rig.memory.allocate(2048);

  void SetUp() override {
    rig.receive_all(*rig.make_tir(rq));
    for (int i = 0; i < 256; ++i) rq.post({pointer(rig, buffer, 2048)});
    rq.write_record();
  }
  void frame() { rig.wire.deliver(test::udp4_frame(64)); }
  void consume() {
    prm::Cqe cqe;
    while (cq.poll(cqe)) {
    }
  }
  bool event() {
    prm::Eqe eqe;
    if (!eq.poll(eqe)) return false;
    EXPECT_EQ(eqe.type, 0);
    EXPECT_EQ(eqe.data[6], cq.cq->number);
    return true;
  }
};

TEST_F(Completion, OwnerBitOverManyRounds) {
  for (unsigned i = 0; i < 64 * 9; ++i) {
    frame();
    prm::Cqe cqe;
    ASSERT_TRUE(cq.poll(cqe));
    ASSERT_FALSE(cq.poll(cqe));
    cq.publish();
    rq.post({pointer(rig, buffer, 2048)});
    rq.write_record();
  }
}

TEST_F(Completion, ConsumerIndexOf24Bits) {
  cq.cq->producer = cq.cq->consumer = 0xfffff0;
  cq.consumer = 0xfffff0;
  // The ring as software would have it at this index: owner bits of the pass before.
  for (unsigned i = 0; i < 100; ++i) {
    frame();
    prm::Cqe cqe;
    ASSERT_TRUE(cq.poll(cqe)) << i;
    cq.publish();
  }
  EXPECT_EQ(cq.cq->state, model::Cq::State::ok);
}

TEST_F(Completion, Of128Bytes) {
  CompletionQueue wide;
  wide.memory = &rig.memory;
  wide.ring = rig.memory.allocate(128 * 4, 4096);
  wide.cq = cq.cq;
  cq.cq->ring.log_size = 2;
  cq.cq->ring.log_stride = 7;
  cq.cq->ring.buffer = rig.buffer(wide.ring, 128 * 4);
  for (unsigned i = 0; i < 4; ++i) rig.memory.at<prm::Cqe>(wide.ring + i * 128 + 64).op_own = 0xf1;
  frame();
  prm::Cqe cqe;
  ASSERT_TRUE(wide.poll(cqe));
  EXPECT_EQ(cqe.byte_cnt, 64u);
  EXPECT_EQ(rig.memory.read(wide.ring, 64), Bytes(64));
}

TEST_F(Completion, NotArmedRaisesNothing) {
  frame();
  EXPECT_FALSE(event());
}

TEST_F(Completion, ArmedRaisesOnce) {
  rig.arm(cq, 0);
  EXPECT_FALSE(event());
  frame();
  frame();
  EXPECT_TRUE(event());
  EXPECT_FALSE(event());
  consume();
  rig.arm(cq, 1);
  EXPECT_FALSE(event());
  frame();
  EXPECT_TRUE(event());
}

TEST_F(Completion, ArmBehindTheProducerFiresAtOnce) {
  frame();
  rig.arm(cq, 0);
  EXPECT_TRUE(event());
  EXPECT_TRUE(rig.diagnostics.rules.empty());
}

TEST_F(Completion, StaleSequenceIsIgnored) {
  rig.arm(cq, 0);
  frame();
  rig.arm(cq, 0);
  EXPECT_EQ(rig.diagnostics.count("cq.stale-arm"), 0u) << "the event is on its way";
  EXPECT_TRUE(event());
  rig.arm(eq);
  rig.arm(cq, 0);
  EXPECT_FALSE(event());
  EXPECT_EQ(rig.diagnostics.count("cq.stale-arm"), 1u);
  rig.arm(cq, 1);
  EXPECT_TRUE(event());
}

TEST_F(Completion, ArmedAgainBeforeTheEventKeepsOneEvent) {
  rig.arm(cq, 0);
  rig.arm(cq, 0);
  frame();
  EXPECT_TRUE(event());
  EXPECT_FALSE(event());
}

TEST_F(Completion, SolicitedWaitsForAnErrorOrASolicitedOne) {
  rig.arm(cq, 0, prm::cq_arm::solicited);
  frame();
  EXPECT_FALSE(event());
  rq.rq->pd.reset();
  frame();
  EXPECT_TRUE(event());
  rig.arm(cq, 1, prm::cq_arm::solicited);  // the error CQE is not consumed yet
  EXPECT_TRUE(event());
  consume();
  rig.arm(cq, 2, prm::cq_arm::solicited);
  EXPECT_FALSE(event());
}

TEST_F(Completion, SendAndEventIsSolicited) {
  test::SendQueue sq = rig.make_sq(4, cq);
  rig.arm(cq, 0, prm::cq_arm::solicited);
  sq.post({pointer(rig, test::udp4_frame(64))}, {.ce = prm::wqe_ce::always});
  rig.ring(sq);
  rig.run();
  EXPECT_FALSE(event());
  sq.post({pointer(rig, test::udp4_frame(64))}, {.ce = prm::wqe_ce::always_and_eqe});
  rig.ring(sq);
  rig.run();
  EXPECT_TRUE(event());
}

TEST_F(Completion, ModerationByCount) {
  cq.cq->max_count = 3;
  rig.arm(cq, 0);
  frame();
  frame();
  EXPECT_FALSE(event());
  frame();
  EXPECT_TRUE(event());
}

TEST_F(Completion, ModerationByTimeFromTheEvent) {
  cq.cq->period = 10;
  rig.arm(cq, 0);
  frame();
  EXPECT_TRUE(event());  // the last event is long ago
  consume();
  rig.arm(cq, 1);
  rig.clock.now += 4000;
  frame();
  rig.run();
  EXPECT_FALSE(event());
  rig.clock.now += 6000;
  rig.run();
  EXPECT_TRUE(event());
}

TEST_F(Completion, ModerationByTimeFromTheCqe) {
  cq.cq->period = 10;
  cq.cq->period_mode = 1;
  rig.arm(cq, 0);
  for (int i = 0; i < 3; ++i) {
    frame();
    rig.clock.now += 9000;
    rig.run();
    EXPECT_FALSE(event());
  }
  rig.clock.now += 1000;
  rig.run();
  EXPECT_TRUE(event());
}

TEST_F(Completion, ModerationThatEndsLetsTheEventGo) {
  cq.cq->max_count = 5;
  rig.arm(cq, 0);
  frame();
  cq.cq->max_count = 0;
  rig.card->engine->cq_changed(*cq.cq);
  EXPECT_TRUE(event());
}

TEST_F(Completion, ForgottenWhileAnEventWaits) {
  cq.cq->period = 10;
  cq.cq->period_mode = 1;
  rig.arm(cq, 0);
  frame();
  EXPECT_TRUE(cq.cq->pending);
  rig.card->engine->forget(*cq.cq);
  rig.clock.now += 1'000'000;
  rig.run();
  EXPECT_FALSE(event());
}

TEST_F(Completion, ArmOnAForeignUarIsIgnored) {
  model::Uar* other = *rig.card->uars.insert(std::make_unique<model::Uar>());
  const std::uint64_t value = cq.cq->number;
  rig.hca->doorbell(other->number, prm::uar_cq_doorbell, prm::host_to_be(value));
  rig.hca->doorbell(rig.uar->number, prm::uar_cq_doorbell, prm::host_to_be(value + 1000));
  frame();
  EXPECT_FALSE(event());
  EXPECT_EQ(rig.diagnostics.count("doorbell.foreign-uar"), 1u);
  EXPECT_EQ(rig.diagnostics.count("doorbell.unknown-queue"), 1u);
}

TEST_F(Completion, ArmDoorbellBeforeItsRecord) {
  frame();
  consume();
  const std::uint64_t word = prm::cq_arm_word(0, prm::cq_arm::any, 1);
  rig.hca->doorbell(rig.uar->number, prm::uar_cq_doorbell, prm::host_to_be(word << 32 | cq.cq->number));
  EXPECT_EQ(rig.diagnostics.count("cq.arm-record"), 1u);
}

TEST_F(Completion, ReplayTakesTheArmFromTheRecord) {
  rig.memory.at<prm::CqRecord>(cq.record).arm = prm::cq_arm_word(1, prm::cq_arm::any, 0);
  rig.hca->replay_records(rig.uar->number);
  frame();
  EXPECT_TRUE(event());
  rig.hca->replay_records(rig.uar->number);
  EXPECT_FALSE(event());
}

TEST_F(Completion, BogusConsumerIndex) {
  for (int i = 0; i < 64; ++i) frame();
  rig.memory.at<prm::CqRecord>(cq.record).consumer = 77;
  frame();
  EXPECT_EQ(rig.diagnostics.count("cq.consumer"), 1u);
  EXPECT_EQ(cq.cq->state, model::Cq::State::overflow);
}

TEST_F(Completion, OverrunIgnoreWritesOn) {
  cq.cq->overrun_ignore = true;
  for (int i = 0; i < 100; ++i) frame();
  EXPECT_EQ(cq.cq->producer, 100u);
  EXPECT_EQ(cq.cq->state, model::Cq::State::ok);
}

TEST_F(Completion, MemoryIsTakenAway) {
  EventQueue async = rig.make_eq(3, 1u << 4);
  rig.memory.take_away(cq.ring, 4096);
  frame();
  EXPECT_EQ(cq.cq->state, model::Cq::State::write_failure);
  EXPECT_EQ(rig.diagnostics.count("cq.memory"), 1u);
  prm::Eqe eqe;
  ASSERT_TRUE(async.poll(eqe));
  EXPECT_EQ(eqe.data[2] & 0xff, 2u);
}

// ---- event queues ----

TEST_F(Completion, InterruptWhenArmed) {
  rig.arm(cq, 0);
  frame();
  EXPECT_TRUE(rig.interrupts.raised.empty());
  rig.arm(eq);  // there is one already
  EXPECT_EQ(rig.interrupts.raised, std::vector<unsigned>{3});
  EXPECT_TRUE(event());
  rig.arm(eq);
  EXPECT_EQ(rig.interrupts.raised.size(), 1u);
  consume();
  rig.arm(cq, 1);
  frame();
  EXPECT_EQ(rig.interrupts.raised.size(), 2u);
  consume();
  rig.arm(cq, 2);
  frame();
  EXPECT_EQ(rig.interrupts.raised.size(), 2u);  // not armed again
}

TEST_F(Completion, EventQueueOverManyRoundsAndOverflow) {
  for (unsigned i = 0; i < 100; ++i) {
    rig.arm(cq, i);
    frame();
    EXPECT_TRUE(event());
    consume();
    rig.arm(eq, false);
    rq.post({pointer(rig, buffer, 2048)});
    rq.write_record();
  }
  for (unsigned i = 100; i < 117; ++i) {
    rig.arm(cq, i);
    frame();
    consume();
  }
  EXPECT_EQ(rig.diagnostics.count("eq.overflow"), 1u);
  unsigned events = 0;
  while (event()) ++events;
  EXPECT_EQ(events, 16u);
}

TEST_F(Completion, EventQueueDoorbellsThatMeanNothing) {
  const auto ring = [&](std::uint32_t uar, std::uint32_t word) {
    rig.hca->doorbell(uar, prm::uar_eq_arm, prm::host_to_be(std::uint64_t{word} << 32));
  };
  model::Uar* other = *rig.card->uars.insert(std::make_unique<model::Uar>());
  ring(rig.uar->number, 0xfe000000);
  ring(other->number, eq.eq->number << 24);
  ring(rig.uar->number, eq.eq->number << 24 | 5);
  EXPECT_EQ(rig.diagnostics.count("doorbell.unknown-queue"), 1u);
  EXPECT_EQ(rig.diagnostics.count("doorbell.foreign-uar"), 1u);
  EXPECT_EQ(rig.diagnostics.count("cq.consumer"), 1u);
  EXPECT_FALSE(eq.eq->armed);
}

TEST_F(Completion, PortEvents) {
  EventQueue async = rig.make_eq(3, 1u << 9);
  rig.wire.set_up(false);
  rig.wire.set_up(false);
  rig.wire.set_up(true);
  rig.card->port.admin_up = false;
  rig.card->engine->port_changed();
  const unsigned expected[] = {1, 4, 1};
  for (unsigned sub_type : expected) {
    prm::Eqe eqe;
    ASSERT_TRUE(async.poll(eqe));
    EXPECT_EQ(eqe.type, 0x09);
    EXPECT_EQ(eqe.sub_type, sub_type);
    EXPECT_EQ(eqe.data[2], 1u << 28);
  }
  prm::Eqe eqe;
  EXPECT_FALSE(async.poll(eqe));
}

}  // namespace
}  // namespace chime
