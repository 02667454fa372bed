// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <rte_flow.h>

#include <cstdint>

#include "flow/error.h"

namespace chime::net {

/// What the application's actions are checked against.
struct ActionLimits {
  std::uint32_t queues;       ///< receive queues of the port
  std::uint32_t group;        ///< of the rule
  std::uint32_t flow_groups;  ///< that there are
  bool counters;
};

/// A rule's actions. Pointers are the application's.
struct Actions {
  enum class Fate : std::uint8_t { none, drop, queue, rss, jump };
  static constexpr const char* fates = "queue, rss, drop or jump";

  /// @param actions up to RTE_FLOW_ACTION_TYPE_END
  static FlowResult<Actions> parse(const rte_flow_action* actions, const ActionLimits& limits) noexcept;

  Fate fate = Fate::none;
  bool count = false;
  std::uint16_t queue = 0;                   ///< of Fate::queue
  const rte_flow_action_rss* rss = nullptr;  ///< of Fate::rss, checked
  std::uint32_t jump = 0;                    ///< group, of Fate::jump
  std::uint32_t flow_tag = 0;                ///< of mark and flag (flow_mark.h)
};

}  // namespace chime::net
