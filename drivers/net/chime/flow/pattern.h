// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <rte_flow.h>

#include "flow/error.h"
#include "flow/item.h"
#include "steering/match.h"
#include "steering/table_limits.h"

namespace chime::net {

/// A pattern as match parameters of the card. "Any VLAN tag" is two of the card's tag kinds, so that a
/// pattern may need up to four entries, which differ in their value alone.
class Pattern {
 public:
  /// @param items up to RTE_FLOW_ITEM_TYPE_END
  static FlowResult<> parse(const rte_flow_item* items, const TableLimits& limits, Pattern& pattern) noexcept;

  static constexpr unsigned max_entries = 4;
  unsigned entries() const noexcept { return outer_choices() * second_choices(); }
  /// Makes match() that of one entry. @param entry below entries()
  void select(unsigned entry) noexcept;
  const Match& match() const noexcept { return match_; }

 private:
  unsigned outer_choices() const noexcept { return outer_tags_ == any_tag ? 2 : 1; }
  unsigned second_choices() const noexcept { return second_tags_ == any_tag ? 2 : 1; }

  Match match_;
  std::uint8_t outer_tags_ = any_or_no_tag;
  std::uint8_t second_tags_ = any_or_no_tag;
};

}  // namespace chime::net
