// SPDX-License-Identifier: BSD-3-Clause
#include <ethdev_driver.h>
#include <rte_pmd_chime.h>

#include <atomic>
#include <cstring>

#include "hca/model/testing.h"
#include "port_support.h"

/// @file
/// A card that is taken away under a port.

namespace chime::net::test {
namespace {

std::atomic<unsigned> removals, link_changes;
int count(std::uint16_t, rte_eth_event_type event, void*, void*) {
  ++(event == RTE_ETH_EVENT_INTR_RMV ? removals : link_changes);
  return 0;
}

class Loss : public testing::Test {
 protected:
  /// @param told the application asks for the events
  void run(bool told) {
    ASSERT_EQ(port_.error(), 0);
    removals = link_changes = 0;
    for (const auto event : {RTE_ETH_EVENT_INTR_RMV, RTE_ETH_EVENT_INTR_LSC})
      ASSERT_EQ(rte_eth_dev_callback_register(port_.id(), event, count, nullptr), 0);
    EXPECT_FALSE(rte_eth_devices[port_.id()].data->dev_flags & RTE_ETH_DEV_INTR_RMV)
        << "the embedded HCA is never lost but in a test";
    rte_eth_devices[port_.id()].data->dev_flags |= RTE_ETH_DEV_INTR_RMV;
    PortSetup setup;
    setup.conf.intr_conf.rmv = setup.conf.intr_conf.lsc = told;
    ASSERT_EQ(port_.run(pool_, setup), 0);
    EXPECT_TRUE(loops(port_, pool_));
    EXPECT_EQ(rte_eth_dev_is_removed(port_.id()), 0);
  }
  void TearDown() override {
    for (const auto event : {RTE_ETH_EVENT_INTR_RMV, RTE_ETH_EVENT_INTR_LSC})
      rte_eth_dev_callback_unregister(port_.id(), event, count, nullptr);
  }
  bool is_down() const { return port_.link().link_status == RTE_ETH_LINK_DOWN; }

  Pool pool_;
  Port port_;
};

TEST_F(Loss, IsToldOnceAndEndsWithAReset) {
  ASSERT_NO_FATAL_FAILURE(run(true));
  hca::embedded::lose(port_.device());
  ASSERT_TRUE(eventually([] { return removals != 0; }));
  EXPECT_NE(link_changes, 0u) << "before the removal";
  EXPECT_TRUE(is_down());
  hca::embedded::lose(port_.device());
  EXPECT_TRUE(send(port_, pool_, frame(100))) << "bursts are safe";

  EXPECT_EQ(rte_eth_dev_is_removed(port_.id()), 1);
  EXPECT_EQ(rte_eth_promiscuous_disable(port_.id()), -EIO);
  rte_eth_stats stats;
  EXPECT_EQ(rte_eth_stats_get(port_.id(), &stats), -EIO);
  EXPECT_EQ(port_.stop(), 0);
  EXPECT_EQ(port_.start(), -EIO);
  ASSERT_EQ(rte_eth_dev_reset(port_.id()), 0);
  EXPECT_EQ(rte_eth_dev_is_removed(port_.id()), 0);
  EXPECT_EQ(removals, 1u);
  EXPECT_EQ(pool_.available(), 4095u);
  ASSERT_EQ(port_.run(pool_), 0);
  EXPECT_TRUE(loops(port_, pool_));
}

TEST_F(Loss, HandlesOfThePrivateApiAreFreedAndNotMade) {
  ASSERT_NO_FATAL_FAILURE(run(true));
  rte_pmd_chime_worker* worker = rte_pmd_chime_worker_create(port_.id(), nullptr);
  ASSERT_NE(worker, nullptr) << rte_pmd_chime_last_error();
  hca::embedded::lose(port_.device());
  EXPECT_EQ(rte_pmd_chime_worker_create(port_.id(), nullptr), nullptr);
  EXPECT_TRUE(std::strstr(rte_pmd_chime_last_error(), "is lost")) << rte_pmd_chime_last_error();
  EXPECT_EQ(rte_pmd_chime_worker_free(worker), 0);
  EXPECT_EQ(port_.stop(), 0);
  EXPECT_EQ(rte_eth_dev_reset(port_.id()), 0);
}

TEST_F(Loss, IsNotToldToThoseThatDidNotAsk) {
  ASSERT_NO_FATAL_FAILURE(run(false));
  hca::embedded::lose(port_.device());
  EXPECT_TRUE(eventually([&] { return is_down(); }));
  EXPECT_EQ(port_.stop(), 0);
  EXPECT_EQ(rte_eth_dev_close(port_.id()), 0) << "after which the interrupt thread is through";
  EXPECT_EQ(removals + link_changes, 0u);
  EXPECT_EQ(pool_.available(), 4095u);
}

}  // namespace
}  // namespace chime::net::test
