// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "flow/rules.h"

namespace chime::net {

class FlowRules::GroupUse {
 public:
  GroupUse() noexcept = default;
  GroupUse(FlowRules& rules, std::uint32_t group) noexcept : rules_(&rules), group_(group) {
    ++rules.groups_[group].users;
  }
  GroupUse(GroupUse&& other) noexcept { swap(other); }
  GroupUse& operator=(GroupUse&& other) noexcept {
    GroupUse(std::move(other)).swap(*this);
    return *this;
  }
  ~GroupUse() {
    if (rules_) rules_->release(group_);
  }

  RuleTable& table() const noexcept { return *rules_->groups_[group_].table; }

 private:
  void swap(GroupUse& other) noexcept {
    std::swap(rules_, other.rules_);
    std::swap(group_, other.group_);
  }

  FlowRules* rules_ = nullptr;
  std::uint32_t group_ = 0;
};

}  // namespace chime::net

/// A rule: what it has on the card, and its place in the list of rules.
struct rte_flow {
  /// Ends what the rule has on the card.
  void clear() noexcept {
    for (auto& placement : placements) placement = {};
    counter = {};
    spread = {};
    jump = {};
    home = {};
  }

  rte_flow* previous = nullptr;
  rte_flow* next = nullptr;
  bool placed = false;
  bool counted = false;
  std::uint32_t group = 0, priority = 0;
  chime::net::Actions::Fate fate = chime::net::Actions::Fate::none;

  // Users go first.
  chime::net::FlowRules::GroupUse home, jump;
  chime::net::SharedSpreads::Ref spread;
  chime::hca::Object counter;
  chime::Array<chime::net::RuleTable::Placement> placements;
};
