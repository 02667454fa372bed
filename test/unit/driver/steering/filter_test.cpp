// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "steered.h"

/// @file
/// What a port lets in, told by frames.

namespace chime::test {
namespace {

class Filter : public Steered {
 protected:
  bool in(const Frame& frame) { return queue_of(frame) == 0; }
  bool in_from(std::vector<std::uint8_t> dst) { return in(build({.dst = std::move(dst)})); }
  bool in_vlan(unsigned id, unsigned tpid = 0x8100) { return in(build({.tags = {{tpid, id}}, .ip = 4})); }
  void list(net::VlanSet& set, std::initializer_list<unsigned> ids) {
    set = {};
    for (unsigned id : ids) set[id / 64] |= std::uint64_t{1} << id % 64;
  }
  void update() {
    const auto done = steering->update_filter(filter);
    ASSERT_TRUE(done) << why(done);
  }

  const std::vector<std::uint8_t> own = {0x02, 0, 0, 0, 0, 1}, other = {0x02, 0, 0, 0, 0, 9},
                                  third = {0x02, 0, 0, 0, 0, 0x11}, all = std::vector<std::uint8_t>(6, 0xff),
                                  group = {0x01, 0, 0x5e, 0, 0, 1}, group6 = {0x33, 0x33, 0, 0, 0, 1};
  net::VlanSet vlans{};
};

TEST_F(Filter, OwnAddressAndBroadcast) {
  ASSERT_TRUE(start());
  EXPECT_TRUE(in_from(own));
  EXPECT_TRUE(in_from(all));
  EXPECT_FALSE(in_from(other));
  EXPECT_FALSE(in_from(group));
  EXPECT_TRUE(in(build({.tags = {{0x8100, 7}}}))) << "without a VLAN filter every tag is fine";
}

TEST_F(Filter, Promiscuous) {
  ASSERT_TRUE(start());
  filter.promiscuous = true;
  list(vlans, {1});
  filter.vlans = &vlans;
  update();
  EXPECT_TRUE(in_from(other));
  EXPECT_TRUE(in_from(group));
  EXPECT_TRUE(in_vlan(2));
  filter.promiscuous = false;
  update();
  EXPECT_FALSE(in_from(other));
  EXPECT_FALSE(in_vlan(2));
  EXPECT_TRUE(in_vlan(1));
  EXPECT_TRUE(in_from(own));
}

TEST_F(Filter, AllMulticast) {
  ASSERT_TRUE(start());
  filter.all_multicast = true;
  update();
  EXPECT_TRUE(in_from(group));
  EXPECT_TRUE(in_from(group6));
  EXPECT_TRUE(in_from(own));
  EXPECT_FALSE(in_from(other));
  filter.all_multicast = false;
  update();
  EXPECT_FALSE(in_from(group));
}

TEST_F(Filter, AddressesComeAndGo) {
  ASSERT_TRUE(start());
  const hca::MacAddress unicast[] = {own_mac, {0x02, 0, 0, 0, 0, 9}};
  const hca::MacAddress multicast[] = {{0x01, 0, 0x5e, 0, 0, 1}};
  filter.unicast = unicast;
  filter.multicast = multicast;
  update();
  EXPECT_TRUE(in_from(own));
  EXPECT_TRUE(in_from(other));
  EXPECT_TRUE(in_from(group));
  EXPECT_FALSE(in_from(group6));
  filter.unicast = {unicast + 1, 1};
  filter.multicast = {};
  update();
  EXPECT_FALSE(in_from(own));
  EXPECT_TRUE(in_from(other));
  EXPECT_FALSE(in_from(group));
  EXPECT_TRUE(in_from(all));
}

TEST_F(Filter, TheSameAddressTwice) {
  const hca::MacAddress twice[] = {own_mac, own_mac};
  filter.unicast = twice;
  ASSERT_TRUE(start());
  EXPECT_EQ(queue_of(build({})), 0) << "once";
}

TEST_F(Filter, ThousandsOfMulticastAddresses) {
  ASSERT_TRUE(start());
  std::vector<hca::MacAddress> many;
  for (unsigned i = 0; i < 5000; ++i)
    many.push_back({0x01, 0, 0x5e, 0, static_cast<std::uint8_t>(i >> 8), static_cast<std::uint8_t>(i)});
  filter.multicast = many;
  update();
  EXPECT_TRUE(in_from({0x01, 0, 0x5e, 0, 0x13, 0x87}));
  EXPECT_FALSE(in_from({0x01, 0, 0x5e, 0, 0x13, 0x88}));
  many.resize(17000, {0x03, 1, 2, 3, 4, 5});
  for (unsigned i = 5000; i < many.size(); ++i)
    many[i][4] = static_cast<std::uint8_t>(i >> 8), many[i][5] = static_cast<std::uint8_t>(i);
  filter.multicast = many;
  const auto done = steering->update_filter(filter);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().errnum, ENOSPC);
  EXPECT_TRUE(in_from({0x01, 0, 0x5e, 0, 0x13, 0x87})) << "the former list is in force";
}

TEST_F(Filter, VlanFilter) {
  list(vlans, {0, 5, 4095});
  filter.vlans = &vlans;
  ASSERT_TRUE(start());
  EXPECT_TRUE(in_from(own)) << "untagged";
  EXPECT_TRUE(in_vlan(5));
  EXPECT_TRUE(in_vlan(0x6005)) << "whatever the priority";
  EXPECT_TRUE(in_vlan(4095));
  EXPECT_TRUE(in_vlan(0));
  EXPECT_FALSE(in_vlan(6));
  EXPECT_TRUE(in_vlan(5, 0x88a8));
  EXPECT_FALSE(in_vlan(6, 0x88a8));
  EXPECT_TRUE(in(build({.tags = {{0x8100, 5}, {0x8100, 6}}, .ip = 4}))) << "the outer tag counts";
  EXPECT_FALSE(in(build({.tags = {{0x8100, 6}, {0x8100, 5}}, .ip = 4})));
  EXPECT_FALSE(in(build({.dst = other, .tags = {{0x8100, 5}}})));
  list(vlans, {6});
  update();
  EXPECT_FALSE(in_vlan(5));
  EXPECT_FALSE(in_vlan(0));
  EXPECT_TRUE(in_vlan(6));
  list(vlans, {});
  update();
  EXPECT_FALSE(in_vlan(6));
  EXPECT_TRUE(in_from(own));
  filter.vlans = nullptr;
  update();
  EXPECT_TRUE(in_vlan(6));
}

TEST_F(Filter, EveryVlan) {
  vlans.fill(~std::uint64_t{0});
  filter.vlans = &vlans;
  ASSERT_TRUE(start());
  for (unsigned id = 0; id < 4096; id += 41) EXPECT_TRUE(in_vlan(id)) << id;
  rss.types = RTE_ETH_RSS_IPV4;
  rss.enabled = true;
  ASSERT_TRUE(steering->update_rss(rss));
  EXPECT_NE(queue_of(build({.tags = {{0x8100, 99}}, .ip = 4})), nowhere)
      << "the list outlives a change of RSS";
}

TEST_F(Filter, IsolatedPortLetsNothingIn) {
  filter.isolated = true;
  ASSERT_TRUE(start());
  EXPECT_FALSE(in_from(own));
  filter.promiscuous = true;
  update();
  EXPECT_FALSE(in_from(own));
  ASSERT_TRUE(steering->update_rss(rss));
}

TEST_F(Filter, EveryCommandOfAStartMayFail) {
  list(vlans, {1, 2, 3});
  filter.vlans = &vlans;
  rss.enabled = true;
  rss.types = net::supported_rss_types;
  fail_every_command([&] { return start().has_value(); }, [&] { EXPECT_EQ(queue_of(build({})), nowhere); });
  EXPECT_TRUE(in_from(own));
}

TEST_F(Filter, EveryAllocationOfAStartMayFail) {
  list(vlans, {1, 2, 3});
  filter.vlans = &vlans;
  rss.enabled = true;
  rss.types = net::supported_rss_types;
  fail_every_allocation([&] { return start().has_value(); },
                        [&] { EXPECT_EQ(queue_of(build({})), nowhere); });
  EXPECT_NE(queue_of(build({})), nowhere);
}

TEST_F(Filter, EveryAllocationOfAChangeMayFail) {
  list(vlans, {1});
  filter.vlans = &vlans;
  ASSERT_TRUE(start());
  const hca::MacAddress unicast[] = {{0x02, 0, 0, 0, 0, 9}, {0x02, 0, 0, 0, 0, 0x11}};
  filter.unicast = unicast;
  filter.all_multicast = true;
  list(vlans, {2, 3});
  fail_every_allocation([&] { return steering->update_filter(filter).has_value(); },
                        [&] {
                          EXPECT_TRUE(in_vlan(1));
                          EXPECT_FALSE(in_vlan(2));
                          EXPECT_FALSE(in_from(other));
                        });
  EXPECT_TRUE(in_from(other));
}

TEST_F(Filter, EveryCommandOfAChangeMayFail) {
  ASSERT_TRUE(start());
  const hca::MacAddress unicast[] = {{0x02, 0, 0, 0, 0, 9}, {0x02, 0, 0, 0, 0, 0x11}};
  const auto change = [&] { return steering->update_filter(filter).has_value(); };
  const auto as_before = [&] {
    EXPECT_TRUE(in_from(own));
    EXPECT_FALSE(in_from(other));
    EXPECT_FALSE(in_from(third));
    EXPECT_FALSE(in_from(group));
  };
  filter.unicast = unicast;
  filter.all_multicast = true;
  fail_every_command(change, as_before);
  EXPECT_TRUE(in_from(other) && in_from(third) && in_from(group) && !in_from(own));

  list(vlans, {7, 8, 9});
  filter.vlans = &vlans;
  fail_every_command(change, [&] { EXPECT_TRUE(in(build({.dst = other, .tags = {{0x8100, 1}}}))); });
  EXPECT_FALSE(in(build({.dst = other, .tags = {{0x8100, 1}}})));

  list(vlans, {1, 2, 3});
  filter.unicast = {&own_mac, 1};
  fail_every_command(change, [&] {
    EXPECT_TRUE(in(build({.dst = other, .tags = {{0x8100, 7}}})));
    EXPECT_FALSE(in(build({.dst = other, .tags = {{0x8100, 1}}})));
    EXPECT_FALSE(in(build({.dst = own, .tags = {{0x8100, 7}}})));
  });
  EXPECT_TRUE(in_vlan(1));

  filter.promiscuous = true;
  fail_every_command(change, [&] { EXPECT_FALSE(in_from(other)); });
  EXPECT_TRUE(in_from(other));
}

}  // namespace
}  // namespace chime::test
