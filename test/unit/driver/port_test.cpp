// SPDX-License-Identifier: BSD-3-Clause
#include <rte_ethdev.h>

#include <string>

#include "../support/failing_allocation.h"
#include "port_support.h"

namespace chime::net::test {
namespace {

TEST(Port, LoopsPackets) {
  Pool pool;
  Port port;
  ASSERT_EQ(port.error(), 0);
  ASSERT_EQ(port.run(pool), 0);
  for (std::size_t length : {60u, 61u, 64u, 128u, 512u, 1500u, 1514u})
    EXPECT_TRUE(loops(port, pool, length)) << length;
  EXPECT_EQ(port.stop(), 0);
}

TEST(Port, WrongArgumentsMakeNoPort) {
  for (const char* args :
       {"wires=1", "wire=net_nothere0,loss=x", "model_thread=x", "ibdev=mlx5_0", "profile=/no/such/file"}) {
    Port port("net_chime0", args);
    EXPECT_LT(port.error(), 0) << args;
  }
  Port port;
  EXPECT_EQ(port.error(), 0) << "the name is free again";
}

TEST(Port, SaysItsLimits) {
  Port port;
  ASSERT_EQ(port.error(), 0);
  rte_eth_dev_info info;
  ASSERT_EQ(rte_eth_dev_info_get(port.id(), &info), 0);
  EXPECT_GE(info.max_rx_queues, 64);
  EXPECT_GE(info.max_tx_queues, 64);
  EXPECT_EQ(info.min_mtu, 68);
  EXPECT_EQ(info.max_mtu, 9978);
  EXPECT_EQ(info.hash_key_size, 40);
  EXPECT_EQ(info.reta_size, 512);
  EXPECT_STREQ(info.driver_name, "net_chime");
  char version[32];
  EXPECT_EQ(rte_eth_dev_fw_version_get(port.id(), version, sizeof version), 0);
  EXPECT_GT(std::string(version).size(), 4u);
  EXPECT_EQ(rte_eth_dev_fw_version_get(port.id(), version, 2),
            static_cast<int>(std::string(version).size()) + 1);
}

TEST(Port, StartsAgainAndRefusesToCloseWhileItRuns) {
  Pool pool;
  Port port;
  ASSERT_EQ(port.error(), 0);
  ASSERT_EQ(port.run(pool), 0);
  EXPECT_EQ(port.start(), 0) << "a second start changes nothing";
  EXPECT_EQ(rte_eth_dev_close(port.id()), -EINVAL);
  EXPECT_TRUE(loops(port, pool));
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(port.stop(), 0);
    ASSERT_EQ(port.start(), 0);
    EXPECT_TRUE(loops(port, pool));
  }
  ASSERT_EQ(port.stop(), 0);
}

TEST(Port, LeavesNoObjectAndNoMbufBehind) {
  Pool pool;
  const unsigned available = pool.available();
  Port port;
  ASSERT_EQ(port.error(), 0);
  const std::uint32_t opened = port.objects();
  ASSERT_EQ(port.set_up(pool), 0);
  const std::uint32_t set_up = port.objects();
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(port.start(), 0);
    EXPECT_GT(port.objects(), set_up) << "steering";
    ASSERT_EQ(port.stop(), 0);
    EXPECT_EQ(port.objects(), set_up);
    EXPECT_EQ(pool.available(), available);
  }
  // No queues: an application's way to give them back.
  rte_eth_conf conf{};
  ASSERT_EQ(rte_eth_dev_configure(port.id(), 1, 1, &conf), 0);
  EXPECT_EQ(port.objects(), set_up) << "set-up queues stay";
  ASSERT_EQ(rte_eth_dev_reset(port.id()), 0);
  EXPECT_EQ(port.objects(), opened);
}

TEST(Port, DetachesWhileTrafficFlows) {
  Pool pool;
  const unsigned available = pool.available();
  {
    Port port;
    ASSERT_EQ(port.error(), 0);
    ASSERT_EQ(port.run(pool), 0);
    for (int i = 0; i < 64; ++i) EXPECT_TRUE(send(port, pool, frame(200)));
  }
  EXPECT_EQ(pool.available(), available);
}

