// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <string>

#include "drivers/net/chime/queue_health.h"
#include "rings.h"

namespace chime::net {
namespace {

class RxRecovery : public testing::TestWithParam<RxVariant> {
 protected:
  RxRecovery() { keys.add(pool, test_lkey); }
  static Health stage(RxRing& ring) { return ring.queue().health.stage.load(); }
  static void set(RxRing& ring, Health health) { ring.queue().health.stage.store(health); }
  static unsigned drain(RxRing& ring) {
    unsigned count = 0;
    for (rte_mbuf* packet : ring.burst(64)) {
      rte_pktmbuf_free(packet);
      ++count;
    }
    return count;
  }
  Pool pool;
  Keys keys;
};
INSTANTIATE_TEST_SUITE_P(Variants, RxRecovery, testing::Values(RxVariant::plain, RxVariant::full),
                         [](const auto& info) { return info.param == RxVariant::plain ? "plain" : "full"; });

TEST_P(RxRecovery, AllStages) {
  {
    RxRing ring(pool, keys, {.variant = GetParam()});
    for (unsigned i = 0; i < 3; ++i) ring.arrive({.content = content(64)});
    ring.fail(0x01, 0x5a);
    for (unsigned i = 0; i < 5; ++i) ring.fail(0x05);  // the rest is flushed

    EXPECT_EQ(drain(ring), 3u) << "what came before the error is good";
    EXPECT_EQ(stage(ring), Health::failed);
    EXPECT_EQ(ring.queue().health.error.syndrome, 0x01);
    EXPECT_EQ(ring.queue().health.error.vendor_syndrome, 0x5a);
    EXPECT_EQ(ring.queue().health.error.wqe_counter, 3);
    EXPECT_EQ(ring.queue().counters.error_cqes, 1u);

    // Until the control side has acted, polls find nothing and change nothing.
    EXPECT_EQ(drain(ring), 0u);
    EXPECT_EQ(stage(ring), Health::failed);
    EXPECT_EQ(ring.queue().counters.error_cqes, 1u);

    set(ring, Health::quiesced);
    ring.reset_rq();
    EXPECT_EQ(drain(ring), 0u);
    EXPECT_EQ(stage(ring), Health::rewound);
    EXPECT_EQ(ring.queue().counters.recoveries, 1u);
    EXPECT_EQ(ring.posted(), 64u);
    EXPECT_EQ(ring.cq_record(), ring.produced()) << "the CQ is empty";

    EXPECT_EQ(drain(ring), 0u);
    EXPECT_EQ(stage(ring), Health::rewound);
    set(ring, Health::good);
    // The CQ goes on where it was, the RQ begins anew.
    unsigned sent = 0, got = 0;
    for (unsigned round = 0; round < 10; ++round) {
      for (unsigned i = 0; i < 32; ++i) sent += ring.arrive({.content = content(64, sent)});
      for (rte_mbuf* packet : ring.burst(64)) {
        EXPECT_EQ(bytes_of(*packet), content(64, got++));
        rte_pktmbuf_free(packet);
      }
    }
    EXPECT_EQ(got, sent);
    EXPECT_GT(sent, 64u * 4);
  }
  EXPECT_EQ(pool.available(), 511u);
}

TEST_P(RxRecovery, FromEveryPlaceOfTheRing) {
  for (unsigned at = 0; at < 64; at += 7) {
    {
      RxRing ring(pool, keys, {.variant = GetParam()});
      for (unsigned i = 0; i < at; ++i) ring.arrive({.content = content(64)});
      EXPECT_EQ(drain(ring), at);
      ring.fail(0x04);
      EXPECT_EQ(drain(ring), 0u);
      ASSERT_EQ(stage(ring), Health::failed);
      set(ring, Health::quiesced);
      ring.reset_rq();
      drain(ring);
      ASSERT_EQ(stage(ring), Health::rewound);
      set(ring, Health::good);
      for (unsigned i = 0; i < 64; ++i) ASSERT_TRUE(ring.arrive({.content = content(64, i)}));
      const auto packets = ring.burst(64);
      ASSERT_EQ(packets.size(), 64u);
      for (unsigned i = 0; i < 64; ++i) {
        EXPECT_EQ(bytes_of(*packets[i]), content(64, i));
        rte_pktmbuf_free(packets[i]);
      }
    }
    EXPECT_EQ(pool.available(), 511u);
  }
}

TEST_P(RxRecovery, RingsOutOfStepWrapApart) {
  RxRing ring(pool, keys, {.variant = GetParam()});
  for (unsigned i = 0; i < 5; ++i) ring.arrive({.content = content(64)});
  EXPECT_EQ(drain(ring), 5u);
  ring.fail(0x04);
  drain(ring);
  set(ring, Health::quiesced);
  ring.reset_rq();
  drain(ring);
  set(ring, Health::good);
  // The CQ is six entries ahead of the RQ: bursts run over the end of either at different packets.
  unsigned sent = 0, got = 0;
  for (unsigned round = 0; round < 40; ++round) {
    for (unsigned i = 0; i < 37; ++i) sent += ring.arrive({.content = content(64, sent)});
    for (rte_mbuf* packet : ring.burst(64)) {
      ASSERT_EQ(bytes_of(*packet), content(64, got++));
      rte_pktmbuf_free(packet);
    }
  }
  EXPECT_EQ(got, sent);
}

TEST_P(RxRecovery, WithoutMbufsTheQueueFillsLater) {
  RxRing ring(pool, keys, {.variant = GetParam()});
  ring.fail(0x04);
  drain(ring);
  std::vector<rte_mbuf*> hoard(pool.available());
  ASSERT_EQ(rte_pktmbuf_alloc_bulk(pool.get(), hoard.data(), static_cast<unsigned>(hoard.size())), 0);
  // Somebody else takes what the release gives back, too: as good as none.
  set(ring, Health::quiesced);
  ring.reset_rq();
  drain(ring);
  EXPECT_EQ(stage(ring), Health::rewound);
  set(ring, Health::good);
  rte_pktmbuf_free_bulk(hoard.data(), static_cast<unsigned>(hoard.size()));
  drain(ring);
  EXPECT_EQ(ring.posted(), 64u);
}

TEST_P(RxRecovery, AnOpcodeThatNoPacketHas) {
  RxRing ring(pool, keys, {.variant = GetParam()});
  ring.raw(static_cast<std::uint8_t>(prm::cqe_opcode::resize_cq));
  EXPECT_EQ(drain(ring), 0u);
  EXPECT_EQ(stage(ring), Health::failed);
  const Error error = describe(ring.queue().health.error, 3, "Rx", 9);
  EXPECT_NE(std::string(error.text).find("opcode 0x5"), std::string::npos) << error.text;
}

TEST(QueueHealthText, NamesTheSyndrome) {
  const QueueError error{prm::cqe_opcode::requester_error, 0x04, 0x51, 17};
  const std::string text = describe(error, 2, "Tx", 5).text;
  for (const char* part : {"port 2", "Tx queue 5", "WQE 17", "0x04", "0x51", "local protection"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
  for (const int syndrome : {0x01, 0x02, 0x04, 0x05, 0x06, 0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x22})
    EXPECT_STRNE(syndrome_text(static_cast<std::uint8_t>(syndrome)), "unknown syndrome");
  EXPECT_STREQ(syndrome_text(0x77), "unknown syndrome");
}

}  // namespace
}  // namespace chime::net
