// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <rte_thash.h>

#include <set>

#include "steered.h"

/// @file
/// RSS against DPDK's own Toeplitz hash.

namespace chime::test {
namespace {

constexpr net::RssKey other_key = {1,    2,    3,    4,    5,    6,    7,    8,    9,    10,
                                   0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa,
                                   0xbb, 0xcc, 0xdd, 0xee, 0xff, 0xf1, 0xf2, 0xf3, 0xf4, 0xf5,
                                   0xf6, 0xf7, 0xf8, 0xf9, 0xfa, 0xfb, 0xfc, 0xfd, 0xfe, 0x80};

struct Fields {
  bool src = true, dst = true, sport = true, dport = true;
};

/// rte_softrss over the chosen fields in the card's order.
std::uint32_t oracle(const Build& b, const net::RssKey& key, const Fields& fields) {
  std::vector<std::uint32_t> words;
  const auto address = [&](std::uint32_t last) {
    if (b.ip == 6) words.insert(words.end(), {0x20010db8u, 0u, 0u});
    words.push_back(last);
  };
  if (fields.src) address(b.from);
  if (fields.dst) address(b.to);
  // Ports of one side alone are half a word: behind it zeros, which do not change the hash.
  if (fields.sport && fields.dport)
    words.push_back(b.sport << 16 | b.dport);
  else if (fields.sport)
    words.push_back(b.sport << 16);
  else if (fields.dport)
    words.push_back(b.dport << 16);
  return rte_softrss(words.data(), static_cast<std::uint32_t>(words.size()), key.data());
}

class RssSteering : public Steered {
 protected:
  void start_with(std::uint64_t types) {
    rss.enabled = true;
    rss.types = types;
    const auto done = start();
    ASSERT_TRUE(done) << why(done);
  }
  Arrival arrival(const Build& b) {
    const auto arrivals = send(build(b));
    EXPECT_EQ(arrivals.size(), 1u);
    return arrivals.empty() ? Arrival{} : arrivals[0];
  }
  void expect_hashed(const Build& b, const Fields& fields) {
    const Arrival got = arrival(b);
    const std::uint32_t hash = oracle(b, rss.key, fields);
    EXPECT_EQ(got.hash, hash);
    EXPECT_EQ(got.queue, rss.reta[hash % rss.reta_size]);
    EXPECT_NE(got.hash_type, 0);
  }
  void expect_not_hashed(const Build& b) {
    const Arrival got = arrival(b);
    EXPECT_EQ(got.hash_type, 0);
    EXPECT_EQ(got.queue, rss.reta[0]);
  }
  Build packet(unsigned ip, unsigned protocol, unsigned n = 0) {
    return {
        .ip = ip, .from = 0x0a000001 + n * 7, .protocol = protocol, .sport = 1000 + n, .dport = 80 + n * 3};
  }
};

constexpr Fields four, addresses{.sport = false, .dport = false};
constexpr unsigned tcp = 6, udp = 17, sctp = 132;

TEST_F(RssSteering, OffMeansQueueZero) {
  rss.reta[0] = 5;
  ASSERT_TRUE(start());
  EXPECT_EQ(queue_of(build(packet(4, tcp))), 0);
}

TEST_F(RssSteering, NoTypesMeansTheFirstEntry) {
  rss.reta[0] = 5;
  start_with(0);
  expect_not_hashed(packet(4, tcp));
}

TEST_F(RssSteering, AllTypes) {
  start_with(net::supported_rss_types & ~(RTE_ETH_RSS_L3_SRC_ONLY | RTE_ETH_RSS_L3_DST_ONLY |
                                          RTE_ETH_RSS_L4_SRC_ONLY | RTE_ETH_RSS_L4_DST_ONLY));
  std::set<unsigned> seen;
  for (unsigned n = 0; n < 40; ++n) {
    for (unsigned ip : {4u, 6u}) {
      expect_hashed(packet(ip, tcp, n), four);
      expect_hashed(packet(ip, udp, n), four);
      expect_hashed(packet(ip, sctp, n), addresses);
      Build fragment = packet(ip, udp, n);
      fragment.fragment = true;
      expect_hashed(fragment, addresses);
    }
    seen.insert(arrival(packet(4, udp, n)).queue);
  }
  EXPECT_EQ(seen.size(), queues);
  expect_not_hashed({});
}

TEST_F(RssSteering, NarrowTypes) {
  start_with(RTE_ETH_RSS_NONFRAG_IPV4_TCP | RTE_ETH_RSS_FRAG_IPV6);
  expect_hashed(packet(4, tcp), four);
  expect_not_hashed(packet(4, udp));
  expect_not_hashed(packet(6, tcp));
  Build fragment = packet(6, tcp);
  fragment.fragment = true;
  expect_hashed(fragment, addresses);
  fragment = packet(4, tcp);
  fragment.fragment = true;
  expect_not_hashed(fragment);
}

TEST_F(RssSteering, OthersAlone) {
  start_with(RTE_ETH_RSS_NONFRAG_IPV4_OTHER);
  expect_hashed(packet(4, sctp), addresses);
  expect_not_hashed(packet(4, tcp));
  expect_not_hashed(packet(4, udp));
  Build fragment = packet(4, sctp);
  fragment.fragment = true;
  expect_not_hashed(fragment);
}

TEST_F(RssSteering, OneSideAlone) {
  start_with(RTE_ETH_RSS_NONFRAG_IPV4_TCP | RTE_ETH_RSS_L3_SRC_ONLY | RTE_ETH_RSS_L4_DST_ONLY);
  expect_hashed(packet(4, tcp, 3), {.src = true, .dst = false, .sport = false, .dport = true});
  rss.types = RTE_ETH_RSS_IPV6 | RTE_ETH_RSS_L3_DST_ONLY;
  ASSERT_TRUE(steering->update_rss(rss));
  expect_hashed(packet(6, tcp, 3), {.src = false, .dst = true, .sport = false, .dport = false});
}

TEST_F(RssSteering, TaggedPacketsAreHashedAsWell) {
  start_with(RTE_ETH_RSS_NONFRAG_IPV4_UDP);
  Build b = packet(4, udp);
  b.tags = {{0x8100, 1}};
  expect_hashed(b, four);
  b.tags = {{0x88a8, 1}, {0x8100, 2}};
  expect_hashed(b, four);
}

TEST_F(RssSteering, RetaAndKeyChangeUnderTraffic) {
  start_with(RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_UDP);
  expect_hashed(packet(4, udp), four);
  const Objects before = objects();
  for (unsigned i = 1; i < rss.reta_size; ++i) rss.reta[i] = static_cast<std::uint16_t>(i * 5 % queues);
  ASSERT_TRUE(steering->update_rss(rss));
  EXPECT_EQ(objects(), before);
  for (unsigned n = 0; n < 20; ++n) expect_hashed(packet(4, udp, n), four);
  rss.reta[0] = 6;
  ASSERT_TRUE(steering->update_rss(rss));
  expect_not_hashed({});
  EXPECT_EQ(objects(), before);
  rss.key = other_key;
  ASSERT_TRUE(steering->update_rss(rss));
  for (unsigned n = 0; n < 20; ++n) expect_hashed(packet(4, udp, n), four);
  EXPECT_EQ(objects(), before);
  rss.types = 0;
  ASSERT_TRUE(steering->update_rss(rss));
  expect_not_hashed(packet(4, udp));
  EXPECT_FALSE(queue_of(build({.dst = {2, 0, 0, 0, 0, 9}})) == 0) << "the MAC filter stays";
}

TEST_F(RssSteering, EveryCommandOfAChangeMayFail) {
  start_with(RTE_ETH_RSS_IPV4);
  net::RssSettings after = rss;
  after.types = RTE_ETH_RSS_IPV6 | RTE_ETH_RSS_NONFRAG_IPV6_TCP;
  after.key = other_key;
  after.reta[0] = 3;
  fail_every_command([&] { return steering->update_rss(after).has_value(); },
                     [&] {
                       expect_hashed(packet(4, udp), addresses);
                       expect_not_hashed(packet(6, udp));
                     });
  rss = after;
  expect_hashed(packet(6, tcp), four);
  expect_not_hashed(packet(4, udp));
}

TEST_F(RssSteering, BadSettings) {
  start_with(RTE_ETH_RSS_IPV4);
  net::RssSettings bad = rss;
  bad.types = RTE_ETH_RSS_L2_PAYLOAD;
  EXPECT_EQ(steering->update_rss(bad).error().errnum, ENOTSUP);
  bad = rss;
  bad.reta[3] = queues;
  const auto done = steering->update_rss(bad);
  ASSERT_FALSE(done);
  EXPECT_STREQ(done.error().text, "entry 3 of the RSS table is queue 8; the port has 8");
  bad = rss;
  bad.reta_size = 48;
  EXPECT_EQ(steering->update_rss(bad).error().errnum, EINVAL);
  expect_hashed(packet(4, udp), addresses);
}

}  // namespace
}  // namespace chime::test
