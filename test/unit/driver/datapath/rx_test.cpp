// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <rte_mbuf_dyn.h>

#include "drivers/net/chime/flow_mark.h"
#include "rings.h"

namespace chime::net {
namespace {

void free_all(const std::vector<rte_mbuf*>& packets) {
  for (rte_mbuf* packet : packets) rte_pktmbuf_free(packet);
}

/// Both variants must do what the plain one does.
class Rx : public testing::TestWithParam<RxVariant> {
 protected:
  Rx() { keys.add(pool, test_lkey); }
  RxSetting setting() const {
    RxSetting s;
    s.variant = GetParam();
    return s;
  }
  Pool pool;
  Keys keys;
};
INSTANTIATE_TEST_SUITE_P(Variants, Rx, testing::Values(RxVariant::plain, RxVariant::full),
                         [](const auto& info) { return info.param == RxVariant::plain ? "plain" : "full"; });

TEST_P(Rx, StartPostsEveryWqeBehindTheHeadroom) {
  RxRing ring(pool, keys, setting());
  EXPECT_EQ(ring.posted(), 64u);
  EXPECT_EQ(pool.available(), 511u - 64);
  for (unsigned i = 0; i < 64; ++i) {
    const auto segments = ring.segments_of(i);
    ASSERT_EQ(segments.size(), 1u);
    EXPECT_EQ(segments[0].lkey, test_lkey);
    EXPECT_EQ(segments[0].byte_count, RTE_MBUF_DEFAULT_DATAROOM);
    EXPECT_EQ(segments[0].address,
              reinterpret_cast<std::uintptr_t>(ring.queue().mbufs[i]->buf_addr) + RTE_PKTMBUF_HEADROOM);
  }
}

TEST_P(Rx, NothingArrived) {
  RxRing ring(pool, keys, setting());
  EXPECT_TRUE(ring.burst().empty());
  EXPECT_EQ(ring.queue().counters.packets, 0u);
}

TEST_P(Rx, PacketsInOrderThroughManyRounds) {
  RxRing ring(pool, keys, setting());
  std::uint64_t bytes = 0;
  unsigned sent = 0, got = 0;
  while (sent < 64 * 7) {
    for (unsigned i = 0; i < 5 + sent % 23; ++i) {
      const std::size_t length = 60 + sent % 900;
      if (!ring.arrive({.content = content(length, sent)})) break;
      bytes += length;
      ++sent;
    }
    for (rte_mbuf* packet : ring.burst(static_cast<std::uint16_t>(1 + got % 40))) {
      EXPECT_EQ(bytes_of(*packet), content(60 + got % 900, got));
      EXPECT_EQ(packet->pkt_len, 60 + got % 900);
      EXPECT_EQ(packet->port, test_port);
      EXPECT_EQ(packet->nb_segs, 1);
      EXPECT_EQ(packet->next, nullptr);
      EXPECT_EQ(rte_mbuf_refcnt_read(packet), 1);
      EXPECT_EQ(packet->data_off, RTE_PKTMBUF_HEADROOM);
      rte_pktmbuf_free(packet);
      ++got;
    }
  }
  for (auto rest = ring.burst(64); !rest.empty(); rest = ring.burst(64)) {
    got += static_cast<unsigned>(rest.size());
    free_all(rest);
  }
  EXPECT_EQ(got, sent);
  EXPECT_EQ(ring.queue().counters.packets, sent);
  EXPECT_EQ(ring.queue().counters.bytes, bytes);
  EXPECT_EQ(ring.cq_record(), sent);
  EXPECT_GE(ring.posted(), 64u - ring.queue().refill_threshold + 1);
}

TEST_P(Rx, ReleaseGivesEveryMbufBack) {
  {
    RxRing ring(pool, keys, setting());
    for (unsigned i = 0; i < 21; ++i) ring.arrive({.content = content(100)});
    free_all(ring.burst());
    EXPECT_LT(pool.available(), 511u);
  }
  EXPECT_EQ(pool.available(), 511u);
}

/// Mbufs come from the lcore's cache, or from the pool when too few are there: of neither any is lost or
/// doubled.
TEST_P(Rx, CachedMbufsAreReplenishedFrom) {
  const Pool cached(511, RTE_MBUF_DEFAULT_BUF_SIZE, 40);
  Keys cached_keys;
  cached_keys.add(cached, test_lkey);
  {
    RxRing ring(cached, cached_keys, setting());
    std::vector<rte_mbuf*> held;
    for (unsigned i = 0; i < 64 * 9; ++i) {
      ASSERT_TRUE(ring.arrive({.content = content(60, i)}));
      const auto packets = ring.burst();
      ASSERT_EQ(packets.size(), 1u);
      EXPECT_EQ(bytes_of(*packets[0]), content(60, i));
      held.push_back(packets[0]);
      if (held.size() < 1 + i / 8) continue;  // the cache is full now and then, and empty
      free_all(held);
      held.clear();
    }
    free_all(held);
    EXPECT_EQ(ring.queue().counters.no_mbuf, 0u);
  }
  EXPECT_EQ(cached.available(), 511u);
}

TEST_P(Rx, RegisteredPoolMemoryIsAskedFor) {
  const Pool other;
  EXPECT_THROW(RxRing(other, keys, setting()), std::runtime_error);
}

TEST_P(Rx, HashOnlyWhereTheCardHashed) {
  RxRing ring(pool, keys, setting());
  ring.arrive({.content = content(64), .hash = 0xdeadbeef, .hash_type = 0x0f});
  ring.arrive({.content = content(64), .hash = 0, .hash_type = 0x0f});
  ring.arrive({.content = content(64), .hash = 0x1234, .hash_type = 0});
  const auto packets = ring.burst();
  ASSERT_EQ(packets.size(), 3u);
  EXPECT_TRUE(packets[0]->ol_flags & RTE_MBUF_F_RX_RSS_HASH);
  EXPECT_EQ(packets[0]->hash.rss, 0xdeadbeefu);
  EXPECT_TRUE(packets[1]->ol_flags & RTE_MBUF_F_RX_RSS_HASH);
  EXPECT_EQ(packets[1]->hash.rss, 0u);
  EXPECT_FALSE(packets[2]->ol_flags & RTE_MBUF_F_RX_RSS_HASH);
  free_all(packets);
}

TEST_P(Rx, FlagsOfOffloadsThatAreOffStayOff) {
  RxSetting s = setting();
  s.flags = 0;
  RxRing ring(pool, keys, s);
  ring.arrive({.content = content(64), .hash = 1, .hash_type = 0x0f});
  ring.arrive({.content = content(64), .l3_ok = false, .l4_ok = false});
  const auto packets = ring.burst();
  ASSERT_EQ(packets.size(), 2u);
  EXPECT_EQ(packets[0]->ol_flags, 0u);
  EXPECT_EQ(packets[1]->ol_flags, 0u);
  free_all(packets);
}

struct Outcome {
  const char* name;
  prm::cqe_l3 l3;
  prm::cqe_l4 l4;
  bool l3_ok, l4_ok, fragment;
  std::uint32_t type;
  std::uint64_t flags;
};
TEST_P(Rx, PacketTypesAndChecksums) {
  using enum prm::cqe_l3;
  using l4 = prm::cqe_l4;
  constexpr std::uint32_t ether = RTE_PTYPE_L2_ETHER;
  constexpr std::uint32_t v4 = ether | RTE_PTYPE_L3_IPV4_EXT_UNKNOWN,
                          v6 = ether | RTE_PTYPE_L3_IPV6_EXT_UNKNOWN;
  constexpr std::uint64_t ip_good = RTE_MBUF_F_RX_IP_CKSUM_GOOD, ip_bad = RTE_MBUF_F_RX_IP_CKSUM_BAD;
  constexpr std::uint64_t l4_good = RTE_MBUF_F_RX_L4_CKSUM_GOOD, l4_bad = RTE_MBUF_F_RX_L4_CKSUM_BAD;
  const Outcome outcomes[] = {
      {"not IP", none, l4::none, false, false, false, ether, 0},
      {"not IP, stray l4", none, l4::udp, true, true, false, ether, 0},
      {"IPv4 UDP", ipv4, l4::udp, true, true, false, v4 | RTE_PTYPE_L4_UDP, ip_good | l4_good},
      {"IPv4 TCP, bad L4", ipv4, l4::tcp_ack_and_data, true, false, false, v4 | RTE_PTYPE_L4_TCP,
       ip_good | l4_bad},
      {"IPv4 TCP without ack", ipv4, l4::tcp_no_ack, true, true, false, v4 | RTE_PTYPE_L4_TCP,
       ip_good | l4_good},
      {"IPv4 TCP without data", ipv4, l4::tcp_ack_no_data, true, true, false, v4 | RTE_PTYPE_L4_TCP,
       ip_good | l4_good},
      {"IPv4, bad header", ipv4, l4::udp, false, true, false, v4 | RTE_PTYPE_L4_UDP, ip_bad | l4_good},
      {"IPv4 ICMP", ipv4, l4::none, true, false, false, v4 | RTE_PTYPE_L4_NONFRAG, ip_good},
      {"IPv4 fragment", ipv4, l4::udp, true, false, true, v4 | RTE_PTYPE_L4_FRAG, ip_good},
      {"IPv6 UDP", ipv6, l4::udp, true, true, false, v6 | RTE_PTYPE_L4_UDP, ip_good | l4_good},
      {"IPv6 UDP, bad L4", ipv6, l4::udp, true, false, false, v6 | RTE_PTYPE_L4_UDP, ip_good | l4_bad},
      {"IPv6 without l3_ok", ipv6, l4::none, false, false, false, v6 | RTE_PTYPE_L4_NONFRAG, 0},
      {"IPv6 fragment", ipv6, l4::none, true, false, true, v6 | RTE_PTYPE_L4_FRAG, ip_good},
  };
  RxRing ring(pool, keys, setting());
  for (const Outcome& o : outcomes) {
    ring.arrive({.content = content(64),
                 .l3 = o.l3,
                 .l4 = o.l4,
                 .l3_ok = o.l3_ok,
                 .l4_ok = o.l4_ok,
                 .fragment = o.fragment});
  }
  const auto packets = ring.burst();
  ASSERT_EQ(packets.size(), std::size(outcomes));
  for (std::size_t i = 0; i < packets.size(); ++i) {
    EXPECT_EQ(packets[i]->packet_type, outcomes[i].type) << outcomes[i].name;
    EXPECT_EQ(packets[i]->ol_flags, outcomes[i].flags) << outcomes[i].name;
  }
  for (const std::uint32_t* type = rx_supported_packet_types; *type != RTE_PTYPE_UNKNOWN; ++type)
    EXPECT_TRUE(std::any_of(packets.begin(), packets.end(),
                            [&](const rte_mbuf* p) { return (p->packet_type & *type) == *type; }))
        << std::hex << *type;
  free_all(packets);
}

TEST_P(Rx, StrippedVlanTag) {
  RxRing ring(pool, keys, setting());
  ring.arrive({.content = content(64), .stripped_vlan = 0xa123});
  ring.arrive({.content = content(64)});
  const auto packets = ring.burst();
  ASSERT_EQ(packets.size(), 2u);
  constexpr std::uint64_t flags = RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
  EXPECT_EQ(packets[0]->ol_flags & flags, flags);
  EXPECT_EQ(packets[0]->vlan_tci, 0xa123);
  EXPECT_EQ(packets[1]->ol_flags & flags, 0u);
  free_all(packets);
}

TEST_P(Rx, Marks) {
  RxRing ring(pool, keys, setting());
  ring.arrive({.content = content(64)});
  for (const std::uint32_t id : {0u, 1u, 0x123456u, max_mark_id})
    ring.arrive({.content = content(64), .flow_tag = flow_tag_of_mark(id)});
  ring.arrive({.content = content(64), .flow_tag = flow_tag_flag});
  const auto packets = ring.burst();
  ASSERT_EQ(packets.size(), 6u);
  constexpr std::uint64_t both = RTE_MBUF_F_RX_FDIR | RTE_MBUF_F_RX_FDIR_ID;
  EXPECT_EQ(packets[0]->ol_flags & both, 0u);
  unsigned i = 1;
  for (const std::uint32_t id : {0u, 1u, 0x123456u, max_mark_id}) {
    EXPECT_EQ(packets[i]->ol_flags & both, both);
    EXPECT_EQ(packets[i++]->hash.fdir.hi, id);
  }
  EXPECT_EQ(packets[5]->ol_flags & both, RTE_MBUF_F_RX_FDIR);
  free_all(packets);
}

TEST_P(Rx, OldFlagsDoNotStay) {
  RxRing ring(pool, keys, setting());
  for (unsigned round = 0; round < 20; ++round) {
    const bool marked = round % 2 == 0;
    for (unsigned i = 0; i < 32; ++i) ring.arrive({.content = content(64), .flow_tag = marked ? 5u : 0u});
    for (rte_mbuf* packet : ring.burst()) {
      EXPECT_EQ((packet->ol_flags & RTE_MBUF_F_RX_FDIR) != 0, marked);
      rte_pktmbuf_free(packet);
    }
  }
}

TEST_P(Rx, EmptyPoolIsCountedAndGotOver) {
  RxRing ring(pool, keys, setting());
  std::vector<rte_mbuf*> hoard(pool.available());
  ASSERT_EQ(rte_pktmbuf_alloc_bulk(pool.get(), hoard.data(), static_cast<unsigned>(hoard.size())), 0);
  std::vector<rte_mbuf*> held;
  unsigned got = 0;
  while (ring.arrive({.content = content(64, got)})) {
    const auto packets = ring.burst();
    got += static_cast<unsigned>(packets.size());
    held.insert(held.end(), packets.begin(), packets.end());
  }
  EXPECT_EQ(got, 64u) << "what was posted still arrives";
  EXPECT_GT(ring.queue().counters.no_mbuf, 0u);
  EXPECT_EQ(ring.posted(), 0u);
  EXPECT_TRUE(ring.burst().empty());

  rte_pktmbuf_free_bulk(hoard.data(), static_cast<unsigned>(hoard.size()));
  EXPECT_TRUE(ring.burst().empty());
  EXPECT_EQ(ring.posted(), 64u) << "an idle burst posts again";
  for (unsigned i = 0; i < 64; ++i) EXPECT_TRUE(ring.arrive({.content = content(64, i)}));
  const auto packets = ring.burst(64);
  ASSERT_EQ(packets.size(), 64u);
  for (unsigned i = 0; i < 64; ++i) EXPECT_EQ(bytes_of(*packets[i]), content(64, i));
  free_all(packets);
  free_all(held);
}

TEST_P(Rx, TooSmallAPoolPostsNothing) {
  const Pool small(40);
  Keys small_keys;
  small_keys.add(small, test_lkey);
  EXPECT_THROW(RxRing(small, small_keys, setting()), std::runtime_error);
  EXPECT_EQ(small.available(), 40u);
}

TEST(RxFull, Timestamps) {
  const Pool pool;
  Keys keys;
  keys.add(pool, test_lkey);
  RxRing ring(pool, keys, {.timestamps = true, .variant = RxVariant::full});
  EXPECT_EQ(rx_variant(ring.queue()), RxVariant::full);
  ring.arrive({.content = content(64), .timestamp = 0x1122334455667788});
  const auto packets = ring.burst();
  ASSERT_EQ(packets.size(), 1u);
  EXPECT_TRUE(packets[0]->ol_flags & ring.queue().timestamp_flag);
  EXPECT_EQ(*RTE_MBUF_DYNFIELD(packets[0], ring.queue().timestamp_offset, rte_mbuf_timestamp_t*),
            0x1122334455667788u);
  free_all(packets);
}

TEST(RxFull, ARefusedRefillLeavesNothingToFreeTwice) {
  // A cache makes the mempool write into the ring before it finds that the rest is missing.
  const Pool pool(255, RTE_MBUF_DEFAULT_BUF_SIZE, 16);
  Keys keys;
  keys.add(pool, test_lkey);
  {
    RxRing ring(pool, keys, {.timestamps = true, .variant = RxVariant::full});
    std::vector<rte_mbuf*> hoard;
    while (rte_mbuf* mbuf = rte_pktmbuf_alloc(pool.get())) hoard.push_back(mbuf);
    for (unsigned i = 0; i < 5; ++i) {
      rte_pktmbuf_free(hoard.back());
      hoard.pop_back();
    }
    for (unsigned i = 0; i < 8; ++i) ASSERT_TRUE(ring.arrive({.content = content(64)}));
    std::vector<rte_mbuf*> held = ring.burst();
    EXPECT_EQ(held.size(), 8u);
    EXPECT_GT(ring.queue().counters.no_mbuf, 0u);
    for (unsigned i = 0; i < 8; ++i) EXPECT_EQ(ring.queue().mbufs[i], nullptr);
    free_all(held);
    free_all(hoard);
  }
  EXPECT_EQ(pool.available(), 255u);
}

TEST(RxFull, PoolInSeveralRanges) {
  const Pool pool;
  Keys keys;
  // Halves of the pool's memory under different keys.
  struct Memory {
    std::byte* start;
    std::size_t length;
  } memory{};
  rte_mempool_mem_iter(
      pool.get(),
      [](rte_mempool*, void* to, rte_mempool_memhdr* header, unsigned) {
        *static_cast<Memory*>(to) = {static_cast<std::byte*>(header->addr), header->len};
      },
      &memory);
  const std::size_t half = memory.length / 2 & ~std::size_t{4095};
  keys.add(memory.start, half, 0x111);
  keys.add(memory.start + half, memory.length - half, 0x222);
  RxRing ring(pool, keys, {.log_size = 8, .variant = RxVariant::full});
  EXPECT_TRUE(ring.queue().many_keys);
  EXPECT_EQ(rx_variant(ring.queue()), RxVariant::full);
  unsigned upper = 0;
  for (unsigned i = 0; i < 256; ++i) {
    const prm::WqeData segment = ring.segments_of(i)[0];
    const bool in_upper = segment.address >= reinterpret_cast<std::uintptr_t>(memory.start + half);
    EXPECT_EQ(segment.lkey, in_upper ? 0x222u : 0x111u);
    upper += in_upper;
  }
  EXPECT_GT(upper, 0u);

  // Memory that is no longer registered is not posted.
  keys.clear();
  for (unsigned i = 0; i < 16; ++i) ring.arrive({.content = content(64)});
  const unsigned before = pool.available();
  free_all(ring.burst());
  EXPECT_EQ(ring.posted(), 240u);
  EXPECT_GT(ring.queue().counters.unknown_memory, 0u);
  EXPECT_EQ(pool.available(), before + 16);
}

}  // namespace
}  // namespace chime::net
