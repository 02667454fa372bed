// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "flow/rules.h"
#include "items.h"
#include "steered.h"

namespace chime::test {

/// A steered port with rules.
class FlowTest : public Steered {
 protected:
  void TearDown() override {
    rules.stop();
    (void)rules.flush();
    Steered::TearDown();
  }

  void start_rules() {
    filter.isolated = rules.isolated();
    const auto steered = start();
    ASSERT_TRUE(steered) << why(steered);
    const auto started = rules.start(*steering, rss.key);
    ASSERT_TRUE(started) << why(started);
  }

  /// @return the rule, or nullptr with the reason in `error`
  rte_flow* create(std::initializer_list<rte_flow_item> items, std::initializer_list<rte_flow_action> list,
                   std::uint32_t priority = 0, std::uint32_t group = 0) {
    const rte_flow_attr attr{
        .group = group, .priority = priority, .ingress = 1, .egress = 0, .transfer = 0, .reserved = 0};
    const auto all_items = pattern(items);
    const auto all_actions = actions(list);
    const auto made = rules.create(attr, all_items.data(), all_actions.data());
    error = made ? "" : made.error().error.text;
    errnum = made ? 0 : made.error().error.errnum;
    return made ? *made : nullptr;
  }

  struct Count {
    std::uint64_t packets, bytes;
    bool operator==(const Count&) const = default;
  };
  Count count_of(rte_flow* rule, bool reset = false) {
    rte_flow_query_count count{};
    count.reset = reset;
    const auto done = rules.query(*rule, action(RTE_FLOW_ACTION_TYPE_COUNT), &count);
    EXPECT_TRUE(done) << done.error().error.text;
    EXPECT_TRUE(count.hits_set && count.bytes_set);
    return {count.hits, count.bytes};
  }

  /// Actions with the fixture's own configurations.
  rte_flow_action to_queue(unsigned queue) {
    queue_confs[queue].index = static_cast<std::uint16_t>(queue);
    return action(RTE_FLOW_ACTION_TYPE_QUEUE, &queue_confs[queue]);
  }
  rte_flow_action to_group(unsigned group) {
    jump_confs[group].group = group;
    return action(RTE_FLOW_ACTION_TYPE_JUMP, &jump_confs[group]);
  }
  rte_flow_action mark(unsigned id) {
    mark_conf.id = id;
    return action(RTE_FLOW_ACTION_TYPE_MARK, &mark_conf);
  }
  static rte_flow_action drop() { return action(RTE_FLOW_ACTION_TYPE_DROP); }
  static rte_flow_action count() { return action(RTE_FLOW_ACTION_TYPE_COUNT); }

  net::FlowRules rules;
  std::string error;
  int errnum = 0;
  rte_flow_action_queue queue_confs[queues] = {};
  rte_flow_action_jump jump_confs[8] = {};
  rte_flow_action_mark mark_conf = {};
};

}  // namespace chime::test
