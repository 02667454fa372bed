// SPDX-License-Identifier: BSD-3-Clause
#include "model/datapath/steering.h"

#include <gtest/gtest.h>

#include <cstring>

#include "rig.h"

namespace chime {
namespace {

using model::FlowEntry;
using model::FlowGroup;
using model::FlowTable;
using model::MatchWord;
using model::Tir;
using test::Bytes;
using test::CompletionQueue;
using test::FrameBuilder;
using test::ReceiveQueue;
using test::Rig;

/// Words as they lie in memory.
constexpr std::uint32_t be(std::uint32_t value) {
  return prm::host_to_be(value);
}

struct Steering : ::testing::Test {
  Rig rig;
  CompletionQueue cq = rig.make_cq(6);
  ReceiveQueue rq = rig.make_rq(6, 1, cq);
  Tir* a = rig.make_tir(rq);
  Tir* b = rig.make_tir(rq);
  model::Steering steering{*rig.card};
  FlowTable* root = rig.make_table();

  void SetUp() override { rig.card->root[0] = model::Ref(root); }

  struct Found {
    std::vector<std::pair<Tir*, std::uint32_t>> to;
    bool matched;
  };
  Found classify(const Bytes& frame) {
    Found found;
    const auto length = static_cast<std::uint32_t>(frame.size());
    found.matched = steering.classify(frame.data(), net::parse(frame.data(), length, length), length,
                                      [&](Tir& tir, std::uint32_t tag) { found.to.emplace_back(&tir, tag); });
    return found;
  }
  FlowEntry* entry(FlowGroup* group, std::uint32_t index, const std::vector<std::uint32_t>& value, Tir* tir) {
    FlowEntry* made = rig.make_entry(*group, index, value, 0);
    if (tir) rig.add_destination(*made, nullptr, tir);
    return made;
  }
};

/// Word and mask of the UDP destination port; of the ethertype.
const std::vector<MatchWord> udp_port = {{7, be(0xffff)}};
const std::vector<MatchWord> ethertype = {{1, be(0xffff)}};

Bytes to_port(unsigned port) {
  return FrameBuilder().ethernet(0x0800).ipv4(17, 18).udp(10, 1, port).fill(10).bytes();
}

TEST_F(Steering, TheLowestIndexWinsAcrossGroups) {
  // The later group is more specific, and does not matter.
  FlowGroup* all = rig.make_group(*root, 10, 19);
  FlowGroup* ports = rig.make_group(*root, 0, 9, udp_port);
  entry(all, 10, {}, a);
  entry(ports, 3, {be(80)}, b);
  EXPECT_EQ(classify(to_port(80)).to[0].first, b);
  EXPECT_EQ(classify(to_port(81)).to[0].first, a);
  FlowGroup* late = rig.make_group(*root, 20, 29, udp_port);
  entry(late, 20, {be(81)}, b);
  EXPECT_EQ(classify(to_port(81)).to[0].first, a);
}

TEST_F(Steering, OfEqualValuesTheLowestIndex) {
  FlowGroup* ports = rig.make_group(*root, 0, 9, udp_port);
  entry(ports, 5, {be(80)}, a);
  FlowEntry* low = entry(ports, 2, {be(80)}, b);
  EXPECT_EQ(classify(to_port(80)).to[0].first, b);
  ports->remove(*low);
  EXPECT_EQ(classify(to_port(80)).to[0].first, a);
}

TEST_F(Steering, MissGoesFromTableToTable) {
  FlowTable* second = rig.make_table();
  FlowTable* third = rig.make_table();
  root->miss = model::Ref(second);
  second->miss = model::Ref(third);
  entry(rig.make_group(*second, 0, 0, udp_port), 0, {be(80)}, a);
  entry(rig.make_group(*third, 0, 0, ethertype), 0, {be(0x0800)}, b);
  EXPECT_EQ(classify(to_port(80)).to[0].first, a);
  EXPECT_EQ(classify(to_port(81)).to[0].first, b);
  EXPECT_FALSE(classify(FrameBuilder().ethernet(0x0806).fill(46).bytes()).matched);
}

TEST_F(Steering, ForwardToATableCountsAndTags) {
  FlowTable* next = rig.make_table();
  auto counter = std::make_unique<model::FlowCounter>();
  FlowEntry* first = entry(rig.make_group(*root, 0, 0), 0, {}, nullptr);
  rig.add_destination(*first, next, nullptr);
  first->verdict.action |= model::action_count;
  first->verdict.flow_tag = 0x1234;
  first->verdict.counters = std::move(*Array<model::Ref<model::FlowCounter>>::make(1, "counters"));
  first->verdict.counters[0] = model::Ref(counter.get());
  entry(rig.make_group(*next, 0, 0, udp_port), 0, {be(80)}, a);
  const Found found = classify(to_port(80));
  ASSERT_EQ(found.to.size(), 1u);
  EXPECT_EQ(found.to[0], std::make_pair(a, 0x1234u));
  EXPECT_FALSE(classify(to_port(81)).matched);
  EXPECT_EQ(counter->packets, 2u);
  EXPECT_EQ(counter->octets, 2 * to_port(80).size());
  first->verdict.counters = {};
}

TEST_F(Steering, SeveralDestinations) {
  FlowTable* next = rig.make_table();
  FlowTable* other = rig.make_table();
  entry(rig.make_group(*next, 0, 0), 0, {}, b)->verdict.flow_tag = 7;
  entry(rig.make_group(*other, 0, 0), 0, {}, b);
  FlowEntry* split = entry(rig.make_group(*root, 0, 0), 0, {}, a);
  split->verdict.flow_tag = 5;
  rig.add_destination(*split, next, nullptr);
  rig.add_destination(*split, other, nullptr);
  rig.add_destination(*split, nullptr, b);
  const Found found = classify(to_port(80));
  ASSERT_EQ(found.to.size(), 4u);
  EXPECT_EQ(found.to[0], std::make_pair(a, 5u));
  EXPECT_EQ(found.to[1], std::make_pair(b, 5u));
  EXPECT_EQ(found.to[2], std::make_pair(b, 7u));
  EXPECT_EQ(found.to[3], std::make_pair(b, 5u));
}

TEST_F(Steering, DropIsAMatch) {
  rig.make_entry(*rig.make_group(*root, 0, 0, udp_port), 0, {be(80)}, model::action_drop);
  entry(rig.make_group(*root, 1, 1), 1, {}, a);
  EXPECT_TRUE(classify(to_port(80)).matched);
  EXPECT_TRUE(classify(to_port(80)).to.empty());
  EXPECT_EQ(classify(to_port(81)).to.size(), 1u);
}

TEST_F(Steering, TablesInACircle) {
  FlowTable* next = rig.make_table();
  root->miss = model::Ref(next);
  next->miss = model::Ref(root);
  EXPECT_FALSE(classify(to_port(80)).matched);
  EXPECT_EQ(rig.diagnostics.count("steering.loop"), 1u);
  next->miss.reset();
}

TEST_F(Steering, ManyEntriesOfOneMask) {
  FlowGroup* ports = rig.make_group(*root, 0, 65535, udp_port);
  std::vector<FlowEntry*> made;
  for (unsigned port = 0; port < 20000; ++port)
    made.push_back(entry(ports, port, {be(port)}, port % 2 ? a : b));
  for (unsigned port = 0; port < 20000; port += 7) {
    ASSERT_EQ(classify(to_port(port)).to[0].first, port % 2 ? a : b);
  }
  for (unsigned port = 0; port < 20000; port += 2) ports->remove(*made[port]);
  for (unsigned port = 0; port < 20000; port += 3) {
    ASSERT_EQ(classify(to_port(port)).matched, port % 2 == 1) << port;
  }
}

TEST_F(Steering, FlowTagReachesTheCqe) {
  entry(rig.make_group(*root, 0, 0), 0, {}, a)->verdict.flow_tag = 0xabcdef;
  rq.post({test::pointer(rig, rig.memory.allocate(2048), 2048)});
  rq.write_record();
  rig.wire.deliver(to_port(1));
  prm::Cqe cqe;
  ASSERT_TRUE(cq.poll(cqe));
  EXPECT_EQ(cqe.sop_drop_qpn, 0xabcdefu);
}

TEST_F(Steering, OneFrameToManyQueues) {
  CompletionQueue other_cq = rig.make_cq(8);
  ReceiveQueue other = rig.make_rq(8, 1, other_cq);
  FlowEntry* split = entry(rig.make_group(*root, 0, 0), 0, {}, a);
  Tir* third = rig.make_tir(other);
  // More deliveries in a burst than the receive side gathers at once.
  for (int i = 0; i < 5; ++i) rig.add_destination(*split, nullptr, third);
  for (int i = 0; i < 250; ++i) other.post({test::pointer(rig, rig.memory.allocate(256), 256)});
  for (int i = 0; i < 60; ++i) rq.post({test::pointer(rig, rig.memory.allocate(256), 256)});
  other.write_record();
  rq.write_record();
  rig.wire.loop = true;
  CompletionQueue sent = rig.make_cq(4);
  test::SendQueue sq = rig.make_sq(6, sent);
  const test::Data data = test::pointer(rig, to_port(80));
  for (int i = 0; i < 40; ++i) sq.post({data});
  rig.ring(sq);
  rig.run();
  EXPECT_EQ(rq.rq->consumed, 40);
  EXPECT_EQ(other.rq->consumed, 200);
}

// ---- what a packet's parameters are ----

struct Word {
  unsigned index;
  std::uint32_t value;
};

void expect_param(const FrameBuilder& builder, const std::vector<Word>& words) {
  model::MatchParam param{};
  const Bytes& frame = builder.bytes();
  const auto length = static_cast<std::uint32_t>(frame.size());
  // Left over from another packet: a tagged TCP one.
  const Bytes before = FrameBuilder()
                           .ethernet(0x88a8)
                           .vlan(0xffff, 0x8100)
                           .vlan(0xffff, 0x86dd)
                           .ipv6(6, 20)
                           .tcp(0x1ff)
                           .bytes();
  const auto size = static_cast<std::uint32_t>(before.size());
  model::fill_match_param(param, before.data(), net::parse(before.data(), size, size));
  model::fill_match_param(param, frame.data(), net::parse(frame.data(), length, length));
  model::MatchParam expected{};
  expected[0] = be(0x02000000), expected[2] = be(0x02000000);
  expected[1] = 0, expected[3] = be(0x00020000);
  for (const Word& word : words) expected[word.index] = be(word.value);
  for (unsigned i = 0; i < model::match_words; ++i) {
    EXPECT_EQ(be(param[i]), be(expected[i])) << "word " << i;
  }
}

TEST(MatchParam, Udp4) {
  expect_param(FrameBuilder().ethernet(0x0800).ipv4(17, 8, 1).udp(0, 5, 6), {{1, 0x00010800},
                                                                             {4, 0x11000000 | 4u << 9},
                                                                             {6, 6u << 12 | 64},
                                                                             {7, 5u << 16 | 6},
                                                                             {11, 0x0a000001},
                                                                             {15, 0x0a000002}});
}

TEST(MatchParam, TaggedTcp6) {
  expect_param(FrameBuilder().ethernet(0x8100).vlan(0x6123, 0x86dd).ipv6(6, 20).tcp(0x12, 7, 8),
               {{1, 0x000186dd},
                {3, 0x00026123},
                {4, 0x06000000 | 1u << 15 | 6u << 9 | 0x12},
                {5, 7u << 16 | 8},
                {6, 64},
                {8, 0x20010db8},
                {11, 1},
                {12, 0x20010db8},
                {15, 2},
                {16 + 7, 0x12345},
                {64 + 1, 0x01020304},
                {64 + 3, 0x05060708}});
}

TEST(MatchParam, TwoTags) {
  expect_param(FrameBuilder().ethernet(0x88a8).vlan(0x2001, 0x8100).vlan(0x4002, 0x88b5).fill(40),
               {{1, 0x000188b5}, {3, 0x00022001}, {4, 1u << 14}, {16 + 2, 0x40020000}, {16 + 3, 1u << 31}});
}

TEST(MatchParam, Icmp) {
  expect_param(FrameBuilder().ethernet(0x0800).ipv4(1, 8).hex("0803 0000 12345678"),
               {{1, 0x00010800},
                {4, 0x01000000 | 4u << 9},
                {6, 5u << 12 | 64},
                {11, 0x0a000001},
                {15, 0x0a000002},
                {64 + 6, 0x12345678},
                {64 + 8, 0x08030000}});
  expect_param(FrameBuilder().ethernet(0x86dd).ipv6(58, 8).hex("8001 0000 12345678"),
               {{1, 0x000186dd},
                {4, 0x3a000000 | 6u << 9},
                {6, 64},
                {8, 0x20010db8},
                {11, 1},
                {12, 0x20010db8},
                {15, 2},
                {16 + 7, 0x12345},
                {64 + 7, 0x12345678},
                {64 + 8, 0x8001}});
}

TEST(MatchParam, FragmentAndEsp) {
  expect_param(FrameBuilder().ethernet(0x0800).ipv4(17, 8, 0, 0x2000).fill(8),
               {{1, 0x00010800},
                {4, 0x11000000 | 1u << 13 | 4u << 9},
                {6, 5u << 12 | 64},
                {11, 0x0a000001},
                {15, 0x0a000002}});
  expect_param(FrameBuilder().ethernet(0x0800).ipv4(50, 8).u32(0xfeedface).u32(1), {{1, 0x00010800},
                                                                                    {4, 0x32000000 | 4u << 9},
                                                                                    {6, 5u << 12 | 64},
                                                                                    {11, 0x0a000001},
                                                                                    {15, 0x0a000002},
                                                                                    {16 + 12, 0xfeedface}});
}

}  // namespace
}  // namespace chime
