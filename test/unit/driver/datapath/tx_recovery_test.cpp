// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "rings.h"

namespace chime::net {
namespace {

class TxRecovery : public testing::TestWithParam<TxVariant> {
 protected:
  TxRecovery() { keys.add(pool, test_lkey); }
  std::vector<rte_mbuf*> packets(unsigned count) const {
    std::vector<rte_mbuf*> made;
    for (unsigned i = 0; i < count; ++i) made.push_back(pool.packet(content(64, i)));
    return made;
  }
  Pool pool;
  Keys keys;
};
INSTANTIATE_TEST_SUITE_P(Variants, TxRecovery,
                         testing::Values(TxVariant{false, false}, TxVariant{false, true},
                                         TxVariant{true, false}, TxVariant{true, true}),
                         [](const auto& info) {
                           return std::string(info.param.full ? "full" : "plain") +
                                  (info.param.fast_free ? "_fast_free" : "");
                         });

TEST_P(TxRecovery, AllStages) {
  {
    TxRing ring(keys, {.variant = GetParam()});
    TxQueue& q = ring.queue();
    auto first = packets(16);
    ASSERT_EQ(ring.burst(first), 16);
    ring.take();
    ring.complete();
    auto second = packets(20);
    ASSERT_EQ(ring.burst(second), 20);
    EXPECT_EQ(pool.available(), 511u - 20);
    ring.take();
    ring.fail(18, 0x04, 0x77);
    ring.fail(31, 0x05);

    auto third = packets(4);
    EXPECT_EQ(ring.burst(third), 0);
    EXPECT_EQ(q.health.stage.load(), Health::failed);
    EXPECT_EQ(q.health.error.syndrome, 0x04);
    EXPECT_EQ(q.health.error.vendor_syndrome, 0x77);
    EXPECT_EQ(q.health.error.wqe_counter, 18);
    EXPECT_EQ(ring.burst(third), 0);
    EXPECT_EQ(tx_done_cleanup(&q, 0), 0);
    EXPECT_EQ(tx_descriptor_status(&q, 0), RTE_ETH_TX_DESC_UNAVAIL);

    q.health.stage.store(Health::quiesced);
    ring.reset_sq();
    EXPECT_EQ(ring.burst(third), 0);
    EXPECT_EQ(q.health.stage.load(), Health::rewound);
    EXPECT_EQ(pool.available(), 511u - 4) << "what was posted is free";
    EXPECT_EQ(q.counters.drop_queue_error, 20u);
    EXPECT_EQ(q.counters.error_cqes, 1u);
    EXPECT_EQ(q.counters.recoveries, 1u);
    EXPECT_EQ(ring.record(), 0u);
    EXPECT_EQ(ring.burst(third), 0) << "not before the control side says so";

    q.health.stage.store(Health::good);
    for (unsigned round = 0; round < 20; ++round) {
      auto burst = round == 0 ? third : packets(16);
      ASSERT_EQ(ring.burst(burst), burst.size());
      unsigned i = 0;
      for (const SendWqe& wqe : ring.take()) EXPECT_EQ(wqe.bytes(), content(64, i++));
      ring.complete();
    }
  }
  EXPECT_EQ(pool.available(), 511u);
}

TEST_P(TxRecovery, ACompletionOfWhatWasNeverPosted) {
  TxRing ring(keys, {.variant = GetParam()});
  auto burst = packets(3);
  ASSERT_EQ(ring.burst(burst), 3);
  ring.take();
  ring.fail(40, 0);
  // As a good CQE: the counter is beyond what is posted.
  auto& cqe = ring.queue().cqes[0];
  cqe.op_own = prm::cqe_op_own(prm::cqe_opcode::requester, 0);
  EXPECT_EQ(tx_done_cleanup(&ring.queue(), 0), 0);
  EXPECT_EQ(ring.queue().health.stage.load(), Health::failed);
  EXPECT_EQ(pool.available(), 508u);
}

}  // namespace
}  // namespace chime::net
