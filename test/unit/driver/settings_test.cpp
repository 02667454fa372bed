// SPDX-License-Identifier: BSD-3-Clause
#include <rte_ethdev.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <iterator>
#include <numeric>

#include "hca/model/testing.h"
#include "port_support.h"

/// @file
/// What an application sets and reads while the port runs: MTU, link, VLAN, RSS, queues, statistics.

namespace chime::net::test {
namespace {

class Settings : public testing::Test {
 protected:
  void run(const PortSetup& setup = {}) {
    ASSERT_EQ(port_.error(), 0);
    ASSERT_EQ(port_.run(pool_, setup), 0);
  }

  Pool pool_{4095};
  Port port_;
};

TEST_F(Settings, MtuWhileRunning) {
  PortSetup setup;
  setup.conf.rxmode.offloads = RTE_ETH_RX_OFFLOAD_SCATTER;
  setup.conf.txmode.offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
  run(setup);
  EXPECT_TRUE(loops(port_, pool_, 1514));
  for (std::uint16_t mtu : std::initializer_list<std::uint16_t>{68, 576, 1500, 4000, 9000, 9978}) {
    ASSERT_EQ(rte_eth_dev_set_mtu(port_.id(), mtu), 0) << mtu;
    EXPECT_TRUE(loops(port_, pool_, mtu + 14)) << mtu;
  }
  for (std::uint16_t mtu : std::initializer_list<std::uint16_t>{0, 67, 9979, 65535})
    EXPECT_EQ(rte_eth_dev_set_mtu(port_.id(), mtu), -EINVAL) << mtu;
  EXPECT_TRUE(loops(port_, pool_, 9978 + 14));
}

TEST_F(Settings, MtuBeyondTheBuffersIsRefusedAndTheOldOneStays) {
  run();
  EXPECT_EQ(rte_eth_dev_set_mtu(port_.id(), 9000), -EINVAL) << "mbufs of 2 KiB, no SCATTER";
  std::uint16_t mtu = 0;
  ASSERT_EQ(rte_eth_dev_get_mtu(port_.id(), &mtu), 0);
  EXPECT_EQ(mtu, 1500);
  EXPECT_TRUE(loops(port_, pool_, 1514));
}

TEST_F(Settings, TooLongFramesAreDroppedAndCounted) {
  run();
  EXPECT_TRUE(send(port_, pool_, frame(1800)));
  EXPECT_TRUE(loops(port_, pool_));
  EXPECT_EQ(port_.xstat("tx_drop_too_long"), 1u);
  EXPECT_EQ(port_.stats().oerrors, 1u);
}

std::atomic<unsigned> link_events;
int count_link_event(std::uint16_t, rte_eth_event_type, void*, void*) {
  ++link_events;
  return 0;
}

TEST_F(Settings, LinkDownAndUpByInterrupt) {
  PortSetup setup;
  setup.conf.intr_conf.lsc = 1;
  link_events = 0;
  ASSERT_EQ(port_.error(), 0);
  ASSERT_EQ(rte_eth_dev_callback_register(port_.id(), RTE_ETH_EVENT_INTR_LSC, count_link_event, nullptr), 0);
  run(setup);
  EXPECT_EQ(port_.link().link_status, RTE_ETH_LINK_UP);
  EXPECT_GT(port_.link().link_speed, 0u);
  ASSERT_EQ(rte_eth_dev_set_link_down(port_.id()), 0);
  EXPECT_TRUE(eventually([&] { return link_events == 1; }));
  EXPECT_EQ(port_.link().link_status, RTE_ETH_LINK_DOWN);
  ASSERT_EQ(rte_eth_dev_set_link_up(port_.id()), 0);
  EXPECT_TRUE(eventually([&] { return link_events == 2; }));
  EXPECT_EQ(port_.link().link_status, RTE_ETH_LINK_UP);
  EXPECT_TRUE(loops(port_, pool_));
  EXPECT_EQ(rte_eth_dev_callback_unregister(port_.id(), RTE_ETH_EVENT_INTR_LSC, count_link_event, nullptr),
            0);
}

TEST_F(Settings, LinkByAskingForIt) {
  run();
  ASSERT_EQ(rte_eth_dev_set_link_down(port_.id()), 0);
  EXPECT_EQ(port_.link().link_status, RTE_ETH_LINK_DOWN);
  ASSERT_EQ(rte_eth_dev_set_link_up(port_.id()), 0);
  EXPECT_EQ(port_.link().link_status, RTE_ETH_LINK_UP);
}

TEST_F(Settings, AddressesLetFramesIn) {
  run();
  ASSERT_EQ(rte_eth_promiscuous_disable(port_.id()), 0);
  rte_ether_addr own, other{{0x02, 0, 0, 0, 0, 0x42}}, group{{0x01, 0, 0x5e, 1, 2, 3}};
  ASSERT_EQ(rte_eth_macaddr_get(port_.id(), &own), 0);
  const auto gets = [&](const rte_ether_addr& to) {
    // A frame to the port's own address follows: when it is there, the other had its chance.
    EXPECT_TRUE(send(port_, pool_, frame(80, to)));
    EXPECT_TRUE(send(port_, pool_, frame(90, own)));
    std::size_t before = 0;
    for (;;) {
      const std::vector<Bytes> packets = receive(port_, 1);
      if (packets.empty()) return false;
      for (const Bytes& packet : packets) {
        if (packet.size() == 90) return before == 1;
        ++before;
      }
    }
  };
  EXPECT_TRUE(gets(rte_ether_addr{{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}}));
  EXPECT_FALSE(gets(other));
  ASSERT_EQ(rte_eth_dev_mac_addr_add(port_.id(), &other, 0), 0);
  EXPECT_TRUE(gets(other));
  ASSERT_EQ(port_.stop(), 0);
  ASSERT_EQ(port_.start(), 0);
  EXPECT_TRUE(gets(other)) << "kept over a restart";
  ASSERT_EQ(rte_eth_dev_mac_addr_remove(port_.id(), &other), 0);
  EXPECT_FALSE(gets(other));

  EXPECT_FALSE(gets(group));
  ASSERT_EQ(rte_eth_dev_set_mc_addr_list(port_.id(), &group, 1), 0);
  EXPECT_TRUE(gets(group));
  ASSERT_EQ(rte_eth_dev_set_mc_addr_list(port_.id(), nullptr, 0), 0);
  EXPECT_FALSE(gets(group));
  EXPECT_EQ(rte_eth_dev_set_mc_addr_list(port_.id(), &other, 1), -EINVAL);
  ASSERT_EQ(rte_eth_allmulticast_enable(port_.id()), 0);
  EXPECT_TRUE(gets(group));
  ASSERT_EQ(rte_eth_allmulticast_disable(port_.id()), 0);
  EXPECT_FALSE(gets(group));

  rte_ether_addr renamed{{0x02, 0, 0, 0, 0, 0x77}};
  const rte_ether_addr former = own;
  ASSERT_EQ(rte_eth_dev_default_mac_addr_set(port_.id(), &renamed), 0);
  own = renamed;
  EXPECT_FALSE(gets(former));
  EXPECT_GT(port_.xstat("rx_steer_missed_packets"), 0u);
}

TEST_F(Settings, RssIsReadBackAsSet) {
  PortSetup setup;
  setup.rx_queues = 4;
  setup.conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
  setup.conf.rx_adv_conf.rss_conf.rss_hf = RTE_ETH_RSS_IPV4;
  run(setup);
  std::array<std::uint8_t, 40> key;
  rte_eth_rss_conf rss{.rss_key = key.data(), .rss_key_len = 40, .rss_hf = 0};
  ASSERT_EQ(rte_eth_dev_rss_hash_conf_get(port_.id(), &rss), 0);
  EXPECT_EQ(rss.rss_hf, static_cast<std::uint64_t>(RTE_ETH_RSS_IPV4));
  EXPECT_EQ(key[0], 0x6d);

  std::iota(key.begin(), key.end(), std::uint8_t{1});
  const std::array<std::uint8_t, 40> asked = key;
  rss.rss_hf = RTE_ETH_RSS_NONFRAG_IPV4_UDP;
  ASSERT_EQ(rte_eth_dev_rss_hash_update(port_.id(), &rss), 0);
  key = {};
  rss = {.rss_key = key.data(), .rss_key_len = 40, .rss_hf = 0};
  ASSERT_EQ(rte_eth_dev_rss_hash_conf_get(port_.id(), &rss), 0);
  EXPECT_EQ(rss.rss_hf, static_cast<std::uint64_t>(RTE_ETH_RSS_NONFRAG_IPV4_UDP));
  EXPECT_EQ(key, asked);
  rss.rss_key_len = 52;
  EXPECT_EQ(rte_eth_dev_rss_hash_update(port_.id(), &rss), -EINVAL);

  std::array<rte_eth_rss_reta_entry64, 8> reta{};
  for (auto& group : reta) group.mask = UINT64_MAX;
  ASSERT_EQ(rte_eth_dev_rss_reta_query(port_.id(), reta.data(), 512), 0);
  for (unsigned i = 0; i < 512; ++i) EXPECT_EQ(reta[i / 64].reta[i % 64], i % 4);
  for (auto& group : reta) group = {};
  reta[2].mask = 1u << 5;
  reta[2].reta[5] = 3;
  ASSERT_EQ(rte_eth_dev_rss_reta_update(port_.id(), reta.data(), 512), 0);
  for (auto& group : reta) group.mask = UINT64_MAX;
  ASSERT_EQ(rte_eth_dev_rss_reta_query(port_.id(), reta.data(), 512), 0);
  for (unsigned i = 0; i < 512; ++i) EXPECT_EQ(reta[i / 64].reta[i % 64], i == 2 * 64 + 5 ? 3 : i % 4);
  EXPECT_EQ(rte_eth_dev_rss_reta_update(port_.id(), reta.data(), 128), -EINVAL);
  reta[0].reta[0] = 4;
  EXPECT_EQ(rte_eth_dev_rss_reta_update(port_.id(), reta.data(), 512), -EINVAL);
}

TEST_F(Settings, QueuesStopAndStart) {
  PortSetup setup;
  setup.tx_queues = 2;
  run(setup);
  ASSERT_EQ(rte_eth_dev_rx_queue_stop(port_.id(), 0), 0);
  rte_eth_rxq_info info;
  ASSERT_EQ(rte_eth_rx_queue_info_get(port_.id(), 0, &info), 0);
  EXPECT_EQ(info.queue_state, RTE_ETH_QUEUE_STATE_STOPPED);
  EXPECT_EQ(info.nb_desc, 256);
  ASSERT_EQ(rte_eth_dev_rx_queue_start(port_.id(), 0), 0);
  EXPECT_TRUE(loops(port_, pool_));
  ASSERT_EQ(rte_eth_dev_tx_queue_stop(port_.id(), 1), 0);
  EXPECT_TRUE(loops(port_, pool_));
  ASSERT_EQ(rte_eth_dev_tx_queue_start(port_.id(), 1), 0);
  EXPECT_TRUE(send(port_, pool_, frame(70), 1));
  EXPECT_EQ(receive(port_, 1).size(), 1u);
}

TEST_F(Settings, DeferredQueuesWaitForTheirStart) {
  ASSERT_EQ(port_.error(), 0);
  rte_eth_conf conf{};
  ASSERT_EQ(rte_eth_dev_configure(port_.id(), 1, 1, &conf), 0);
  rte_eth_dev_info info;
  ASSERT_EQ(rte_eth_dev_info_get(port_.id(), &info), 0);
  rte_eth_rxconf rx = info.default_rxconf;
  rx.rx_deferred_start = 1;
  rte_eth_txconf tx = info.default_txconf;
  tx.tx_deferred_start = 1;
  ASSERT_EQ(rte_eth_rx_queue_setup(port_.id(), 0, 256, 0, &rx, pool_), 0);
  ASSERT_EQ(rte_eth_tx_queue_setup(port_.id(), 0, 256, 0, &tx), 0);
  ASSERT_EQ(port_.start(), 0);
  ASSERT_EQ(rte_eth_promiscuous_enable(port_.id()), 0);
  EXPECT_EQ(pool_.available(), 4095u);
  ASSERT_EQ(rte_eth_dev_rx_queue_start(port_.id(), 0), 0);
  ASSERT_EQ(rte_eth_dev_tx_queue_start(port_.id(), 0), 0);
  EXPECT_TRUE(loops(port_, pool_));
}

/// frame() with a VLAN tag behind the addresses.
Bytes tagged(std::size_t length, std::uint16_t vlan) {
  Bytes bytes = frame(length);
  const std::uint8_t tag[] = {0x81, 0x00, static_cast<std::uint8_t>(vlan >> 8),
                              static_cast<std::uint8_t>(vlan)};
  bytes.insert(bytes.begin() + 12, std::begin(tag), std::end(tag));
  return bytes;
}

TEST_F(Settings, VlanStripWhileRunning) {
  run();
  const Bytes with = tagged(100, 7), without = frame(100);
  const auto comes_as = [&](const Bytes& expected) {
    EXPECT_TRUE(send(port_, pool_, with));
    const std::vector<Bytes> packets = receive(port_, 1);
    return packets.size() == 1 && packets[0] == expected;
  };
  EXPECT_TRUE(comes_as(with));
  ASSERT_EQ(rte_eth_dev_set_vlan_offload(port_.id(), RTE_ETH_VLAN_STRIP_OFFLOAD), 0);
  EXPECT_TRUE(comes_as(without));
  ASSERT_EQ(rte_eth_dev_set_vlan_strip_on_queue(port_.id(), 0, 0), 0);
  EXPECT_TRUE(comes_as(with));
  ASSERT_EQ(rte_eth_dev_set_vlan_strip_on_queue(port_.id(), 0, 1), 0);
  EXPECT_TRUE(comes_as(without));
  ASSERT_EQ(rte_eth_dev_set_vlan_offload(port_.id(), 0), 0);
  EXPECT_TRUE(comes_as(with));
  EXPECT_LT(rte_eth_dev_set_vlan_offload(port_.id(), RTE_ETH_QINQ_STRIP_OFFLOAD), 0);
}

TEST_F(Settings, VlanFilterWhileRunning) {
  run();
  ASSERT_EQ(rte_eth_promiscuous_disable(port_.id()), 0);
  rte_ether_addr own;
  ASSERT_EQ(rte_eth_macaddr_get(port_.id(), &own), 0);
  const auto passes = [&](std::uint16_t vlan) {
    Bytes bytes = tagged(100, vlan);
    std::copy_n(own.addr_bytes, sizeof own.addr_bytes, bytes.begin());
    EXPECT_TRUE(send(port_, pool_, bytes));
    EXPECT_TRUE(send(port_, pool_, frame(64, own)));
    // The untagged frame comes last: when it is there, the other had its chance.
    std::vector<Bytes> packets;
    while (packets.empty() || packets.back().size() != 64) {
      const std::vector<Bytes> more = receive(port_, 1);
      if (more.empty()) return false;
      packets.insert(packets.end(), more.begin(), more.end());
    }
    return packets.size() == 2 && packets[0] == bytes;
  };
  EXPECT_TRUE(passes(7));
  EXPECT_EQ(rte_eth_dev_vlan_filter(port_.id(), 7, 1), -ENOSYS) << "not switched on";
  ASSERT_EQ(rte_eth_dev_set_vlan_offload(port_.id(), RTE_ETH_VLAN_FILTER_OFFLOAD), 0);
  EXPECT_FALSE(passes(7));
  ASSERT_EQ(rte_eth_dev_vlan_filter(port_.id(), 7, 1), 0);
  EXPECT_TRUE(passes(7));
  EXPECT_FALSE(passes(8));
  ASSERT_EQ(port_.stop(), 0);
  ASSERT_EQ(port_.start(), 0);
  EXPECT_TRUE(passes(7)) << "kept over a restart";
  ASSERT_EQ(rte_eth_dev_vlan_filter(port_.id(), 7, 0), 0);
  EXPECT_FALSE(passes(7));
  ASSERT_EQ(rte_eth_dev_set_vlan_offload(port_.id(), 0), 0);
  EXPECT_TRUE(passes(7));
}

TEST_F(Settings, QueuesTellTheirState) {
  run();
  rte_eth_burst_mode mode{};
  ASSERT_EQ(rte_eth_rx_burst_mode_get(port_.id(), 0, &mode), 0);
  EXPECT_STRNE(mode.info, "");
  ASSERT_EQ(rte_eth_tx_burst_mode_get(port_.id(), 0, &mode), 0);
  EXPECT_STRNE(mode.info, "");
  EXPECT_EQ(rte_eth_rx_queue_count(port_.id(), 0), 0);
  EXPECT_EQ(rte_eth_rx_descriptor_status(port_.id(), 0, 0), RTE_ETH_RX_DESC_AVAIL);
  EXPECT_LT(rte_eth_rx_descriptor_status(port_.id(), 0, 256), 0);
  ASSERT_TRUE(send(port_, pool_, frame(100)));
  EXPECT_TRUE(eventually([&] { return rte_eth_rx_queue_count(port_.id(), 0) == 1; }));
  EXPECT_EQ(rte_eth_rx_descriptor_status(port_.id(), 0, 0), RTE_ETH_RX_DESC_DONE);
  EXPECT_EQ(receive(port_, 1).size(), 1u);
  EXPECT_TRUE(eventually([&] { return rte_eth_tx_done_cleanup(port_.id(), 0, 0) >= 0; }));
  EXPECT_EQ(rte_eth_tx_descriptor_status(port_.id(), 0, 0), RTE_ETH_TX_DESC_DONE);

  std::array<std::uint32_t, 64> types{};
  EXPECT_GT(rte_eth_dev_get_supported_ptypes(port_.id(), RTE_PTYPE_ALL_MASK, types.data(), types.size()), 3);
  EXPECT_EQ(rte_eth_dev_set_ptypes(port_.id(), RTE_PTYPE_L3_MASK, types.data(), types.size()), 0);
  EXPECT_NE(types[0], static_cast<std::uint32_t>(RTE_PTYPE_UNKNOWN));
}

TEST_F(Settings, AddressListsHaveAnEnd) {
  run();
  rte_eth_dev_info info;
  ASSERT_EQ(rte_eth_dev_info_get(port_.id(), &info), 0);
  std::uint32_t taken = 1;
  for (;; ++taken) {
    rte_ether_addr mac{
        {0x02, 0, 0, 1, static_cast<std::uint8_t>(taken >> 8), static_cast<std::uint8_t>(taken)}};
    const int error = rte_eth_dev_mac_addr_add(port_.id(), &mac, 0);
    if (error != 0) {
      EXPECT_EQ(error, -ENOSPC);
      break;
    }
    ASSERT_LT(taken, 1000u);
  }
  EXPECT_EQ(taken, info.max_mac_addrs);
  std::vector<rte_ether_addr> groups(5000, rte_ether_addr{{1, 0, 0x5e, 0, 0, 1}});
  EXPECT_EQ(rte_eth_dev_set_mc_addr_list(port_.id(), groups.data(), 5000), -ENOSPC);
  EXPECT_TRUE(loops(port_, pool_));
}

TEST_F(Settings, RefusedChangesLeaveThePortAsItWas) {
  run();
  ASSERT_EQ(rte_eth_promiscuous_disable(port_.id()), 0);
  rte_ether_addr own, other{{0x02, 0, 0, 0, 0, 0x42}};
  ASSERT_EQ(rte_eth_macaddr_get(port_.id(), &own), 0);
  const auto own_comes = [&] {
    EXPECT_TRUE(send(port_, pool_, frame(90, own)));
    return receive(port_, 1).size() == 1;
  };
  const std::uint32_t objects = port_.objects();
  for (unsigned n = 1;; ++n) {
    hca::embedded::fail_command(port_.device(), n);
    const int error = rte_eth_dev_mac_addr_add(port_.id(), &other, 0);
    hca::embedded::fail_command(port_.device(), 0);
    if (error == 0) break;
    ASSERT_LT(n, 100u);
    EXPECT_EQ(port_.objects(), objects) << n;
    EXPECT_TRUE(own_comes()) << n;
  }
  for (unsigned n = 1;; ++n) {
    hca::embedded::fail_command(port_.device(), n);
    const int error = rte_eth_allmulticast_enable(port_.id());
    hca::embedded::fail_command(port_.device(), 0);
    if (error == 0) break;
    ASSERT_LT(n, 100u);
    EXPECT_EQ(rte_eth_allmulticast_get(port_.id()), 0) << n;
    EXPECT_TRUE(own_comes()) << n;
  }
}

TEST_F(Settings, StatisticsCountAndReset) {
  run();
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(loops(port_, pool_, 100));
  rte_eth_stats stats = port_.stats();
  EXPECT_EQ(stats.ipackets, 10u);
  EXPECT_EQ(stats.opackets, 10u);
  EXPECT_EQ(stats.ibytes, 1000u);
  EXPECT_EQ(stats.obytes, 1000u);
  EXPECT_EQ(stats.q_ipackets[0], 10u);
  EXPECT_EQ(stats.q_obytes[0], 1000u);
  EXPECT_EQ(port_.xstat("rx_good_packets"), 10u);
  EXPECT_EQ(port_.xstat("rx_q0_packets"), 10u);
  EXPECT_EQ(port_.xstat("tx_phy_packets"), 10u);
  EXPECT_EQ(port_.xstat("rx_vport_unicast_packets"), 10u);

  ASSERT_EQ(rte_eth_stats_reset(port_.id()), 0);
  stats = port_.stats();
  EXPECT_EQ(stats.ipackets, 0u);
  EXPECT_EQ(stats.obytes, 0u);
  EXPECT_EQ(port_.xstat("tx_phy_packets"), 0u);
  ASSERT_TRUE(loops(port_, pool_, 100));
  EXPECT_EQ(port_.stats().ipackets, 1u);
  EXPECT_EQ(port_.xstat("tx_phy_packets"), 1u);
}

TEST_F(Settings, PacketsWithoutABufferAreMissed) {
  PortSetup setup;
  setup.descriptors = 64;
  run(setup);
  // Nobody polls: the ring's 64 mbufs fill, the rest is lost.
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(eventually([&] { return send(port_, pool_, frame(100)); }));
  }
  EXPECT_TRUE(eventually([&] { return port_.stats().imissed >= 36; }));
  EXPECT_EQ(port_.xstat("rx_out_of_buffer"), port_.stats().imissed);
  EXPECT_EQ(receive(port_, 64).size(), 64u);
  EXPECT_TRUE(loops(port_, pool_));
}

}  // namespace
}  // namespace chime::net::test
