// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "rings.h"

namespace chime::net {
namespace {

constexpr unsigned room = 256;  ///< bytes of an mbuf behind the headroom
constexpr RxSetting five_segments = {.log_size = 4, .segments = 5, .refill = 4, .variant = RxVariant::full};

class RxScatter : public testing::Test {
 protected:
  RxScatter() { keys.add(pool, test_lkey); }
  Pool pool{1023, RTE_PKTMBUF_HEADROOM + room};
  Keys keys;
};

TEST_F(RxScatter, UnusedSlotsEndTheList) {
  RxRing ring(pool, keys, five_segments);
  EXPECT_EQ(ring.queue().log_slots, 3);
  EXPECT_EQ(rx_variant(ring.queue()), RxVariant::full);
  for (unsigned i = 0; i < 16; ++i) {
    const auto segments = ring.segments_of(i);
    ASSERT_EQ(segments.size(), 5u);
    for (const prm::WqeData& segment : segments) {
      EXPECT_EQ(segment.byte_count, room);
      EXPECT_EQ(segment.lkey, test_lkey);
    }
  }
  EXPECT_EQ(pool.available(), 1023u - 5 * 16);
}

TEST_F(RxScatter, EveryLength) {
  RxRing ring(pool, keys, five_segments);
  unsigned seed = 0;
  for (const unsigned length :
       {60u, room - 1, room, room + 1, 2 * room, 2 * room + 1, 3 * room - 1, 5 * room - 1, 5 * room}) {
    ASSERT_TRUE(ring.arrive({.content = content(length, seed)}));
    const auto packets = ring.burst();
    ASSERT_EQ(packets.size(), 1u);
    const rte_mbuf& packet = *packets[0];
    EXPECT_EQ(packet.pkt_len, length);
    EXPECT_EQ(packet.nb_segs, (length + room - 1) / room);
    EXPECT_EQ(bytes_of(packet), content(length, seed));
    const char* reason = nullptr;
    EXPECT_EQ(rte_mbuf_check(&packet, 1, &reason), 0) << reason;
    rte_pktmbuf_free(packets[0]);
    ++seed;
  }
}

TEST_F(RxScatter, ManyRoundsLeakNothing) {
  {
    RxRing ring(pool, keys, five_segments);
    unsigned sent = 0, got = 0;
    std::uint64_t bytes = 0;
    const auto length_of = [](unsigned n) { return 60 + (n * 397) % (5 * room - 60); };
    while (got < 16 * 40) {
      while (ring.posted() != 0 && sent % 11 != 10) {
        ring.arrive({.content = content(length_of(sent), sent)});
        bytes += length_of(sent++);
      }
      if (sent % 11 == 10 && ring.posted() != 0) {
        ring.arrive({.content = content(length_of(sent), sent)});
        bytes += length_of(sent++);
      }
      for (rte_mbuf* packet : ring.burst(7)) {
        ASSERT_EQ(bytes_of(*packet), content(length_of(got), got));
        rte_pktmbuf_free(packet);
        ++got;
      }
      ASSERT_GE(pool.available(), 1023u - 5 * 16);
    }
    while (got < sent) {
      for (rte_mbuf* packet : ring.burst(7)) {
        rte_pktmbuf_free(packet);
        ++got;
      }
    }
    EXPECT_EQ(ring.queue().counters.packets, sent);
    EXPECT_EQ(ring.queue().counters.bytes, bytes);
  }
  EXPECT_EQ(pool.available(), 1023u);
}

TEST_F(RxScatter, SegmentsThatWereNotReachedStayPosted) {
  RxRing ring(pool, keys, five_segments);
  const auto before = ring.segments_of(0);
  for (unsigned i = 0; i < 4; ++i) ring.arrive({.content = content(60)});
  for (rte_mbuf* packet : ring.burst()) rte_pktmbuf_free(packet);
  EXPECT_EQ(ring.posted(), 16u);
  const auto after = ring.segments_of(0);
  for (unsigned s = 1; s < 5; ++s)
    EXPECT_EQ(std::uint64_t{after[s].address}, std::uint64_t{before[s].address});
}

TEST_F(RxScatter, PoolRunsEmptyInTheMiddleOfABatch) {
  {
    RxRing ring(pool, keys, five_segments);
    std::vector<rte_mbuf*> hoard(pool.available() - 7);  // one WQE's mbufs and two
    ASSERT_EQ(rte_pktmbuf_alloc_bulk(pool.get(), hoard.data(), static_cast<unsigned>(hoard.size())), 0);
    std::vector<rte_mbuf*> held;
    for (unsigned i = 0; i < 16; ++i) {
      ASSERT_TRUE(ring.arrive({.content = content(5 * room, i)}));
      const auto packets = ring.burst();
      held.insert(held.end(), packets.begin(), packets.end());
    }
    EXPECT_EQ(held.size(), 16u);
    EXPECT_EQ(ring.posted(), 0u);
    EXPECT_GT(ring.queue().counters.no_mbuf, 0u);
    rte_pktmbuf_free_bulk(hoard.data(), static_cast<unsigned>(hoard.size()));
    EXPECT_TRUE(ring.burst().empty());
    EXPECT_EQ(ring.posted(), 16u);
    for (unsigned i = 0; i < 16; ++i) ASSERT_TRUE(ring.arrive({.content = content(5 * room - i, i)}));
    const auto packets = ring.burst();
    ASSERT_EQ(packets.size(), 16u);
    for (unsigned i = 0; i < 16; ++i) EXPECT_EQ(bytes_of(*packets[i]), content(5 * room - i, i));
    for (rte_mbuf* packet : held) rte_pktmbuf_free(packet);
    for (rte_mbuf* packet : packets) rte_pktmbuf_free(packet);
  }
  EXPECT_EQ(pool.available(), 1023u);
}

TEST_F(RxScatter, SegmentsDoNotKeepWhatTheirLastUserWrote) {
  std::vector<rte_mbuf*> all(pool.available());
  ASSERT_EQ(rte_pktmbuf_alloc_bulk(pool.get(), all.data(), static_cast<unsigned>(all.size())), 0);
  for (rte_mbuf* mbuf : all) {
    mbuf->data_off = 3;
    mbuf->port = 99;
  }
  rte_pktmbuf_free_bulk(all.data(), static_cast<unsigned>(all.size()));
  RxRing ring(pool, keys, five_segments);
  ASSERT_TRUE(ring.arrive({.content = content(5 * room)}));
  const auto packets = ring.burst();
  ASSERT_EQ(packets.size(), 1u);
  EXPECT_EQ(bytes_of(*packets[0]), content(5 * room));
  for (const rte_mbuf* segment = packets[0]; segment != nullptr; segment = segment->next) {
    EXPECT_EQ(segment->data_off, RTE_PKTMBUF_HEADROOM);
    EXPECT_EQ(segment->port, test_port);
  }
  rte_pktmbuf_free(packets[0]);
}

TEST_F(RxScatter, StopInTheMiddleOfARound) {
  for (unsigned used = 0; used < 16; ++used) {
    {
      RxRing ring(pool, keys, five_segments);
      for (unsigned i = 0; i < used; ++i) ring.arrive({.content = content(60 + i * 70)});
      for (rte_mbuf* packet : ring.burst()) rte_pktmbuf_free(packet);
    }
    EXPECT_EQ(pool.available(), 1023u) << used;
  }
}

}  // namespace
}  // namespace chime::net