TEST(Port, WorksAfterAReset) {
  Pool pool;
  Port port;
  ASSERT_EQ(port.error(), 0);
  rte_ether_addr mac{{0x02, 1, 2, 3, 4, 5}};
  ASSERT_EQ(port.run(pool), 0);
  ASSERT_EQ(rte_eth_dev_default_mac_addr_set(port.id(), &mac), 0);
  ASSERT_EQ(rte_eth_dev_reset(port.id()), 0);
  EXPECT_EQ(port.start(), -EINVAL) << "not configured";
  ASSERT_EQ(port.run(pool), 0);
  EXPECT_TRUE(loops(port, pool));
  rte_ether_addr now;
  ASSERT_EQ(rte_eth_macaddr_get(port.id(), &now), 0);
  EXPECT_TRUE(rte_is_same_ether_addr(&mac, &now));
}

TEST(Port, LivesOnAfterAResetThatFails) {
  if (!chime::test::FailingAllocation::possible) GTEST_SKIP() << "no allocation can be made to fail here";
  Pool pool;
  Port port;
  ASSERT_EQ(port.error(), 0);
  ASSERT_EQ(port.run(pool), 0);
  int failures = 0;
  for (unsigned n = 1;; ++n) {
    int error;
    {
      chime::test::FailingAllocation fault(n, chime::test::FailingAllocation::Of::process);
      error = rte_eth_dev_reset(port.id());
      if (!fault.failed()) break;
    }
    if (error == 0) continue;
    ++failures;
    rte_eth_stats stats;
    rte_eth_conf conf{};
    EXPECT_EQ(rte_eth_stats_get(port.id(), &stats), -ENODEV);
    EXPECT_EQ(rte_eth_dev_configure(port.id(), 1, 1, &conf), -ENODEV);
    EXPECT_EQ(rte_eth_promiscuous_disable(port.id()), -ENODEV);
    ASSERT_LT(n, 2000u);
  }
  EXPECT_GT(failures, 10);
  ASSERT_EQ(port.run(pool), 0);
  EXPECT_TRUE(loops(port, pool));
}

TEST(Port, TwoPortsAreIndependent) {
  Pool pool;
  Port first("net_chime0"), second("net_chime1", "mac=02:aa:00:00:00:01");
  ASSERT_EQ(first.error(), 0);
  ASSERT_EQ(second.error(), 0);
  ASSERT_EQ(first.run(pool), 0);
  ASSERT_EQ(second.run(pool), 0);
  EXPECT_TRUE(loops(first, pool));
  EXPECT_TRUE(loops(second, pool));
  ASSERT_EQ(first.stop(), 0);
  EXPECT_TRUE(loops(second, pool));
  rte_ether_addr mac;
  ASSERT_EQ(rte_eth_macaddr_get(second.id(), &mac), 0);
  const rte_ether_addr asked{{0x02, 0xaa, 0, 0, 0, 1}};
  EXPECT_TRUE(rte_is_same_ether_addr(&mac, &asked));
}

TEST(Port, ManyQueues) {
  Pool pool(64 * 64 + 1023);
  Port port;
  ASSERT_EQ(port.error(), 0);
  PortSetup setup;
  setup.rx_queues = setup.tx_queues = 64;
  setup.descriptors = 64;
  setup.conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
  setup.conf.rx_adv_conf.rss_conf.rss_hf = RTE_ETH_RSS_IPV4;
  ASSERT_EQ(port.run(pool, setup), 0);
  // Not IP: hashed by nothing, so to the queue of the table's first entry.
  for (std::uint16_t queue = 0; queue < 64; ++queue) ASSERT_TRUE(send(port, pool, frame(100), queue));
  EXPECT_EQ(receive(port, 64).size(), 64u);
}

}  // namespace
}  // namespace chime::net::test
