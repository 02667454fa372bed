// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cstring>

#include "rings.h"

namespace chime::net {
namespace {

/// All variants must do what the plain one does.
class Tx : public testing::TestWithParam<TxVariant> {
 protected:
  Tx() { keys.add(pool, test_lkey); }
  TxSetting setting() const {
    TxSetting s;
    s.variant = GetParam();
    return s;
  }
  std::vector<rte_mbuf*> packets(unsigned count, unsigned seed = 0) const {
    std::vector<rte_mbuf*> made;
    for (unsigned i = 0; i < count; ++i)
      made.push_back(pool.packet(content(64 + (seed + i) % 900, seed + i)));
    return made;
  }
  Pool pool;
  Keys keys;
};
std::string name_of(const testing::TestParamInfo<TxVariant>& info) {
  return std::string(info.param.full ? "full" : "plain") + (info.param.fast_free ? "_fast_free" : "");
}
INSTANTIATE_TEST_SUITE_P(Variants, Tx,
                         testing::Values(TxVariant{false, false}, TxVariant{false, true},
                                         TxVariant{true, false}, TxVariant{true, true}),
                         name_of);

TEST_P(Tx, OnePacketIsOneSend) {
  TxRing ring(keys, setting());
  ASSERT_EQ(ring.burst(pool.packet(content(100))), 1);
  const auto wqes = ring.take();
  ASSERT_EQ(wqes.size(), 1u);
  EXPECT_EQ(wqes[0].opcode, static_cast<std::uint8_t>(prm::wqe_opcode::send));
  EXPECT_EQ(wqes[0].index, 0);
  EXPECT_EQ(wqes[0].sqn, TxRing::sqn);
  EXPECT_EQ(wqes[0].ds, 3u);
  EXPECT_EQ(wqes[0].checksum_flags, 0);
  EXPECT_TRUE(wqes[0].in_line.empty());
  EXPECT_FALSE(wqes[0].insert);
  ASSERT_EQ(wqes[0].segments.size(), 1u);
  EXPECT_EQ(wqes[0].segments[0].lkey, test_lkey);
  EXPECT_EQ(wqes[0].bytes(), content(100));
  EXPECT_EQ(ring.record(), 1u);
  EXPECT_EQ(ring.doorbell(), ring.first_word_of(0));
}

TEST_P(Tx, EmptyBurstRingsNothing) {
  TxRing ring(keys, setting());
  EXPECT_EQ(ring.burst(std::span<rte_mbuf*>()), 0);
  EXPECT_EQ(ring.doorbell(), 0u);
  EXPECT_EQ(ring.record(), 0u);
}

TEST_P(Tx, ManyRoundsInOrder) {
  {
    TxRing ring(keys, setting());
    unsigned sent = 0, seen = 0;
    std::uint64_t bytes = 0;
    while (sent < 64 * 9) {
      auto burst = packets(1 + sent % 29, sent);
      const std::uint16_t taken = ring.burst(burst);
      for (unsigned i = 0; i < taken; ++i) bytes += 64 + (sent + i) % 900;
      sent += taken;
      for (std::size_t i = taken; i < burst.size(); ++i) rte_pktmbuf_free(burst[i]);
      for (const SendWqe& wqe : ring.take()) {
        EXPECT_EQ(wqe.index, seen & 0xffff);
        EXPECT_EQ(wqe.bytes(), content(64 + seen % 900, seen));
        ++seen;
      }
      EXPECT_EQ(ring.doorbell(), ring.first_word_of(sent - 1));
      ring.complete();
    }
    EXPECT_EQ(seen, sent);
    EXPECT_EQ(ring.queue().counters.packets, sent);
    EXPECT_EQ(ring.queue().counters.bytes, bytes);
  }
  EXPECT_EQ(pool.available(), 511u);
}

TEST_P(Tx, FullRingTakesWhatFitsAndFreesLazily) {
  TxRing ring(keys, setting());
  auto burst = packets(100);
  EXPECT_EQ(ring.burst(burst), 64);
  EXPECT_EQ(ring.burst(std::span(burst).subspan(64)), 0) << "nothing is completed";
  EXPECT_EQ(pool.available(), 511u - 100);
  ring.take();
  ring.complete();
  EXPECT_EQ(ring.burst(std::span(burst).subspan(64)), 36);
  EXPECT_EQ(pool.available(), 511u - 36);
}

TEST_P(Tx, CompletionEveryIntervalAndForAnIdleQueue) {
  TxSetting s = setting();
  s.interval = 8;
  TxRing ring(keys, s);
  auto burst = packets(20);
  ASSERT_EQ(ring.burst(burst), 20);
  std::string asked;
  for (const SendWqe& wqe : ring.take()) asked += wqe.asks_for_completion() ? 'c' : '.';
  EXPECT_EQ(asked, ".......c.......c....") << "the rest waits for more";
  ring.complete();
  // Everything that was asked for is done: a single packet is asked for at once.
  ASSERT_EQ(ring.burst(pool.packet(content(64))), 1);
  EXPECT_TRUE(ring.take()[0].asks_for_completion());
  // One is outstanding: the next is not.
  ASSERT_EQ(ring.burst(pool.packet(content(64))), 1);
  EXPECT_FALSE(ring.take()[0].asks_for_completion());
  // A request does not stay in the block for the next round.
  for (unsigned round = 0; round < 3; ++round) {
    ring.complete();
    auto more = packets(64);
    const std::uint16_t taken = ring.burst(more);
    for (std::size_t i = taken; i < more.size(); ++i) rte_pktmbuf_free(more[i]);
    unsigned requests = 0;
    for (const SendWqe& wqe : ring.take()) {
      requests += wqe.asks_for_completion();
      EXPECT_EQ(wqe.fm_ce_se & ~0x0c, 0);
    }
    EXPECT_EQ(requests, taken / 8u + (taken % 8 != 0 && taken < 8));
  }
}

TEST_P(Tx, BadPacketsAreDroppedOthersGo) {
  {
    TxRing ring(keys, setting());
    const Pool unknown(15);
    rte_mbuf* burst[] = {
        pool.packet(content(64, 1)),   pool.packet(content(13)),    pool.packet(content(64, 2)),
        pool.packet(content(1523)),    pool.packet(content(64, 3)), unknown.packet(content(64)),
        pool.packet(content(1522, 4)), pool.packet(content(14, 5)), pool.packet({}),
    };
    EXPECT_EQ(ring.burst(burst), 9) << "dropped ones are taken, too";
    const auto wqes = ring.take();
    ASSERT_EQ(wqes.size(), 5u);
    EXPECT_EQ(wqes[0].bytes(), content(64, 1));
    EXPECT_EQ(wqes[1].bytes(), content(64, 2));
    EXPECT_EQ(wqes[2].bytes(), content(64, 3));
    EXPECT_EQ(wqes[3].bytes(), content(1522, 4));
    EXPECT_EQ(wqes[4].bytes(), content(14, 5));
    const TxCounters& counters = ring.queue().counters;
    EXPECT_EQ(counters.drop_too_short, 2u);
    EXPECT_EQ(counters.drop_too_long, 1u);
    EXPECT_EQ(counters.drop_unknown_memory, 1u);
    EXPECT_EQ(counters.packets, 5u);
    EXPECT_EQ(unknown.available(), 15u);
    EXPECT_EQ(pool.available(), 511u - 5);
  }
  EXPECT_EQ(pool.available(), 511u);
}

TEST_P(Tx, OnlyBadPackets) {
  TxRing ring(keys, setting());
  rte_mbuf* burst[] = {pool.packet(content(5)), pool.packet(content(1600))};
  EXPECT_EQ(ring.burst(burst), 2);
  EXPECT_EQ(ring.doorbell(), 0u);
  EXPECT_EQ(ring.record(), 0u);
  EXPECT_EQ(pool.available(), 511u);
}

/// What fast free promises not to happen: several pools, several references.
class TxAnyMbuf : public Tx {};
INSTANTIATE_TEST_SUITE_P(Variants, TxAnyMbuf,
                         testing::Values(TxVariant{false, false}, TxVariant{true, false}), name_of);

TEST_P(TxAnyMbuf, SeveralPoolsHaveTheirKeys) {
  const Pool second(63), third(63);
  keys.add(second, 0x222);
  keys.add(third, 0x333);
  {
    TxRing ring(keys, setting());
    rte_mbuf* burst[] = {pool.packet(content(64)),   second.packet(content(64)), third.packet(content(64)),
                         second.packet(content(64)), pool.packet(content(64)),   third.packet(content(64))};
    const std::uint32_t expected[] = {test_lkey, 0x222, 0x333, 0x222, test_lkey, 0x333};
    ASSERT_EQ(ring.burst(burst), 6);
    const auto wqes = ring.take();
    ASSERT_EQ(wqes.size(), 6u);
    for (unsigned i = 0; i < 6; ++i) EXPECT_EQ(wqes[i].segments[0].lkey, expected[i]);
    ring.complete();
    rte_mbuf* more = pool.packet(content(64));
    ASSERT_EQ(ring.burst(more), 1);
    EXPECT_EQ(second.available(), 63u);
    EXPECT_EQ(third.available(), 63u);
    EXPECT_EQ(pool.available(), 510u);
  }
  EXPECT_EQ(pool.available(), 511u);
}

TEST_P(Tx, ChangedRegistrationsAreSeen) {
  TxRing ring(keys, setting());
  ASSERT_EQ(ring.burst(pool.packet(content(64))), 1);
  EXPECT_EQ(ring.take()[0].segments[0].lkey, test_lkey);
  keys.clear();
  ASSERT_EQ(ring.burst(pool.packet(content(64))), 1);
  EXPECT_TRUE(ring.take().empty());
  EXPECT_EQ(ring.queue().counters.drop_unknown_memory, 1u);
  keys.add(pool, 0x999);
  ASSERT_EQ(ring.burst(pool.packet(content(64))), 1);
  EXPECT_EQ(ring.take()[0].segments[0].lkey, 0x999u);
}

TEST_P(TxAnyMbuf, SharedAndAttachedMbufsAreGivenBack) {
  {
    TxRing ring(keys, setting());
    rte_mbuf* shared = pool.packet(content(64));
    rte_mbuf_refcnt_update(shared, 1);
    rte_mbuf* original = pool.packet(content(80, 2));
    rte_mbuf* clone = rte_pktmbuf_clone(original, pool.get());
    ASSERT_NE(clone, nullptr);
    rte_mbuf* burst[] = {shared, clone, original};
    ASSERT_EQ(ring.burst(burst), 3);
    const auto wqes = ring.take();
    EXPECT_EQ(wqes[1].bytes(), content(80, 2));
    ring.complete();
    // A burst frees; what it brings is dropped.
    ASSERT_EQ(ring.burst(pool.packet(content(5))), 1);
    EXPECT_EQ(rte_mbuf_refcnt_read(shared), 1);
    EXPECT_EQ(pool.available(), 510u);
    rte_pktmbuf_free(shared);
  }
  EXPECT_EQ(pool.available(), 511u);
}

TEST_P(Tx, IndexRunsOverSixteenBits) {
  TxRing ring(keys, setting());
  // As if so many blocks had gone through; a multiple of the ring's size.
  TxQueue& q = ring.queue();
  q.produced = q.completed = q.freed = q.requested = q.chains_until = 0x1ffc0;
  auto burst = packets(64);
  ASSERT_EQ(ring.burst(burst), 64);
  EXPECT_EQ(ring.record(), 0u);
  EXPECT_EQ(ring.first_word_of(63) & 0xffff00, 0xffff00u);
  auto& last = *reinterpret_cast<const prm::WqeCtrl*>(q.wqes + 63 * 64);
  EXPECT_EQ(last.opmod_idx_opcode, 0x00ffff0au);
}

TEST_P(Tx, ChainsWithoutMultiSegmentsAreDropped) {
  TxRing ring(keys, setting());
  const auto bytes = content(120);
  const std::size_t lengths[] = {60, 60};
  rte_mbuf* burst[] = {pool.chain(bytes, lengths), pool.packet(content(64))};
  ASSERT_EQ(ring.burst(burst), 2);
  const auto wqes = ring.take();
  if (GetParam().full) {
    ASSERT_EQ(wqes.size(), 2u);
    EXPECT_EQ(wqes[0].bytes(), bytes);
  } else {
    ASSERT_EQ(wqes.size(), 1u);
    EXPECT_EQ(ring.queue().counters.drop_chain, 1u);
  }
}

TEST(TxVariants, SmallestThatServes) {
  constexpr std::uint64_t fast = RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
  EXPECT_FALSE(tx_variant(0, 0).full);
  EXPECT_TRUE(tx_variant(fast, 0).fast_free);
  EXPECT_FALSE(tx_variant(fast, 0).full);
  for (const std::uint64_t offload : {RTE_ETH_TX_OFFLOAD_MULTI_SEGS, RTE_ETH_TX_OFFLOAD_IPV4_CKSUM,
                                      RTE_ETH_TX_OFFLOAD_UDP_CKSUM, RTE_ETH_TX_OFFLOAD_VLAN_INSERT})
    EXPECT_TRUE(tx_variant(offload, 0).full);
  EXPECT_TRUE(tx_variant(0, 18).full);
  const TxVariant both = tx_variant_of_both({true, true}, {false, false});
  EXPECT_TRUE(both.full);
  EXPECT_FALSE(both.fast_free);
  for (const bool full : {false, true}) {
    for (const bool fast_free : {false, true}) {
      EXPECT_NE(tx_burst_function({full, fast_free}), nullptr);
      EXPECT_NE(std::string(tx_burst_description({full, fast_free})), "");
    }
  }
}

}  // namespace
}  // namespace chime::net
