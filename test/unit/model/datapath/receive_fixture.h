// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>

#include "rig.h"

namespace chime::test {

/// One receive queue, which gets everything, and its completion queue.
struct ReceiveFixture : ::testing::Test {
  static constexpr std::size_t room = 2048;

  Rig rig;
  CompletionQueue cq = rig.make_cq(8);
  ReceiveQueue rq = rig.make_rq(6, 1, cq);
  model::Tir* tir = rig.make_tir(rq);
  std::uint64_t buffers = rig.memory.allocate(64 * room, 4096);

  void SetUp() override { rig.receive_all(*tir); }

  std::uint64_t buffer(unsigned i) const { return buffers + (i % 64) * room; }

  void post(unsigned count) {
    for (unsigned i = 0; i < count; ++i) rq.post({pointer(rig, buffer(rq.producer), room)});
    rq.write_record();
  }

  prm::Cqe receive(const Bytes& frame) {
    post(1);
    rig.wire.deliver(frame);
    prm::Cqe cqe{};
    EXPECT_TRUE(cq.poll(cqe));
    cq.publish();
    return cqe;
  }

  prm::ErrorCqe expect_error(const char* rule, prm::cqe_syndrome syndrome) {
    rig.wire.deliver(udp4_frame(100));
    const prm::ErrorCqe error = cq.poll_error();
    EXPECT_EQ(prm::cqe_opcode_of(error.op_own), prm::cqe_opcode::responder_error);
    EXPECT_EQ(error.syndrome, static_cast<std::uint8_t>(syndrome));
    EXPECT_EQ(rig.diagnostics.count(rule), 1u) << rule;
    EXPECT_EQ(rq.rq->state, model::QueueState::error);
    return error;
  }
};

}  // namespace chime::test
