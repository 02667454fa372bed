// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "pair.h"

/// What states and queries of a queue pair say of its transport.

namespace chime {
namespace {

using model::QpState;
using test::QueuePair;
using test::RoceRig;

struct States : ::testing::Test {
  RoceRig rig;
  QueuePair a = rig.make_qp(), b = rig.make_qp();
  std::uint64_t target = rig.memory.allocate(4096, 4096);
  std::uint64_t local = rig.memory.allocate(4096, 4096);

  void SetUp() override {
    rig.connect(a, b);
    rig.wire.loop = false;
    rig.wire.keep = true;
  }
  void add() {
    a.post(test::fetch_add(1, target, rig.rkey(), local, rig.lkey()));
    a.ring();
    rig.run();
  }
  model::QpProgress progress(const QueuePair& qp) { return rig.card->engine->progress(*qp.qp); }
};

TEST_F(States, ADrainedSendQueueRaisesAnEvent) {
  auto eq = rig.make_eq(4, 1u << static_cast<unsigned>(prm::event_type::send_queue_drained));
  prm::Eqe eqe;
  add();
  a.modify(QpState::sqd);
  add();
  EXPECT_FALSE(eq.poll(eqe)) << "one is under way";
  rig.exchange();
  prm::Cqe cqe;
  EXPECT_TRUE(a.send_cq.poll(cqe));
  EXPECT_FALSE(a.send_cq.poll(cqe)) << "nothing is begun in SQD";
  EXPECT_EQ(rig.u64(target), 1u);
  ASSERT_TRUE(eq.poll(eqe));
  EXPECT_EQ(eqe.type, static_cast<std::uint8_t>(prm::event_type::send_queue_drained));
  EXPECT_EQ(std::uint32_t{eqe.data[prm::eqe_number]}, a.qp->number);
  EXPECT_FALSE(eq.poll(eqe)) << "once";

  a.modify(QpState::rts);
  rig.exchange();
  EXPECT_TRUE(a.send_cq.poll(cqe)) << "it goes on";
  EXPECT_EQ(rig.u64(target), 2u);
  a.modify(QpState::sqd);
  rig.run();
  EXPECT_TRUE(eq.poll(eqe)) << "at once where nothing is under way";
  EXPECT_FALSE(eq.poll(eqe));
}

TEST_F(States, AQueryTellsWhereTheTransportStands) {
  const std::uint32_t first = a.qp->attributes.next_send_psn;
  EXPECT_EQ(progress(a).next_send_psn, first);
  EXPECT_EQ(progress(b).next_receive_psn, b.qp->attributes.next_receive_psn);
  add();
  add();
  model::QpProgress of_a = progress(a);
  EXPECT_EQ(of_a.send_posted, 2);
  EXPECT_EQ(of_a.send_taken, 2);
  EXPECT_EQ(of_a.send_sequence, 2u);
  EXPECT_EQ(of_a.next_send_psn, first + 2);
  EXPECT_EQ(of_a.last_acked_psn, (first - 1) & 0xffffff) << "none yet";
  rig.exchange();
  of_a = progress(a);
  EXPECT_EQ(of_a.last_acked_psn, first + 1);
  const model::QpProgress of_b = progress(b);
  EXPECT_EQ(of_b.next_receive_psn, first + 2);
  EXPECT_EQ(of_b.receive_sequence, 2u);

  // After an error, too: what was posted behind it was taken, and flushed.
  a.post(test::fetch_add(1, target + 4, rig.rkey(), local, rig.lkey()));
  a.ring();
  rig.exchange();
  EXPECT_EQ(a.qp->state, QpState::err);
  EXPECT_EQ(progress(a).send_posted, 3);
  EXPECT_EQ(progress(a).send_taken, 3);
  for (QueuePair* qp : {&a, &b}) qp->modify(QpState::reset);
  EXPECT_EQ(progress(a).send_posted, 0);
  EXPECT_EQ(progress(a).next_send_psn, 0u);
  EXPECT_EQ(progress(b).next_receive_psn, 0u);
}

TEST_F(States, AKeyMayBeOneQueuePairsAlone) {
  model::Mkey* key = rig.make_key(target, 4096, model::local_write | model::remote_atomic);
  key->qpn = b.qp->number;
  const std::uint32_t rkey = key->number << 8 | key->key_byte;
  a.post(test::fetch_add(1, target, rkey, local, rig.lkey()));
  a.ring();
  rig.exchange();
  prm::Cqe cqe;
  ASSERT_TRUE(a.send_cq.poll(cqe));
  EXPECT_EQ(prm::cqe_opcode_of(cqe.op_own), prm::cqe_opcode::requester) << "it is the responder's";
  EXPECT_EQ(rig.u64(target), 1u);
  a.post(test::fetch_add(1, target, rig.rkey(), target + 64, rkey));
  a.ring();
  rig.exchange();
  const prm::ErrorCqe error = a.send_cq.poll_error();
  EXPECT_EQ(error.syndrome, static_cast<std::uint8_t>(prm::cqe_syndrome::local_protection));
  EXPECT_EQ(error.vendor_err_synd, static_cast<std::uint8_t>(model::Fault::key_queue));
}

}  // namespace
}  // namespace chime
