// SPDX-License-Identifier: BSD-3-Clause
#include "flow/actions.h"

#include <gtest/gtest.h>

#include <string>

#include "flow/rss_action.h"
#include "flow_mark.h"
#include "items.h"

namespace chime::test {
namespace {

using net::Actions;
constexpr net::ActionLimits limits{.queues = 4, .group = 2, .flow_groups = 10, .counters = true};

Actions accepted(const std::vector<rte_flow_action>& list) {
  const auto parsed = Actions::parse(list.data(), limits);
  EXPECT_TRUE(parsed) << parsed.error().error.text;
  return parsed.value_or(Actions{});
}

void expect_refused(const std::vector<rte_flow_action>& list, int errnum, const char* words,
                    const net::ActionLimits& with = limits) {
  const auto parsed = Actions::parse(list.data(), with);
  ASSERT_FALSE(parsed) << words;
  const net::FlowError& error = parsed.error();
  EXPECT_EQ(error.error.errnum, errnum) << error.error.text;
  EXPECT_NE(std::string(error.error.text).find(words), std::string::npos) << error.error.text;
  EXPECT_TRUE(error.type == RTE_FLOW_ERROR_TYPE_ACTION || error.type == RTE_FLOW_ERROR_TYPE_ACTION_CONF);
  EXPECT_NE(error.cause, nullptr);
}

const rte_flow_action_queue queue3{.index = 3};
const rte_flow_action to_queue3 = action(RTE_FLOW_ACTION_TYPE_QUEUE, &queue3);
const rte_flow_action drop = action(RTE_FLOW_ACTION_TYPE_DROP);
const rte_flow_action flag = action(RTE_FLOW_ACTION_TYPE_FLAG);
const rte_flow_action count = action(RTE_FLOW_ACTION_TYPE_COUNT);

TEST(Actions, Fates) {
  EXPECT_EQ(accepted(actions({drop})).fate, Actions::Fate::drop);
  const Actions queue = accepted(actions({action(RTE_FLOW_ACTION_TYPE_VOID), to_queue3}));
  EXPECT_EQ(queue.fate, Actions::Fate::queue);
  EXPECT_EQ(queue.queue, 3);
  EXPECT_EQ(queue.flow_tag, net::flow_tag_none);
  const rte_flow_action_jump jump{.group = 9};
  const Actions jumps = accepted(actions({action(RTE_FLOW_ACTION_TYPE_JUMP, &jump)}));
  EXPECT_EQ(jumps.fate, Actions::Fate::jump);
  EXPECT_EQ(jumps.jump, 9u);
}

TEST(Actions, MarkFlagAndCount) {
  rte_flow_action_mark mark{.id = 0};
  EXPECT_EQ(accepted(actions({action(RTE_FLOW_ACTION_TYPE_MARK, &mark), to_queue3})).flow_tag, 1u);
  mark.id = net::max_mark_id;
  const Actions most = accepted(actions({to_queue3, action(RTE_FLOW_ACTION_TYPE_MARK, &mark), count}));
  EXPECT_LT(most.flow_tag, net::flow_tag_flag);
  EXPECT_TRUE(most.count);
  EXPECT_EQ(accepted(actions({flag, to_queue3})).flow_tag, net::flow_tag_flag);
  EXPECT_TRUE(accepted(actions({count, drop})).count);
}

TEST(ActionsRefused, EachInItsWords) {
  expect_refused(actions({}), EINVAL, "do not say where packets go");
  expect_refused(actions({count}), EINVAL, "add queue, rss, drop or jump");
  expect_refused(actions({drop, to_queue3}), EINVAL, "action 1 (QUEUE): packets of a rule go one way");
  expect_refused(actions({flag, drop}), EINVAL, "drop is among the actions");
  const rte_flow_action_queue queue4{.index = 4};
  expect_refused(actions({action(RTE_FLOW_ACTION_TYPE_QUEUE, &queue4)}), EINVAL, "the port has 4");
  expect_refused(actions({action(RTE_FLOW_ACTION_TYPE_QUEUE)}), EINVAL, "has no configuration");
  const rte_flow_action_mark mark{.id = net::max_mark_id + 1};
  expect_refused(actions({action(RTE_FLOW_ACTION_TYPE_MARK, &mark), drop}), ENOTSUP, "ids 0 to 0xfffffd");
  const rte_flow_action_mark small{.id = 1};
  expect_refused(actions({action(RTE_FLOW_ACTION_TYPE_MARK, &small), flag, to_queue3}), EINVAL,
                 "one mark or flag");
  expect_refused(actions({count, count, drop}), ENOTSUP, "one counter");
  net::ActionLimits without = limits;
  without.counters = false;
  expect_refused(actions({count, drop}), ENOTSUP, "no flow counters", without);
  const rte_flow_action_jump same{.group = 2}, far{.group = 10};
  expect_refused(actions({action(RTE_FLOW_ACTION_TYPE_JUMP, &same)}), ENOTSUP, "higher number only");
  expect_refused(actions({action(RTE_FLOW_ACTION_TYPE_JUMP, &far)}), ENOTSUP, "groups 0 to 9");
  expect_refused(actions({action(RTE_FLOW_ACTION_TYPE_PASSTHRU), drop}), ENOTSUP,
                 "action 0 (PASSTHRU) is not there");
  expect_refused(actions({action(RTE_FLOW_ACTION_TYPE_SEND_TO_KERNEL)}), ENOTSUP,
                 "action 0 (SEND_TO_KERNEL)");
}

struct Rss : ::testing::Test {
  std::uint16_t queues[4] = {3, 1, 2, 0};
  std::uint8_t key[40] = {1, 2, 3};
  rte_flow_action_rss conf{.func = RTE_ETH_HASH_FUNCTION_DEFAULT,
                           .level = 0,
                           .types = RTE_ETH_RSS_IPV4,
                           .key_len = 0,
                           .queue_num = 4,
                           .key = nullptr,
                           .queue = queues};
  net::RssKey port_key{9, 8, 7};

