// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <rte_errno.h>

#include <numeric>

#include "rings.h"

namespace chime::net {
namespace {

constexpr std::uint64_t ip = RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM;

/// @param inline_size bytes that the card wants in line
class TxFull : public testing::TestWithParam<std::uint16_t> {
 protected:
  TxFull() { keys.add(pool, test_lkey); }
  TxSetting setting() const {
    TxSetting s;
    s.inline_size = GetParam();
    s.variant = {true, false};
    s.max_frame = 9000;
    return s;
  }
  /// The packet as it must leave: with its tag.
  static std::vector<std::uint8_t> tagged(std::vector<std::uint8_t> bytes, std::uint16_t tci) {
    const std::uint8_t tag[] = {0x81, 0x00, static_cast<std::uint8_t>(tci >> 8),
                                static_cast<std::uint8_t>(tci)};
    bytes.insert(bytes.begin() + 12, std::begin(tag), std::end(tag));
    return bytes;
  }
  void expect_inline(const SendWqe& wqe, std::size_t length) const {
    EXPECT_EQ(wqe.in_line.size(), std::min<std::size_t>(GetParam(), length));
    const std::size_t units = wqe.in_line.size() <= 2 ? 0 : (wqe.in_line.size() - 2 + 15) / 16;
    EXPECT_EQ(wqe.ds, 2 + units + wqe.segments.size());
  }
  Pool pool;
  Keys keys;
};
INSTANTIATE_TEST_SUITE_P(MinInlineModes, TxFull, testing::Values(0, 18, 58, 78));

TEST(TxInline, SizesOfModes) {
  EXPECT_EQ(tx_inline_size(0), 0);
  EXPECT_EQ(tx_inline_size(1), 18);
  EXPECT_EQ(tx_inline_size(2), 58);
  EXPECT_EQ(tx_inline_size(3), 78);
}

TEST_P(TxFull, ChecksumRequests) {
  TxRing ring(keys, setting());
  const struct {
    std::uint64_t ol_flags;
    std::uint8_t expected;
  } cases[] = {
      {0, 0},
      {ip, 0x40},
      {ip | RTE_MBUF_F_TX_UDP_CKSUM, 0xc0},
      {ip | RTE_MBUF_F_TX_TCP_CKSUM, 0xc0},
      {RTE_MBUF_F_TX_IPV6 | RTE_MBUF_F_TX_TCP_CKSUM, 0x80},
      {RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_UDP_CKSUM, 0x80},
      {RTE_MBUF_F_TX_IPV4, 0},
      {RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_SCTP_CKSUM, 0},
  };
  for (const auto& c : cases) {
    rte_mbuf* packet = pool.packet(content(100));
    packet->ol_flags |= c.ol_flags;
    ASSERT_EQ(ring.burst(packet), 1);
    const auto wqes = ring.take();
    ASSERT_EQ(wqes.size(), 1u);
    EXPECT_EQ(wqes[0].checksum_flags, c.expected) << std::hex << c.ol_flags;
    EXPECT_EQ(wqes[0].bytes(), content(100));
    expect_inline(wqes[0], 100);
    ring.complete();
  }
}

TEST_P(TxFull, VlanInsertion) {
  TxRing ring(keys, setting());
  for (const std::size_t length : {14u, 15u, 16u, 60u, 100u, 1500u}) {
    rte_mbuf* packet = pool.packet(content(length));
    packet->ol_flags |= RTE_MBUF_F_TX_VLAN;
    packet->vlan_tci = 0xa0b1;
    ASSERT_EQ(ring.burst(packet), 1);
    const auto wqes = ring.take();
    ASSERT_EQ(wqes.size(), 1u);
    if (GetParam() == 0) {
      ASSERT_TRUE(wqes[0].insert);
      EXPECT_EQ(*wqes[0].insert, 0x8000a0b1u);
      EXPECT_EQ(wqes[0].bytes(), content(length));
    } else {
      EXPECT_FALSE(wqes[0].insert);
      EXPECT_EQ(wqes[0].bytes(), tagged(content(length), 0xa0b1)) << length;
      expect_inline(wqes[0], length + 4);
    }
    ring.complete();
  }
}

TEST_P(TxFull, EveryLengthAroundTheInlineHeader) {
  {
    TxRing ring(keys, setting());
    for (std::size_t length = 14; length < 100; ++length) {
      ASSERT_EQ(ring.burst(pool.packet(content(length))), 1);
      const auto wqes = ring.take();
      ASSERT_EQ(wqes.size(), 1u) << length;
      EXPECT_EQ(wqes[0].bytes(), content(length));
      expect_inline(wqes[0], length);
      ring.complete();
    }
  }
  EXPECT_EQ(pool.available(), 511u);
}

TEST_P(TxFull, Chains) {
  {
    TxRing ring(keys, setting());
    const std::vector<std::vector<std::size_t>> shapes = {
        {60, 60},
        {14, 500},
        {1, 1, 1, 1, 1, 1, 1, 1, 60},
        {100, 0, 100},
        {0, 64},
        {64, 0},
        {10, 10, 10, 10, 10, 10, 10},
        {1000, 1000, 1000, 1000},
        {77, 1, 5000 % 1900},
    };
    unsigned seed = 0;
    for (unsigned round = 0; round < 30; ++round) {
      for (const auto& shape : shapes) {
        const std::size_t length = std::accumulate(shape.begin(), shape.end(), std::size_t{0});
        const auto bytes = content(length, ++seed);
        rte_mbuf* packet = pool.chain(bytes, shape);
        const bool tag = seed % 3 == 0;
        if (tag) {
          packet->ol_flags |= RTE_MBUF_F_TX_VLAN;
          packet->vlan_tci = 0x123;
        }
        ASSERT_EQ(ring.burst(packet), 1);
        const auto wqes = ring.take();
        ASSERT_EQ(wqes.size(), 1u);
        EXPECT_EQ(wqes[0].bytes(), tag && GetParam() != 0 ? tagged(bytes, 0x123) : bytes) << seed;
        expect_inline(wqes[0], length + (tag && GetParam() != 0 ? 4 : 0));
        EXPECT_EQ(wqes[0].insert.has_value(), tag && GetParam() == 0);
        for (const prm::WqeData& segment : wqes[0].segments) EXPECT_NE(segment.byte_count, 0u);
        EXPECT_EQ(ring.doorbell(), ring.first_word_of(wqes[0].index));
        ring.complete();
      }
    }
    EXPECT_EQ(ring.queue().counters.packets, seed);
  }
  EXPECT_EQ(pool.available(), 511u);
}

TEST_P(TxFull, ChainsFillTheRingAndAreFreed) {
  for (const bool fast_free : {false, true}) {
    {
      TxSetting s = setting();
      s.variant.fast_free = fast_free;
      TxRing ring(keys, s);
      unsigned sent = 0, seen = 0;
      const auto length_of = [](unsigned n) { return 200 + n % 100; };
      for (unsigned round = 0; round < 60; ++round) {
        std::vector<rte_mbuf*> burst;
        for (unsigned i = 0; i < 11; ++i) {
          const unsigned n = sent + i;
          const std::size_t lengths[] = {50, 50, 50, length_of(n) - 150};
          burst.push_back(n % 3 == 0 ? pool.packet(content(length_of(n), n))
                                     : pool.chain(content(length_of(n), n), lengths));
        }
        const std::uint16_t taken = ring.burst(burst);
        sent += taken;
        for (std::size_t i = taken; i < burst.size(); ++i) rte_pktmbuf_free(burst[i]);
        if (round % 3 == 2) {
          for (const SendWqe& wqe : ring.take()) {
            EXPECT_EQ(wqe.bytes(), content(length_of(seen), seen));
            ++seen;
          }
          ring.complete();
        }
      }
      EXPECT_GT(sent, 200u);
    }
    EXPECT_EQ(pool.available(), 511u);
    // Raw mbufs in the pool must be as a raw allocation expects them.
    std::vector<rte_mbuf*> all(511);
    ASSERT_EQ(rte_mempool_get_bulk(pool.get(), reinterpret_cast<void**>(all.data()), 511), 0);
    for (rte_mbuf* mbuf : all) {
      EXPECT_EQ(mbuf->next, nullptr);
      EXPECT_EQ(mbuf->nb_segs, 1);
      EXPECT_EQ(rte_mbuf_refcnt_read(mbuf), 1);
    }
    rte_mempool_put_bulk(pool.get(), reinterpret_cast<void**>(all.data()), 511);
  }
}

TEST_P(TxFull, LongestChain) {
  TxSetting s = setting();
  s.max_ds = 12;
  TxRing ring(keys, s);
  const std::size_t inline_units = GetParam() == 0 ? 0 : (GetParam() - 2u + 15) / 16;
  const std::size_t most = 12 - 2 - inline_units;
  // The header has a segment of its own, so that the others count.
  std::vector<std::size_t> lengths(most, 20);
  std::size_t extra = 0;
  if (GetParam() != 0) {
    lengths.insert(lengths.begin(), GetParam());
    extra = GetParam();
  }
  rte_mbuf* fits = pool.chain(content(most * 20 + extra), lengths);
  lengths.push_back(20);
  rte_mbuf* too_long = pool.chain(content((most + 1) * 20 + extra), lengths);
  rte_mbuf* after = pool.packet(content(64));
  rte_mbuf* burst[] = {too_long, fits, after};
  EXPECT_EQ(tx_prepare(&ring.queue(), burst, 3), 0);
  EXPECT_EQ(rte_errno, EINVAL);
  ASSERT_EQ(ring.burst(burst), 3);
  const auto wqes = ring.take();
  ASSERT_EQ(wqes.size(), 2u);
  EXPECT_EQ(wqes[0].bytes(), content(most * 20 + extra));
  EXPECT_EQ(wqes[0].ds, 12u);
  EXPECT_EQ(wqes[1].bytes(), content(64));
  EXPECT_EQ(ring.queue().counters.drop_chain_too_long, 1u);
}

TEST_P(TxFull, BrokenChains) {
  TxRing ring(keys, setting());
  const std::size_t lengths[] = {60, 60};
  rte_mbuf* lies = pool.chain(content(120), lengths);
  lies->pkt_len = 150;
  rte_mbuf* unknown_tail = pool.chain(content(120, 2), lengths);
  const Pool other(7);
  rte_mbuf* foreign = other.packet(content(60));
  ASSERT_EQ(rte_pktmbuf_chain(unknown_tail, foreign), 0);
  rte_mbuf* good = pool.packet(content(64, 3));
  rte_mbuf* burst[] = {lies, unknown_tail, good};
  ASSERT_EQ(ring.burst(burst), 3);
  const auto wqes = ring.take();
  ASSERT_EQ(wqes.size(), 1u);
  EXPECT_EQ(wqes[0].bytes(), content(64, 3));
  EXPECT_EQ(ring.queue().counters.drop_chain, 1u);
  EXPECT_EQ(ring.queue().counters.drop_unknown_memory, 1u);
  EXPECT_EQ(other.available(), 7u);
}

TEST_P(TxFull, ACompletionIsOfAllBlocks) {
  TxRing ring(keys, setting());
  const std::size_t lengths[] = {100, 20, 20, 20, 20, 20};
  ASSERT_EQ(ring.burst(pool.chain(content(200), lengths)), 1);
  EXPECT_GT(ring.record(), 1u);
  ring.take();
  ring.complete();
  EXPECT_EQ(tx_descriptor_status(&ring.queue(), 63), RTE_ETH_TX_DESC_DONE);
  EXPECT_EQ(ring.queue().completed, ring.queue().produced);
}

TEST_P(TxFull, NoRoomForALongOneLeavesItToTheCaller) {
  TxRing ring(keys, setting());
  std::vector<rte_mbuf*> burst;
  const std::size_t lengths[] = {GetParam() + 20u, 20, 20, 20, 20, 20};
  const std::size_t length = GetParam() + 120u;
  for (unsigned i = 0; i < 64; ++i) burst.push_back(pool.chain(content(length, i), lengths));
  const std::uint16_t taken = ring.burst(burst);
  EXPECT_LT(taken, 64);
  const auto wqes = ring.take();
  EXPECT_EQ(wqes.size(), taken);
  for (std::size_t i = taken; i < burst.size(); ++i) {
    EXPECT_EQ(bytes_of(*burst[i]), content(length, static_cast<unsigned>(i)));
    rte_pktmbuf_free(burst[i]);
  }
}

TEST_P(TxFull, PrepareNamesWhatIsNotThere) {
  TxRing ring(keys, setting());
  rte_mbuf* good = pool.packet(content(100));
  good->ol_flags |= ip | RTE_MBUF_F_TX_UDP_CKSUM | RTE_MBUF_F_TX_VLAN;
  for (const std::uint64_t flag : {std::uint64_t{RTE_MBUF_F_TX_TCP_SEG}, std::uint64_t{RTE_MBUF_F_TX_UDP_SEG},
                                   std::uint64_t{RTE_MBUF_F_TX_QINQ}, std::uint64_t{RTE_MBUF_F_TX_SCTP_CKSUM},
                                   std::uint64_t{RTE_MBUF_F_TX_TUNNEL_VXLAN}}) {
    rte_mbuf* bad = pool.packet(content(100));
    bad->ol_flags |= flag;
    rte_mbuf* burst[] = {good, bad};
    EXPECT_EQ(tx_prepare(&ring.queue(), burst, 2), 1) << std::hex << flag;
    EXPECT_EQ(rte_errno, ENOTSUP);
    rte_pktmbuf_free(bad);
  }
  EXPECT_EQ(tx_prepare(&ring.queue(), &good, 1), 1);
  rte_pktmbuf_free(good);
}

}  // namespace
}  // namespace chime::net
