// SPDX-License-Identifier: BSD-3-Clause
#include <rte_ethdev.h>

#include <array>

#include "../support/failing_allocation.h"
#include "hca/model/testing.h"
#include "port_support.h"

/// @file
/// Set-up and start that fail at every step: the port is left usable, and nothing is lost.

namespace chime::net::test {
namespace {

TEST(StartErrors, EveryCommandOfStartMayFail) {
  Pool pool;
  Port port;
  ASSERT_EQ(port.error(), 0);
  PortSetup setup;
  setup.rx_queues = setup.tx_queues = 2;
  setup.conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
  setup.conf.rx_adv_conf.rss_conf.rss_hf = RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_UDP;
  ASSERT_EQ(port.set_up(pool, setup), 0);
  const std::uint32_t objects = port.objects();
  const unsigned available = pool.available();

  unsigned n = 1;
  for (;; ++n) {
    hca::embedded::fail_command(port.device(), n);
    const int error = port.start();
    hca::embedded::fail_command(port.device(), 0);
    if (error == 0) break;  // start has fewer commands than that
    EXPECT_EQ(port.objects(), objects) << "command " << n;
    EXPECT_EQ(pool.available(), available) << "command " << n;
    EXPECT_EQ(hca::embedded::refused_destroys(port.device()), 0u) << "command " << n;
    ASSERT_LT(n, 500u);
  }
  EXPECT_GT(n, 5u);
  ASSERT_EQ(rte_eth_promiscuous_enable(port.id()), 0);
  EXPECT_TRUE(loops(port, pool));
  ASSERT_EQ(port.stop(), 0);
}

TEST(StartErrors, EveryCommandOfSetUpMayFail) {
  Pool pool;
  Port port;
  ASSERT_EQ(port.error(), 0);
  const std::uint32_t objects = port.objects();
  unsigned n = 1;
  for (;; ++n) {
    hca::embedded::fail_command(port.device(), n);
    const int error = port.set_up(pool);
    hca::embedded::fail_command(port.device(), 0);
    if (error == 0) break;
    ASSERT_LT(n, 500u);
    // An application that gives up on one set-up tries another.
    EXPECT_LE(port.objects(), objects + 20);
  }
  EXPECT_GT(n, 3u);
  ASSERT_EQ(port.run(pool), 0);
  EXPECT_TRUE(loops(port, pool));
}

TEST(StartErrors, EveryAllocationMayFail) {
  Pool pool;
  Port port;
  ASSERT_EQ(port.error(), 0);
  ASSERT_EQ(port.set_up(pool), 0);
  const std::uint32_t objects = port.objects();
  const unsigned available = pool.available();
  unsigned n = 1;
  for (;; ++n) {
    int error;
    {
      chime::test::FailingAllocation fault(n, chime::test::FailingAllocation::Of::process);
      error = port.start();
      if (!fault.failed()) break;
    }
    if (error == 0) {
      // Not every allocation is worth failing for: those of DPDK's own.
      ASSERT_EQ(port.stop(), 0);
      continue;
    }
    EXPECT_EQ(port.objects(), objects) << "allocation " << n;
    EXPECT_EQ(pool.available(), available) << "allocation " << n;
    ASSERT_LT(n, 1000u);
  }
  ASSERT_EQ(rte_eth_promiscuous_enable(port.id()), 0);
  EXPECT_TRUE(loops(port, pool));
  ASSERT_EQ(port.stop(), 0);

  for (n = 1;; ++n) {
    chime::test::FailingAllocation fault(n, chime::test::FailingAllocation::Of::process);
    const int error = port.set_up(pool);
    if (!fault.failed()) break;
    ASSERT_LT(n, 1000u);
    if (error != 0) continue;
  }
  ASSERT_EQ(port.run(pool), 0);
  EXPECT_TRUE(loops(port, pool));
}

TEST(StartErrors, EveryAllocationOfProbeMayFail) {
  for (unsigned n = 1;; ++n) {
    chime::test::FailingAllocation fault(n, chime::test::FailingAllocation::Of::process);
    Port port;
    if (!fault.failed()) break;
    ASSERT_LT(n, 2000u);
  }
  Pool pool;
  Port port;
  ASSERT_EQ(port.error(), 0);
  ASSERT_EQ(port.run(pool), 0);
  EXPECT_TRUE(loops(port, pool));
}

TEST(StartErrors, QueueThatIsNotSetUp) {
  Pool pool;
  Port port;
  ASSERT_EQ(port.error(), 0);
  rte_eth_conf conf{};
  ASSERT_EQ(rte_eth_dev_configure(port.id(), 1, 1, &conf), 0);
  EXPECT_EQ(port.start(), -EINVAL);
  ASSERT_EQ(rte_eth_rx_queue_setup(port.id(), 0, 256, 0, nullptr, pool), 0);
  EXPECT_EQ(port.start(), -EINVAL);
  ASSERT_EQ(rte_eth_tx_queue_setup(port.id(), 0, 256, 0, nullptr), 0);
  EXPECT_EQ(port.start(), 0);
}

TEST(StartErrors, QueueSizes) {
  Pool pool;
  Port port;
  ASSERT_EQ(port.error(), 0);
  rte_eth_conf conf{};
  ASSERT_EQ(rte_eth_dev_configure(port.id(), 1, 1, &conf), 0);
  for (std::uint16_t wrong : std::initializer_list<std::uint16_t>{1, 32, 63, 192, 1000, 1025}) {
    EXPECT_EQ(rte_eth_rx_queue_setup(port.id(), 0, wrong, 0, nullptr, pool), -EINVAL) << wrong;
    EXPECT_EQ(rte_eth_tx_queue_setup(port.id(), 0, wrong, 0, nullptr), -EINVAL) << wrong;
  }
  ASSERT_EQ(port.run(pool), 0);
  EXPECT_TRUE(loops(port, pool));
}

TEST(StartErrors, DataRoomTooSmall) {
  Pool tiny(255, RTE_PKTMBUF_HEADROOM + 32), small(1023, RTE_PKTMBUF_HEADROOM + 512), good;
  Port port;
  ASSERT_EQ(port.error(), 0);
  EXPECT_EQ(port.set_up(tiny), -EINVAL);
  EXPECT_EQ(port.set_up(small), -EINVAL) << "a frame of 1500 bytes, no SCATTER";
  PortSetup scattered;
  scattered.conf.rxmode.offloads = RTE_ETH_RX_OFFLOAD_SCATTER;
  scattered.conf.txmode.offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
  ASSERT_EQ(port.run(small, scattered), 0);
  EXPECT_TRUE(loops(port, small, 1500));
  ASSERT_EQ(port.stop(), 0);
  ASSERT_EQ(port.run(good), 0);
  EXPECT_TRUE(loops(port, good));
  ASSERT_EQ(port.stop(), 0);
  ASSERT_EQ(rte_eth_dev_reset(port.id()), 0);
}

TEST(StartErrors, PoolThatCannotFillTheQueue) {
  Pool poor(127), good;
  Port port;
  ASSERT_EQ(port.error(), 0);
  ASSERT_EQ(port.set_up(poor), 0);
  EXPECT_EQ(port.start(), -ENOMEM);
  EXPECT_EQ(poor.available(), 127u);
  ASSERT_EQ(port.run(good), 0);
  EXPECT_TRUE(loops(port, good));
  ASSERT_EQ(port.stop(), 0);
}

TEST(StartErrors, ConfigurationsThatAreNotThere) {
  Port port;
  ASSERT_EQ(port.error(), 0);
  rte_eth_conf conf{};
  conf.rxmode.mq_mode = RTE_ETH_MQ_RX_VMDQ_ONLY;
  EXPECT_EQ(rte_eth_dev_configure(port.id(), 1, 1, &conf), -ENOTSUP);
  conf = {};
  conf.txmode.mq_mode = RTE_ETH_MQ_TX_DCB;
  EXPECT_EQ(rte_eth_dev_configure(port.id(), 1, 1, &conf), -ENOTSUP);
  conf = {};
  conf.link_speeds = RTE_ETH_LINK_SPEED_FIXED | RTE_ETH_LINK_SPEED_10G;
  EXPECT_EQ(rte_eth_dev_configure(port.id(), 1, 1, &conf), -ENOTSUP);
  conf = {};
  conf.lpbk_mode = 2;
  EXPECT_EQ(rte_eth_dev_configure(port.id(), 1, 1, &conf), -ENOTSUP);
  conf = {};
  conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
  std::array<std::uint8_t, 52> key{};
  conf.rx_adv_conf.rss_conf = {.rss_key = key.data(), .rss_key_len = 52, .rss_hf = RTE_ETH_RSS_IPV4};
  EXPECT_EQ(rte_eth_dev_configure(port.id(), 1, 1, &conf), -EINVAL);
  conf = {};
  conf.rxmode.mtu = 9979;
  EXPECT_EQ(rte_eth_dev_configure(port.id(), 1, 1, &conf), -EINVAL);
  conf = {};
  conf.lpbk_mode = 1;
  EXPECT_EQ(rte_eth_dev_configure(port.id(), 1, 1, &conf), 0) << "the wire is looped";
}

}  // namespace
}  // namespace chime::net::test