  void refused(int errnum, const char* words) {
    expect_refused(actions({action(RTE_FLOW_ACTION_TYPE_RSS, &conf)}), errnum, words);
  }
};

TEST_F(Rss, QueuesInTheirOrder) {
  const Actions parsed = accepted(actions({action(RTE_FLOW_ACTION_TYPE_RSS, &conf)}));
  EXPECT_EQ(parsed.fate, Actions::Fate::rss);
  const net::SpreadKey spread = net::spread_key(*parsed.rss, port_key);
  ASSERT_EQ(spread.count, 4);
  EXPECT_TRUE(std::equal(queues, queues + 4, spread.queues.begin()));
  EXPECT_EQ(spread.config.key, port_key);
  EXPECT_EQ(spread.config.types, RTE_ETH_RSS_IPV4);
  EXPECT_FALSE(spread.config.symmetric);
}

TEST_F(Rss, ThreeQueuesAreRepeated) {
  conf.queue_num = 3;
  const net::SpreadKey spread = net::spread_key(conf, port_key);
  EXPECT_EQ(spread.count, 512);
  for (unsigned i = 0; i < spread.count; ++i) EXPECT_EQ(spread.queues[i], queues[i % 3]);
}

TEST_F(Rss, KeyFunctionAndNoTypes) {
  conf.key_len = sizeof key;
  conf.key = key;
  conf.types = 0;
  conf.func = RTE_ETH_HASH_FUNCTION_SYMMETRIC_TOEPLITZ;
  accepted(actions({action(RTE_FLOW_ACTION_TYPE_RSS, &conf)}));
  const net::SpreadKey spread = net::spread_key(conf, port_key);
  EXPECT_TRUE(std::equal(key, key + 40, spread.config.key.begin()));
  EXPECT_TRUE(spread.config.symmetric);
  EXPECT_TRUE(spread.config.types & RTE_ETH_RSS_NONFRAG_IPV4_TCP);
  EXPECT_TRUE(spread.config.types & RTE_ETH_RSS_IPV6);
  EXPECT_EQ(spread.config.types & (RTE_ETH_RSS_L3_SRC_ONLY | RTE_ETH_RSS_L4_DST_ONLY), 0u);
}

TEST_F(Rss, Refused) {
  conf.queue_num = 0;
  refused(EINVAL, "names no queue");
  conf.queue_num = 513;
  refused(ENOTSUP, "up to 512");
  conf.queue_num = 4;
  queues[2] = 7;
  refused(EINVAL, "queue 7; the port has 4");
  queues[2] = 2;
  conf.level = 2;
  refused(ENOTSUP, "level 2");
  conf.level = 1;
  conf.func = RTE_ETH_HASH_FUNCTION_SIMPLE_XOR;
  refused(ENOTSUP, "hash function 2");
  conf.func = RTE_ETH_HASH_FUNCTION_TOEPLITZ;
  conf.key = key;
  conf.key_len = 52;
  refused(EINVAL, "a key of 52 bytes");
  conf.key_len = 40;
  conf.types = RTE_ETH_RSS_L2_PAYLOAD;
  refused(ENOTSUP, "what can: ipv4");
}

}  // namespace
}  // namespace chime::test
