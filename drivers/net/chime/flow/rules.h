// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <rte_flow.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "base/array.h"
#include "base/error.h"
#include "flow/actions.h"
#include "flow/error.h"
#include "flow/pattern.h"
#include "flow/rss_action.h"
#include "flow/rule_table.h"
#include "rx_steering.h"

/// @file
/// The rte_flow rules of a port. They can be made while the port runs. When it stops they end, as
/// RTE_ETH_DEV_CAPA_FLOW_RULE_KEEP is not reported; the application's handles stay good for destroy and
/// flush.

/// What the application's handle points to.
struct rte_flow;

namespace chime::net {

/// Under the port's lock.
class FlowRules {
 public:
  FlowRules() noexcept = default;
  FlowRules(const FlowRules&) = delete;
  FlowRules& operator=(const FlowRules&) = delete;
  ~FlowRules();

  /// Whether nothing but rules lets packets in (ReceiveFilter::isolated of the next start).
  bool isolated() const noexcept { return isolated_; }

  /// @param steering of the port, which starts; stop() comes before its end
  /// @param port_key for actions rss that have no key
  Result<> start(RxSteering& steering, const RssKey& port_key) noexcept;
  /// Ends what rules have on the card. Nothing is received any more.
  void stop() noexcept;

  FlowResult<> validate(const rte_flow_attr& attr, const rte_flow_item* pattern,
                        const rte_flow_action* actions) noexcept;
  FlowResult<rte_flow*> create(const rte_flow_attr& attr, const rte_flow_item* pattern,
                               const rte_flow_action* actions) noexcept;
  FlowResult<> destroy(rte_flow& rule) noexcept;
  FlowResult<> flush() noexcept;
  /// Of action COUNT: data is rte_flow_query_count.
  FlowResult<> query(rte_flow& rule, const rte_flow_action& action, void* data) noexcept;
  FlowResult<> isolate(bool on) noexcept;
  /// One line for each group and rule. @param rule nullptr: all
  FlowResult<> dump(const rte_flow* rule, std::FILE* file) noexcept;

  /// Keeps an error's text for as long as rte_flow wants it: until the next error.
  const char* keep_message(const Error& error) noexcept;

 private:
  friend struct ::rte_flow;

  struct Parsed {
    Pattern pattern;
    Actions actions;
  };
  /// A group's table, while rules are in it or jump to it.
  struct Group {
    Owned<RuleTable> table;
    std::uint32_t users = 0;
  };
  /// A rule's hold on a group.
  class GroupUse;

  FlowResult<Parsed> parse(const rte_flow_attr& attr, const rte_flow_item* pattern,
                           const rte_flow_action* actions) noexcept;
  Result<> place(rte_flow& rule, Parsed& parsed) noexcept;
  Result<Destination> destination(rte_flow& rule, const Actions& actions) noexcept;
  Result<GroupUse> use(std::uint32_t group) noexcept;
  void release(std::uint32_t group) noexcept;
  void unlink(rte_flow& rule) noexcept;

  bool isolated_ = false;
  RxSteering* steering_ = nullptr;  ///< while started
  RssKey port_key_{};
  Array<hca::Object> queue_tirs_;  ///< by queue, made when a rule first wants them
  Array<Group> groups_;
  SharedSpreads spreads_;
  rte_flow* rules_ = nullptr;  ///< newest first
  char message_[sizeof Error::text] = {};
};

}  // namespace chime::net
