// SPDX-License-Identifier: BSD-3-Clause
#include "../support/failing_allocation.h"
#include "ring_peer.h"
#include "support.h"

namespace chime::wire::test {

using chime::test::FailingAllocation;

using MemoryTest = WireTest;

/// Fails each allocation of making a wire in turn: the error says so, and nothing of the wire is left.
TEST_F(MemoryTest, EveryAllocationMayFail) {
  if (!FailingAllocation::possible) GTEST_SKIP() << "no allocation can be made to fail here";
  RingPeer peer("peer");
  FaultSpec all{.reorder_ppm = 1, .corrupt_ppm = 1, .delay_us = 1};
  for (const char* wire : {"loop", "cable:x", peer.port_name()}) {
    unsigned n = 1;
    for (;; ++n) {
      ASSERT_LT(n, 100u);
      auto made = [&] {
        const FailingAllocation failing(n);
        return factory->make({"net_chime0", wire, all}, executor, clock);
      }();
      if (made) break;
      EXPECT_EQ(made.error().errnum, ENOMEM) << made.error().text;
      EXPECT_FALSE(factory->statistics("net_chime0")) << wire << " after allocation " << n;
    }
    EXPECT_GT(n, 5u) << wire;
  }
}

TEST_F(MemoryTest, TheFactoryToo) {
  for (unsigned n = 1;; ++n) {
    ASSERT_LT(n, 10u);
    auto made = [&] {
      const FailingAllocation failing(n);
      return Factory::create();
    }();
    if (made) break;
    EXPECT_EQ(made.error().errnum, ENOMEM);
  }
}

/// What was right with the wire stays so.
TEST_F(MemoryTest, FaultsThatCannotBeHadChangeNothing) {
  if (!FailingAllocation::possible) GTEST_SKIP() << "no allocation can be made to fail here";
  Plugged card(make("net_chime0", "cable:x", {.duplicate_ppm = 1'000'000}));
  Plugged other(make("net_chime1", "cable:x"));
  unsigned failures = 0;
  for (;; ++failures) {
    ASSERT_LT(failures, 20u);
    transmit(*card.wire, {frame_bytes(64)});
    transmit(*other.wire, {frame_bytes(64)});
    ASSERT_EQ(other.port.received.size(), 2 * (failures + 1));
    ASSERT_EQ(card.port.received.size(), 2 * (failures + 1));
    // Two may be had each time: one that is kept, or the two of a delay.
    const auto ok = [&] {
      const FailingAllocation third(3);
      return factory->set_faults("net_chime0", {.reorder_ppm = 1, .corrupt_ppm = 1, .delay_us = 1});
    }();
    if (ok) break;
  }
  EXPECT_GE(failures, 2u);
}

/// A mempool that EAL has no memory for.
TEST_F(MemoryTest, NoMemoryForMbufs) {
  std::vector<rte_mempool*> taken;
  RingPeer peer("peer");
  Plugged card(make("net_chime0", peer.port_name()));
  for (int i = 0; i < 100; ++i) {
    std::string name = "hog" + std::to_string(i);
    rte_mempool* pool = rte_mempool_create(name.c_str(), 255, 4096, 0, 0, nullptr, nullptr, nullptr, nullptr,
                                           SOCKET_ID_ANY, 0);
    if (!pool) break;
    taken.push_back(pool);
  }
  EXPECT_LT(taken.size(), 100u);
  auto ok = use(*card.wire);
  for (rte_mempool* pool : taken) rte_mempool_free(pool);
  // A pool of an earlier wire may have been on hand.
  if (!ok) {
    EXPECT_EQ(ok.error().errnum, ENOMEM) << ok.error().text;
    EXPECT_NE(std::string(ok.error().text).find("no memory for a mempool of"), std::string::npos);
  }
  EXPECT_TRUE(use(*card.wire)) << "works once there is memory";
  transmit(*card.wire, {frame_bytes(64)});
  EXPECT_EQ(peer.take().size(), 1u);
}

}  // namespace chime::wire::test
