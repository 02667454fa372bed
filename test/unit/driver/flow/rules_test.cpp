// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cstdio>
#include <set>

#include "flow_mark.h"
#include "flow_rules.h"

/// @file
/// Rules told by the frames that they take.

namespace chime::test {
namespace {

constexpr auto eth = RTE_FLOW_ITEM_TYPE_ETH, vlan = RTE_FLOW_ITEM_TYPE_VLAN, ipv4 = RTE_FLOW_ITEM_TYPE_IPV4,
               ipv6 = RTE_FLOW_ITEM_TYPE_IPV6, tcp = RTE_FLOW_ITEM_TYPE_TCP, udp = RTE_FLOW_ITEM_TYPE_UDP;
constexpr unsigned protocol_tcp = 6;

class Rules : public FlowTest {
 protected:
  rte_flow_item_ipv4 from(std::uint32_t address) {
    rte_flow_item_ipv4 spec{};
    spec.hdr.src_addr = be32(address);
    return spec;
  }
  rte_flow_item_ipv4 source_mask = [] {
    rte_flow_item_ipv4 mask{};
    mask.hdr.src_addr = ~0u;
    return mask;
  }();
};

TEST_F(Rules, AQueueByEachItem) {
  start_rules();
  rte_flow_item_eth eth_spec{}, eth_mask{};
  eth_spec.hdr.src_addr = mac({2, 0, 0, 0, 0, 0x77});
  eth_mask.hdr.src_addr = mac({255, 255, 255, 255, 255, 255});
  rte_flow_item_vlan vlan_spec{};
  vlan_spec.hdr.vlan_tci = be16(99);
  rte_flow_item_ipv4 ip_spec = from(0x0a0000aa);
  rte_flow_item_ipv6 ip6_spec{}, ip6_mask{};
  ip6_spec.hdr.dst_addr[15] = 0x55;
  ip6_mask.hdr.dst_addr[15] = 0xff;
  rte_flow_item_udp udp_spec{}, udp_mask{};
  udp_spec.hdr.dst_port = be16(4789);
  udp_mask.hdr.dst_port = 0xffff;
  rte_flow_item_tcp tcp_spec{}, tcp_mask{};
  tcp_spec.hdr.tcp_flags = 0x02;
  tcp_mask.hdr.tcp_flags = 0x12;

  EXPECT_TRUE(create({item(eth, &eth_spec, &eth_mask)}, {to_queue(1)})) << error;
  EXPECT_TRUE(create({item(eth), item(vlan, &vlan_spec)}, {to_queue(2)})) << error;
  EXPECT_TRUE(create({item(eth), item(ipv4, &ip_spec, &source_mask)}, {to_queue(3)})) << error;
  EXPECT_TRUE(create({item(eth), item(ipv6, &ip6_spec, &ip6_mask)}, {to_queue(4)})) << error;
  EXPECT_TRUE(create({item(eth), item(ipv4), item(udp, &udp_spec, &udp_mask)}, {to_queue(5)})) << error;
  EXPECT_TRUE(create({item(eth), item(ipv4), item(tcp, &tcp_spec, &tcp_mask)}, {to_queue(6)})) << error;

  EXPECT_EQ(queue_of(build({.src = {2, 0, 0, 0, 0, 0x77}})), 1);
  EXPECT_EQ(queue_of(build({.tags = {{0x8100, 99}}})), 2);
  EXPECT_EQ(queue_of(build({.tags = {{0x88a8, 0x8063}}})), 2);
  EXPECT_EQ(queue_of(build({.tags = {{0x8100, 98}}})), 0);
  EXPECT_EQ(queue_of(build({.ip = 4, .from = 0x0a0000aa})), 3);
  EXPECT_EQ(queue_of(build({.ip = 6, .to = 0x55})), 4);
  EXPECT_EQ(queue_of(build({.ip = 4, .dport = 4789})), 5);
  EXPECT_EQ(queue_of(build({.ip = 4, .protocol = protocol_tcp, .dport = 4789})), 0);
  EXPECT_EQ(queue_of(build({.ip = 4, .protocol = protocol_tcp, .tcp_flags = 0x02})), 6);
  EXPECT_EQ(queue_of(build({.ip = 4, .protocol = protocol_tcp, .tcp_flags = 0x12})), 0);
  EXPECT_EQ(queue_of(build({.ip = 4})), 0);
}

TEST_F(Rules, TheyComeBeforeTheMacFilter) {
  start_rules();
  const Frame foreign = build({.dst = {2, 0, 0, 0, 0, 9}, .ip = 4});
  EXPECT_EQ(queue_of(foreign), nowhere);
  rte_flow* rule = create({item(ipv4)}, {to_queue(2)});
  ASSERT_TRUE(rule) << error;
  EXPECT_EQ(queue_of(foreign), 2);
  ASSERT_TRUE(rules.destroy(*rule));
  EXPECT_EQ(queue_of(foreign), nowhere);
  EXPECT_EQ(queue_of(build({})), 0);
}

TEST_F(Rules, DropAndCount) {
  start_rules();
  rte_flow* rule = create({item(eth), item(ipv4)}, {count(), drop()});
  ASSERT_TRUE(rule) << error;
  const Frame frame = build({.ip = 4});
  EXPECT_EQ(count_of(rule), (Count{0, 0}));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(queue_of(frame), nowhere);
  EXPECT_EQ(queue_of(build({.ip = 6})), 0);
  EXPECT_EQ(count_of(rule), (Count{3, 3 * frame.size()}));
  EXPECT_EQ(count_of(rule, true), (Count{3, 3 * frame.size()}));
  EXPECT_EQ(count_of(rule), (Count{0, 0}));
}

TEST_F(Rules, ACounterOfARuleOfSeveralEntriesIsOne) {
  start_rules();
  rte_flow* rule = create({item(vlan), item(vlan)}, {count(), to_queue(1)});
  ASSERT_TRUE(rule) << error;
  EXPECT_EQ(queue_of(build({.tags = {{0x8100, 1}, {0x8100, 2}}})), 1);
  EXPECT_EQ(queue_of(build({.tags = {{0x88a8, 1}, {0x8100, 2}}})), 1);
  EXPECT_EQ(queue_of(build({.tags = {{0x88a8, 1}, {0x88a8, 2}}})), 1);
  EXPECT_EQ(queue_of(build({.tags = {{0x8100, 1}}})), 0);
  EXPECT_EQ(count_of(rule).packets, 3u);
}

TEST_F(Rules, MarkAndFlagAreInTheCqe) {
  start_rules();
  ASSERT_TRUE(create({item(ipv4)}, {mark(0x1234), to_queue(1)})) << error;
  ASSERT_TRUE(create({item(ipv6)}, {action(RTE_FLOW_ACTION_TYPE_FLAG), to_queue(2)})) << error;
  const auto marked = send(build({.ip = 4}));
  ASSERT_EQ(marked.size(), 1u);
  EXPECT_EQ(net::mark_of_flow_tag(marked[0].flow_tag), 0x1234u);
  const auto flagged = send(build({.ip = 6}));
  ASSERT_EQ(flagged.size(), 1u);
  EXPECT_EQ(flagged[0].flow_tag, net::flow_tag_flag);
  EXPECT_EQ(send(build({}))[0].flow_tag, net::flow_tag_none);
}

TEST_F(Rules, RssOverSomeQueues) {
  start_rules();
  const std::uint16_t some[] = {5, 6, 7};
  const rte_flow_action_rss conf{.func = RTE_ETH_HASH_FUNCTION_DEFAULT,
                                 .level = 0,
                                 .types = RTE_ETH_RSS_NONFRAG_IPV4_UDP,
                                 .key_len = 0,
                                 .queue_num = 3,
                                 .key = nullptr,
                                 .queue = some};
  const auto before = objects();
  rte_flow* first = create({item(eth), item(ipv4)}, {mark(7), action(RTE_FLOW_ACTION_TYPE_RSS, &conf)});
  ASSERT_TRUE(first) << error;
  const auto one = objects();
  rte_flow* second = create({item(eth), item(ipv6)}, {action(RTE_FLOW_ACTION_TYPE_RSS, &conf)});
  ASSERT_TRUE(second) << error;
  EXPECT_EQ(objects().at("TIR"), one.at("TIR")) << "rules that ask for the same share one spread";
  std::set<int> seen;
  for (unsigned port = 0; port < 30; ++port) {
    const auto arrivals = send(build({.ip = 4, .sport = port}));
    ASSERT_EQ(arrivals.size(), 1u);
    EXPECT_EQ(net::mark_of_flow_tag(arrivals[0].flow_tag), 7u) << "a mark lasts through the spread";
    EXPECT_NE(arrivals[0].hash_type, 0);
    seen.insert(static_cast<int>(arrivals[0].queue));
  }
  EXPECT_EQ(seen, (std::set<int>{5, 6, 7}));
  EXPECT_EQ(queue_of(build({.ip = 4, .protocol = protocol_tcp})), 5) << "not hashed: the first queue";
  ASSERT_TRUE(rules.destroy(*first));
  ASSERT_TRUE(rules.destroy(*second));
  EXPECT_EQ(objects(), before);
}

TEST_F(Rules, SymmetricRss) {
  start_rules();
  const std::uint16_t all[] = {0, 1, 2, 3, 4, 5, 6, 7};
  const rte_flow_action_rss conf{.func = RTE_ETH_HASH_FUNCTION_SYMMETRIC_TOEPLITZ,
                                 .level = 1,
                                 .types = RTE_ETH_RSS_NONFRAG_IPV4_TCP,
                                 .key_len = 0,
                                 .queue_num = 8,
                                 .key = nullptr,
                                 .queue = all};
  ASSERT_TRUE(create({item(eth)}, {action(RTE_FLOW_ACTION_TYPE_RSS, &conf)})) << error;
  for (unsigned n = 0; n < 20; ++n) {
    const std::uint32_t a = 0x0a000000 + n * 77, b = 0xc0a80000 + n;
    EXPECT_EQ(
        queue_of(build({.ip = 4, .from = a, .to = b, .protocol = protocol_tcp, .sport = n, .dport = 80})),
        queue_of(build({.ip = 4, .from = b, .to = a, .protocol = protocol_tcp, .sport = 80, .dport = n})));
  }
}

TEST_F(Rules, PrioritiesWhateverTheOrderOfCreation) {
  start_rules();
  rte_flow_item_ipv4 narrow = from(0x0a000001);
  ASSERT_TRUE(create({item(eth)}, {to_queue(1)}, 15)) << error;
  ASSERT_TRUE(create({item(eth), item(ipv4), item(udp)}, {to_queue(2)}, 3)) << error;
  ASSERT_TRUE(create({item(eth), item(ipv4)}, {to_queue(3)}, 7)) << error;
  const Frame frame = build({.ip = 4});
  EXPECT_EQ(queue_of(frame), 2);
  EXPECT_EQ(queue_of(build({.ip = 4, .protocol = protocol_tcp})), 3);
  EXPECT_EQ(queue_of(build({})), 1);
  rte_flow* first = create({item(eth), item(ipv4, &narrow, &source_mask)}, {to_queue(4)}, 0);
  ASSERT_TRUE(first) << error;
  EXPECT_EQ(queue_of(frame), 4);
  ASSERT_TRUE(rules.destroy(*first));
  EXPECT_EQ(queue_of(frame), 2);
}

TEST_F(Rules, GroupsByJump) {
  start_rules();
  ASSERT_TRUE(create({item(eth), item(ipv4)}, {mark(5), to_group(3)})) << error;
  const Frame frame = build({.ip = 4});
  EXPECT_EQ(queue_of(frame), 0) << "what no rule of the group takes goes on to the port's filters";
  ASSERT_TRUE(create({item(udp)}, {to_queue(6)}, 2, 3)) << error;
  ASSERT_TRUE(create({item(udp)}, {to_group(4)}, 1, 3)) << error;
  ASSERT_TRUE(create({item(eth)}, {to_queue(7)}, 0, 4)) << error;
  const auto arrivals = send(frame);
  ASSERT_EQ(arrivals.size(), 1u);
  EXPECT_EQ(arrivals[0].queue, 7u);
  EXPECT_EQ(net::mark_of_flow_tag(arrivals[0].flow_tag), 5u);
  EXPECT_EQ(queue_of(build({.dst = {2, 0, 0, 0, 0, 9}, .ip = 4, .protocol = protocol_tcp})), nowhere);
  EXPECT_EQ(queue_of(build({.ip = 6})), 0) << "groups are reached by jumps alone";
}

TEST_F(Rules, AGroupStaysWhileSomethingJumpsToIt) {
  start_rules();
  rte_flow* jump = create({item(eth)}, {to_group(1)});
  ASSERT_TRUE(jump) << error;
  rte_flow* target = create({item(eth)}, {to_queue(1)}, 0, 1);
  ASSERT_TRUE(target) << error;
  EXPECT_EQ(queue_of(build({})), 1);
  ASSERT_TRUE(rules.destroy(*target));
  EXPECT_EQ(queue_of(build({})), 0);
  ASSERT_TRUE(create({item(eth)}, {to_queue(2)}, 0, 1)) << error;
  EXPECT_EQ(queue_of(build({})), 2);
  ASSERT_TRUE(rules.destroy(*jump));
  EXPECT_EQ(queue_of(build({})), 0);
}

TEST_F(Rules, FiltersChangeBehindRules) {
  start_rules();
  ASSERT_TRUE(create({item(eth), item(ipv4)}, {to_group(2)})) << error;
  const Frame frame = build({.dst = {2, 0, 0, 0, 0, 9}, .ip = 4}),
              other = build({.dst = {2, 0, 0, 0, 0, 9}, .ip = 6});
  EXPECT_EQ(queue_of(frame), nowhere);
  filter.promiscuous = true;
  ASSERT_TRUE(steering->update_filter(filter));
  EXPECT_EQ(queue_of(frame), 0);
  EXPECT_EQ(queue_of(other), 0);
  rss.enabled = true;
  rss.types = RTE_ETH_RSS_IPV4;
  rss.reta.fill(3);
  ASSERT_TRUE(steering->update_rss(rss));
  EXPECT_EQ(queue_of(frame), 3);
  EXPECT_EQ(queue_of(other), 3);
  filter.promiscuous = false;
  fail_every_command([&] { return steering->update_filter(filter).has_value(); },
                     [&] { EXPECT_EQ(queue_of(frame), 3); });
  EXPECT_EQ(queue_of(frame), nowhere);
  EXPECT_EQ(queue_of(build({.ip = 4})), 3);
}

TEST_F(Rules, IsolatedMode) {
  ASSERT_TRUE(rules.isolate(true));
  start_rules();
  EXPECT_EQ(queue_of(build({.ip = 4})), nowhere);
  rte_flow* rule = create({item(eth), item(ipv4)}, {to_queue(4)});
  ASSERT_TRUE(rule) << error;
  EXPECT_EQ(queue_of(build({.ip = 4})), 4);
  EXPECT_EQ(queue_of(build({.ip = 6})), nowhere);
  ASSERT_TRUE(create({item(ipv6)}, {to_group(1)})) << error;
  EXPECT_EQ(queue_of(build({.ip = 6})), nowhere);
  const auto refused = rules.isolate(false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().error.errnum, EBUSY);
  EXPECT_EQ(refused.error().type, RTE_FLOW_ERROR_TYPE_STATE);
  ASSERT_TRUE(rules.isolate(true)) << "nothing to change";
  ASSERT_TRUE(rules.flush());
  EXPECT_EQ(queue_of(build({.ip = 4})), nowhere);
}

TEST_F(Rules, FlushLeavesNothing) {
  start_rules();
  const auto before = objects();
  for (unsigned i = 0; i < 100; ++i) {
    rte_flow_item_ipv4 spec = from(i);
    ASSERT_TRUE(create({item(eth), item(ipv4, &spec, &source_mask)}, {count(), drop()}, i % 16, i % 3))
        << error;
  }
  ASSERT_TRUE(rules.flush());
  EXPECT_EQ(objects(), before);
  EXPECT_EQ(queue_of(build({.ip = 4, .from = 3})), 0);
  ASSERT_TRUE(rules.flush());
}

TEST_F(Rules, TheyEndWhenThePortStops) {
  start_rules();
  rte_flow* kept = create({item(eth)}, {count(), to_queue(3)});
  rte_flow* flushed = create({item(ipv4)}, {to_queue(4)});
  ASSERT_TRUE(kept && flushed) << error;
  rules.stop();
  steering.reset();
  EXPECT_EQ(objects(), objects_at_start);
  EXPECT_FALSE(create({item(eth)}, {drop()}));
  EXPECT_EQ(errnum, ENODEV);
  EXPECT_NE(error.find("the port is stopped"), std::string::npos);
  rte_flow_query_count count{};
  const auto query = rules.query(*kept, action(RTE_FLOW_ACTION_TYPE_COUNT), &count);
  ASSERT_FALSE(query);
  EXPECT_STREQ(query.error().error.text, "the rule ended when the port stopped");
  ASSERT_TRUE(rules.destroy(*kept));
  start_rules();
  EXPECT_EQ(queue_of(build({.ip = 4})), 0);
  ASSERT_TRUE(rules.flush());
}

TEST_F(Rules, Attributes) {
  start_rules();
  const auto items = pattern({item(eth)});
  const auto list = actions({drop()});
  const auto refusal = [&](rte_flow_attr attr) {
    const auto done = rules.validate(attr, items.data(), list.data());
    return done ? RTE_FLOW_ERROR_TYPE_NONE : done.error().type;
  };
  rte_flow_attr attr{};
  EXPECT_EQ(refusal(attr), RTE_FLOW_ERROR_TYPE_ATTR_INGRESS);
  attr.ingress = 1;
  EXPECT_EQ(refusal(attr), RTE_FLOW_ERROR_TYPE_NONE);
  attr.egress = 1;
  EXPECT_EQ(refusal(attr), RTE_FLOW_ERROR_TYPE_ATTR_EGRESS);
  attr.egress = 0;
  attr.transfer = 1;
  EXPECT_EQ(refusal(attr), RTE_FLOW_ERROR_TYPE_ATTR_TRANSFER);
  attr.transfer = 0;
  attr.priority = 16;
  EXPECT_EQ(refusal(attr), RTE_FLOW_ERROR_TYPE_ATTR_PRIORITY);
  attr.priority = 15;
  attr.group = steering->limits().flow_groups;
  EXPECT_EQ(refusal(attr), RTE_FLOW_ERROR_TYPE_ATTR_GROUP);
  --attr.group;
  EXPECT_EQ(refusal(attr), RTE_FLOW_ERROR_TYPE_NONE);
  EXPECT_TRUE(create({item(eth)}, {drop()}, 15, attr.group)) << error;
}

TEST_F(Rules, QueryRefused) {
  start_rules();
  rte_flow* rule = create({item(eth)}, {drop()});
  ASSERT_TRUE(rule);
  rte_flow_query_count count{};
  EXPECT_EQ(rules.query(*rule, action(RTE_FLOW_ACTION_TYPE_COUNT), &count).error().type,
            RTE_FLOW_ERROR_TYPE_HANDLE);
  EXPECT_EQ(rules.query(*rule, action(RTE_FLOW_ACTION_TYPE_AGE), &count).error().type,
            RTE_FLOW_ERROR_TYPE_ACTION);
}

TEST_F(Rules, EveryCommandOfACreateMayFail) {
  start_rules();
  const std::uint16_t some[] = {1, 2, 3, 4};
  const rte_flow_action_rss conf{.func = RTE_ETH_HASH_FUNCTION_DEFAULT,
                                 .level = 0,
                                 .types = RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_TCP,
                                 .key_len = 0,
                                 .queue_num = 4,
                                 .key = nullptr,
                                 .queue = some};
  const auto works_without = [&] { EXPECT_EQ(queue_of(build({.tags = {{0x8100, 1}}, .ip = 4})), 0); };
  fail_every_command(
      [&] {
        return create({item(eth), item(vlan), item(ipv4)},
                      {count(), action(RTE_FLOW_ACTION_TYPE_RSS, &conf)}) != nullptr;
      },
      works_without);
  EXPECT_NE(queue_of(build({.tags = {{0x8100, 1}}, .ip = 4})), 0);
  ASSERT_TRUE(rules.flush());
  fail_every_command(
      [&] {
        return create({item(eth), item(vlan), item(ipv4)}, {to_group(2)}, 3, 1) != nullptr;
      },
      works_without);
}

TEST_F(Rules, EveryAllocationOfACreateMayFail) {
  start_rules();
  const std::uint16_t some[] = {1, 2, 3, 4};
  const rte_flow_action_rss conf{.func = RTE_ETH_HASH_FUNCTION_DEFAULT,
                                 .level = 0,
                                 .types = RTE_ETH_RSS_IPV4,
                                 .key_len = 0,
                                 .queue_num = 4,
                                 .key = nullptr,
                                 .queue = some};
  fail_every_allocation(
      [&] {
        return create({item(eth), item(vlan), item(ipv4)},
                      {count(), action(RTE_FLOW_ACTION_TYPE_RSS, &conf)}) != nullptr;
      },
      [&] {
        EXPECT_EQ(queue_of(build({.tags = {{0x8100, 1}}, .ip = 4})), 0);
      });
  EXPECT_NE(queue_of(build({.tags = {{0x8100, 1}}, .ip = 4})), 0);
}

TEST_F(Rules, DumpSaysWhatThereIs) {
  start_rules();
  ASSERT_TRUE(create({item(eth), item(ipv4)}, {count(), drop()}, 2)) << error;
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* file = open_memstream(&text, &size);
  ASSERT_TRUE(rules.dump(nullptr, file));
  std::fclose(file);
  const std::string dump(text, size);
  std::free(text);
  EXPECT_NE(dump.find("group 0: flow table 0x"), std::string::npos) << dump;
  EXPECT_NE(dump.find("1 in use, 1 flow groups"), std::string::npos) << dump;
  EXPECT_NE(dump.find("group 0 priority 2, drop, count, 1 entries"), std::string::npos) << dump;
}

}  // namespace
}  // namespace chime::test
