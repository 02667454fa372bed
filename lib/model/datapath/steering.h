// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/card.h"
#include "model/datapath/match_param.h"
#include "model/packet/headers.h"

namespace chime::model {

/// Finds the TIRs that a received packet goes to.
class Steering {
 public:
  explicit Steering(Hca::Card& card) noexcept : card_(card) {}

  /// Walks the tables from the root of the receive path.
  /// @param front   the packet's first bytes, all headers within
  /// @param deliver called as deliver(Tir&, std::uint32_t flow_tag) for every destination
  /// @return false when no entry matched, and the packet is dropped for that
  template <class Deliver>
  bool classify(const std::byte* front, const net::Headers& headers, std::uint32_t length,
                Deliver&& deliver) noexcept {
    filled_ = false;
    FlowTable* table = card_.root[static_cast<unsigned>(TableType::nic_receive)].get();
    Pending pending[max_pending];
    unsigned waiting = 0, visited = 0;
    std::uint32_t tag = 0;
    bool matched = false;
    for (;;) {
      if (!table) {
        if (waiting == 0) return matched;
        --waiting;
        table = pending[waiting].table;
        tag = pending[waiting].tag;
      }
      if (++visited > max_tables) [[unlikely]] {
        too_many_tables(*table);
        return matched;
      }
      const FlowEntry* const entry = look_up(*table, front, headers);
      if (!entry) {
        table = table->miss.get();
        continue;
      }
      table = nullptr;
      const FlowVerdict& verdict = entry->verdict;
      if ((verdict.action & action_count) != 0) count(verdict, length);
      if (verdict.flow_tag != 0) tag = verdict.flow_tag;
      if ((verdict.action & action_drop) != 0) {
        matched = true;
        continue;
      }
      if ((verdict.action & action_forward) == 0) continue;
      for (const FlowDestination& to : verdict.destinations) {
        if (to.tir) {
          matched = true;
          deliver(*to.tir, tag);
        } else if (!table) {
          table = to.table.get();
        } else if (waiting < max_pending) {
          pending[waiting++] = {to.table.get(), tag};
        } else {
          too_many_destinations(*entry);
        }
      }
    }
  }

 private:
  static constexpr unsigned max_pending = 16;  ///< tables that are still to be searched for one packet
  static constexpr unsigned max_tables = 512;

  struct Pending {
    FlowTable* table;
    std::uint32_t tag;
  };

  const FlowEntry* look_up(const FlowTable& table, const std::byte* front,
                           const net::Headers& headers) noexcept {
    for (const FlowGroup* group = table.groups; group; group = group->next) {
      if (group->entries() == 0) continue;
      if (!filled_ && !group->mask.empty()) {
        fill_match_param(param_, front, headers);
        filled_ = true;
      }
      if (const FlowEntry* entry = group->match(param_)) return entry;
    }
    return nullptr;
  }

  static void count(const FlowVerdict& verdict, std::uint32_t length) noexcept {
    for (const Ref<FlowCounter>& counter : verdict.counters) {
      ++counter->packets;
      counter->octets += length;
    }
  }

  void too_many_tables(const FlowTable& table) noexcept;
  void too_many_destinations(const FlowEntry& entry) noexcept;

  Hca::Card& card_;
  MatchParam param_{};
  bool filled_ = false;  ///< `param_` is the packet's
};

}  // namespace chime::model
