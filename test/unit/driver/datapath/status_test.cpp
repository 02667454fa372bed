// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>

#include "rings.h"

namespace chime::net {
namespace {

class Status : public testing::Test {
 protected:
  Status() { keys.add(pool, test_lkey); }
  Pool pool;
  Keys keys;
};

TEST_F(Status, RxQueueCount) {
  RxRing ring(pool, keys);
  RxQueue* q = &ring.queue();
  EXPECT_EQ(rx_queue_count(q), 0u);
  for (unsigned round = 0; round < 9; ++round) {
    for (unsigned waiting = 0; waiting <= 40; ++waiting) {
      EXPECT_EQ(rx_queue_count(q), waiting);
      if (waiting < 40) {
        ASSERT_TRUE(ring.arrive({.content = content(64)}));
      }
    }
    for (rte_mbuf* packet : ring.burst(64)) rte_pktmbuf_free(packet);
  }
  while (ring.arrive({.content = content(64)})) continue;
  EXPECT_EQ(rx_queue_count(q), 64u) << "all of the ring";
}

TEST_F(Status, RxDescriptors) {
  RxRing ring(pool, keys, {.refill = 16});
  RxQueue* q = &ring.queue();
  for (unsigned i = 0; i < 20; ++i) ring.arrive({.content = content(64)});
  for (rte_mbuf* packet : ring.burst(10)) rte_pktmbuf_free(packet);
  EXPECT_EQ(rx_descriptor_status(q, 0), RTE_ETH_RX_DESC_DONE);
  EXPECT_EQ(rx_descriptor_status(q, 9), RTE_ETH_RX_DESC_DONE);
  EXPECT_EQ(rx_descriptor_status(q, 10), RTE_ETH_RX_DESC_AVAIL);
  EXPECT_EQ(rx_descriptor_status(q, 53), RTE_ETH_RX_DESC_AVAIL);
  EXPECT_EQ(rx_descriptor_status(q, 54), RTE_ETH_RX_DESC_UNAVAIL) << "waits for the next refill";
  EXPECT_EQ(rx_descriptor_status(q, 63), RTE_ETH_RX_DESC_UNAVAIL);
  EXPECT_EQ(rx_descriptor_status(q, 64), -EINVAL);
}

TEST_F(Status, TxDescriptors) {
  TxRing ring(keys);
  TxQueue* q = &ring.queue();
  EXPECT_EQ(tx_descriptor_status(q, 0), RTE_ETH_TX_DESC_DONE);
  EXPECT_EQ(tx_descriptor_status(q, 64), -EINVAL);
  std::vector<rte_mbuf*> burst;
  for (unsigned i = 0; i < 16; ++i) burst.push_back(pool.packet(content(64)));
  ASSERT_EQ(ring.burst(burst), 16);
  EXPECT_EQ(tx_descriptor_status(q, 47), RTE_ETH_TX_DESC_DONE);
  EXPECT_EQ(tx_descriptor_status(q, 48), RTE_ETH_TX_DESC_FULL);
  EXPECT_EQ(tx_descriptor_status(q, 63), RTE_ETH_TX_DESC_FULL);
  ring.take();
  ring.complete();
  EXPECT_EQ(tx_descriptor_status(q, 63), RTE_ETH_TX_DESC_DONE);
}

TEST_F(Status, DoneCleanup) {
  TxRing ring(keys, {.variant = {true, false}});
  TxQueue* q = &ring.queue();
  EXPECT_EQ(tx_done_cleanup(q, 0), 0);
  std::vector<rte_mbuf*> burst;
  const std::size_t lengths[] = {60, 60, 60, 60};
  for (unsigned i = 0; i < 16; ++i)
    burst.push_back(i % 2 == 0 ? pool.packet(content(64)) : pool.chain(content(240), lengths));
  ASSERT_EQ(ring.burst(burst), 16);
  EXPECT_EQ(tx_done_cleanup(q, 0), 0) << "nothing is done";
  ring.take();
  ring.complete();
  EXPECT_EQ(tx_done_cleanup(q, 5), 5);
  EXPECT_EQ(pool.available(), 511u - 6 * 4 - 5);
  EXPECT_EQ(tx_done_cleanup(q, 0), 11);
  EXPECT_EQ(pool.available(), 511u);
  EXPECT_EQ(tx_done_cleanup(q, 0), 0);
}

TEST_F(Status, InterruptArming) {
  RxRing ring(pool, keys);
  RxQueue& q = ring.queue();
  EXPECT_EQ(rx_interrupt_arm(q), -ENOTSUP);
  alignas(64) std::uint64_t cell = 0;
  q.arm.base = reinterpret_cast<std::byte*>(&cell);
  for (unsigned i = 0; i < 5; ++i) ring.arrive({.content = content(64)});
  for (rte_mbuf* packet : ring.burst()) rte_pktmbuf_free(packet);
  EXPECT_EQ(rx_interrupt_arm(q), 0);
  // Sequence number 0, any completion, consumer index 5; then the CQ's number. Big-endian.
  const std::uint8_t expected[] = {0, 0, 0, 5, 0, 0, 0, 0x55};
  EXPECT_EQ(std::memcmp(&cell, expected, sizeof expected), 0);
  EXPECT_EQ(std::memcmp(&q.cq_record->arm, expected, 4), 0);
  rx_interrupt_served(q);
  EXPECT_EQ(rx_interrupt_arm(q), 0);
  const std::uint8_t again[] = {0x10, 0, 0, 5, 0, 0, 0, 0x55};
  EXPECT_EQ(std::memcmp(&cell, again, sizeof again), 0);
}

TEST(Counters, SnapshotSubtractsTheBase) {
  TxCounters counters{}, base{};
  count(counters.packets, 10);
  count(counters.drop_too_long, 3);
  base = snapshot(counters, TxCounters{});
  count(counters.packets, 5);
  const TxCounters now = snapshot(counters, base);
  EXPECT_EQ(now.packets, 5u);
  EXPECT_EQ(now.drop_too_long, 0u);
  for (const CounterName& name : tx_counter_names) EXPECT_LT(name.offset, sizeof(TxCounters)) << name.name;
  EXPECT_EQ(std::size(tx_counter_names) * 8, sizeof(TxCounters));
  EXPECT_EQ(std::size(rx_counter_names) * 8, sizeof(RxCounters));
}

}  // namespace
}  // namespace chime::net
