// SPDX-License-Identifier: BSD-3-Clause
#include <rte_epoll.h>
#include <rte_ethdev.h>

#include "port_support.h"

/// @file
/// Receive interrupts as an lcore that sleeps uses them.

namespace chime::net::test {
namespace {

constexpr int wait_ms = 5000;

TEST(RxInterrupts, WakeALcoreForEachArming) {
  Pool pool;
  Port port;
  ASSERT_EQ(port.error(), 0);
  PortSetup setup;
  setup.rx_queues = 2;
  setup.conf.intr_conf.rxq = 1;
  ASSERT_EQ(port.run(pool, setup), 0);
  ASSERT_GE(rte_eth_dev_rx_intr_ctl_q_get_fd(port.id(), 1), 0);
  ASSERT_EQ(rte_eth_dev_rx_intr_ctl_q(port.id(), 0, RTE_EPOLL_PER_THREAD, RTE_INTR_EVENT_ADD, nullptr), 0);

  rte_epoll_event event;
  for (int round = 0; round < 3; ++round) {
    ASSERT_EQ(rte_eth_dev_rx_intr_enable(port.id(), 0), 0);
    ASSERT_TRUE(send(port, pool, frame(100)));
    EXPECT_EQ(rte_epoll_wait(RTE_EPOLL_PER_THREAD, &event, 1, wait_ms), 1) << round;
    ASSERT_EQ(rte_eth_dev_rx_intr_disable(port.id(), 0), 0);
    EXPECT_EQ(receive(port, 1).size(), 1u);
    EXPECT_EQ(rte_epoll_wait(RTE_EPOLL_PER_THREAD, &event, 1, 0), 0) << "quiet without an arming";
  }

  // A packet that lies there already is told at once.
  ASSERT_TRUE(send(port, pool, frame(100)));
  ASSERT_TRUE(eventually([&] { return rte_eth_rx_queue_count(port.id(), 0) == 1; }));
  ASSERT_EQ(rte_eth_dev_rx_intr_enable(port.id(), 0), 0);
  EXPECT_EQ(rte_epoll_wait(RTE_EPOLL_PER_THREAD, &event, 1, wait_ms), 1);
  ASSERT_EQ(rte_eth_dev_rx_intr_disable(port.id(), 0), 0);
  EXPECT_EQ(receive(port, 1).size(), 1u);

  ASSERT_EQ(rte_eth_dev_rx_intr_ctl_q(port.id(), 0, RTE_EPOLL_PER_THREAD, RTE_INTR_EVENT_DEL, nullptr), 0);
  ASSERT_EQ(port.stop(), 0);
  ASSERT_EQ(port.start(), 0);
  EXPECT_TRUE(loops(port, pool));
}

TEST(RxInterrupts, AreRefusedWhereTheyWereNotAskedFor) {
  Pool pool;
  Port port;
  ASSERT_EQ(port.error(), 0);
  ASSERT_EQ(port.run(pool), 0);
  EXPECT_LT(rte_eth_dev_rx_intr_enable(port.id(), 0), 0);
  EXPECT_LT(rte_eth_dev_rx_intr_disable(port.id(), 0), 0);
  EXPECT_LT(rte_eth_dev_rx_intr_ctl_q(port.id(), 0, RTE_EPOLL_PER_THREAD, RTE_INTR_EVENT_ADD, nullptr), 0);
  EXPECT_TRUE(loops(port, pool));
}

}  // namespace
}  // namespace chime::net::test
