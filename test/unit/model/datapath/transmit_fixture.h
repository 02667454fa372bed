// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>

#include <cstring>

#include "rig.h"

namespace chime::test {

/// One send queue, and its completion queue.
struct TransmitFixture : ::testing::Test {
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
    EXPECT_EQ(sq.sq->state, model::QueueState::error);
    EXPECT_TRUE(rig.wire.sent.empty());
    return error;
  }
};

}  // namespace chime::test
