// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <string>

#include "rss.h"

namespace chime::test {
namespace {

using net::HashClass;
using net::plan_rss;
using net::RssPlan;
using net::Spread;

HashClass of(const HashClass (&kinds)[net::spreads], Spread packets) {
  return kinds[static_cast<unsigned>(packets)];
}

/// TCP, UDP, fragments, others.
void expect(const HashClass (&kinds)[net::spreads], HashClass tcp, HashClass udp, HashClass fragments,
            HashClass others) {
  EXPECT_EQ(of(kinds, Spread::tcp), tcp);
  EXPECT_EQ(of(kinds, Spread::udp), udp);
  EXPECT_EQ(of(kinds, Spread::fragment), fragments);
  EXPECT_EQ(of(kinds, Spread::any), others);
}

constexpr HashClass none = HashClass::none, ipv4 = HashClass::ipv4, ipv4_tcp = HashClass::ipv4_tcp,
                    ipv4_udp = HashClass::ipv4_udp, ipv6 = HashClass::ipv6, ipv6_tcp = HashClass::ipv6_tcp,
                    ipv6_udp = HashClass::ipv6_udp;

TEST(RssPlan, NoTypes) {
  const RssPlan plan = plan_rss(0);
  expect(plan.ipv4, none, none, none, none);
  expect(plan.ipv6, none, none, none, none);
  EXPECT_TRUE(plan.uses(none));
  EXPECT_FALSE(plan.uses(ipv4));
}

TEST(RssPlan, Ipv4TakesAllThatNoNarrowerTypeNames) {
  expect(plan_rss(RTE_ETH_RSS_IPV4).ipv4, ipv4, ipv4, ipv4, ipv4);
  expect(plan_rss(RTE_ETH_RSS_IPV4).ipv6, none, none, none, none);
  expect(plan_rss(RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_TCP).ipv4, ipv4_tcp, ipv4, ipv4, ipv4);
}

TEST(RssPlan, NarrowTypesAlone) {
  expect(plan_rss(RTE_ETH_RSS_NONFRAG_IPV4_TCP).ipv4, ipv4_tcp, none, none, none);
  expect(plan_rss(RTE_ETH_RSS_NONFRAG_IPV4_UDP).ipv4, none, ipv4_udp, none, none);
  expect(plan_rss(RTE_ETH_RSS_FRAG_IPV4).ipv4, none, none, ipv4, none);
  expect(plan_rss(RTE_ETH_RSS_NONFRAG_IPV4_OTHER).ipv4, none, none, none, ipv4);
  expect(plan_rss(RTE_ETH_RSS_NONFRAG_IPV6_TCP).ipv6, ipv6_tcp, none, none, none);
  expect(plan_rss(RTE_ETH_RSS_NONFRAG_IPV6_UDP).ipv6, none, ipv6_udp, none, none);
  expect(plan_rss(RTE_ETH_RSS_FRAG_IPV6).ipv6, none, none, ipv6, none);
  expect(plan_rss(RTE_ETH_RSS_NONFRAG_IPV6_OTHER).ipv6, none, none, none, ipv6);
}

TEST(RssPlan, Everything) {
  const RssPlan plan = plan_rss(net::supported_rss_types);
  expect(plan.ipv4, ipv4_tcp, ipv4_udp, ipv4, ipv4);
  expect(plan.ipv6, ipv6_tcp, ipv6_udp, ipv6, ipv6);
}

unsigned fields(std::uint64_t types, HashClass kind) {
  return plan_rss(types).selected_fields[static_cast<unsigned>(kind)];
}

TEST(RssPlan, FieldsByOneSideAlone) {
  constexpr std::uint64_t tcp = RTE_ETH_RSS_NONFRAG_IPV4_TCP;
  EXPECT_EQ(fields(tcp, ipv4_tcp), 0xfu);
  EXPECT_EQ(fields(tcp, ipv4), 0x3u);
  EXPECT_EQ(fields(tcp | RTE_ETH_RSS_L3_SRC_ONLY, ipv4_tcp), 0xdu);
  EXPECT_EQ(fields(tcp | RTE_ETH_RSS_L3_DST_ONLY, ipv4_tcp), 0xeu);
  EXPECT_EQ(fields(tcp | RTE_ETH_RSS_L4_SRC_ONLY, ipv4_tcp), 0x7u);
  EXPECT_EQ(fields(tcp | RTE_ETH_RSS_L4_DST_ONLY, ipv4_tcp), 0xbu);
  EXPECT_EQ(fields(tcp | RTE_ETH_RSS_L3_SRC_ONLY | RTE_ETH_RSS_L4_DST_ONLY, ipv6_udp), 0x9u);
  EXPECT_EQ(fields(tcp | RTE_ETH_RSS_L3_SRC_ONLY | RTE_ETH_RSS_L3_DST_ONLY, ipv4_tcp), 0xfu);
  EXPECT_EQ(fields(RTE_ETH_RSS_IPV6 | RTE_ETH_RSS_L3_DST_ONLY, ipv6), 0x2u);
}

TEST(RssTypes, WhatIsNotThereIsRefusedByNumber) {
  EXPECT_TRUE(net::check_rss_types(net::supported_rss_types));
  for (std::uint64_t type :
       {std::uint64_t{RTE_ETH_RSS_NONFRAG_IPV4_SCTP}, std::uint64_t{RTE_ETH_RSS_L2_PAYLOAD},
        std::uint64_t{RTE_ETH_RSS_PORT}, std::uint64_t{RTE_ETH_RSS_L3_PRE64},
        std::uint64_t{RTE_ETH_RSS_LEVEL_INNERMOST}}) {
    const auto checked = net::check_rss_types(RTE_ETH_RSS_IPV4 | type);
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().errnum, ENOTSUP);
    char number[32];
    std::snprintf(number, sizeof number, "0x%llx", static_cast<unsigned long long>(type));
    EXPECT_NE(std::string(checked.error().text).find(number), std::string::npos) << checked.error().text;
    EXPECT_NE(std::string(checked.error().text).find("ipv4-tcp"), std::string::npos);
  }
}

}  // namespace
}  // namespace chime::test
