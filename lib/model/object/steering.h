// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/array.h"
#include "model/object/counter.h"
#include "model/object/object.h"
#include "model/object/sparse.h"
#include "model/object/transport.h"

/// @file
/// Flow tables, groups and entries. A table is searched group by group in the order of their indices; within
/// a group all entries have one mask, so that a packet finds its entry by one hash lookup.

namespace chime::model {

struct FlowEntry;
struct FlowTable;

/// fte_match_param in 32-bit words, as they lie in memory: outer headers are words 0 to 15, misc parameters
/// 16 to 31, inner headers 32 to 47, misc parameters 2 48 to 63, ...
inline constexpr unsigned match_words = 128;
using MatchParam = std::array<std::uint32_t, match_words>;

/// One word of a group's mask that is not 0.
struct MatchWord {
  std::uint16_t word;
  std::uint32_t mask;  ///< as it lies in memory
};

struct FlowGroup final : Object {
  FlowGroup() noexcept : Object(Kind::flow_group) {}

  Ref<FlowTable> table;
  std::uint32_t first = 0;           ///< index in the table
  std::uint32_t last = 0;            ///< inclusive
  std::uint8_t criteria_enable = 0;  ///< parts of fte_match_param that count, bit 0 outer headers
  Array<MatchWord> mask;             ///< empty: everything matches
  FlowGroup* next = nullptr;         ///< in the table, by `first`

  /// @param packet the packet's parameters; only the words of `mask` are read
  /// @return the entry that the packet matches (the lowest, of several with one value), or nullptr
  FlowEntry* match(const MatchParam& packet) const noexcept;

  /// Entries by value. add() changes nothing when it fails (ENOMEM).
  Result<> add(FlowEntry& entry) noexcept;
  void remove(FlowEntry& entry) noexcept;
  std::uint32_t entries() const noexcept { return entries_; }

 private:
  Result<> grow() noexcept;

  Array<FlowEntry*> buckets_;  ///< a power of two
  std::uint32_t entries_ = 0;
};

struct FlowDestination {
  Ref<FlowTable> table;  ///< exactly one of these
  Ref<Tir> tir;
};

/// flow_context.action of what is supported.
enum FlowAction : std::uint32_t {
  action_drop = 0x2,
  action_forward = 0x4,
  action_count = 0x8,
};

/// What happens to a packet that matches.
struct FlowVerdict {
  std::uint32_t action = 0;  ///< FlowAction
  std::uint32_t flow_tag = 0;
  Array<FlowDestination> destinations;  ///< of action_forward
  Array<Ref<FlowCounter>> counters;     ///< of action_count
};

struct FlowEntry {
  std::uint32_t index = 0;
  std::uint32_t hash = 0;
  Ref<FlowGroup> group;
  Array<std::uint32_t> value;  ///< as long as the group's mask, masked
  FlowEntry* next = nullptr;   ///< in the group's bucket
  FlowVerdict verdict;
};

/// What packets pass a table.
enum class TableType : std::uint8_t { nic_receive = 0 };
inline constexpr unsigned table_types = 1;
const char* name(TableType type) noexcept;

struct FlowTable final : Object {
  FlowTable() noexcept : Object(Kind::flow_table) {}
  ~FlowTable();

  TableType type = TableType::nic_receive;
  std::uint8_t level = 0;
  std::uint8_t log_size = 0;
  Ref<FlowTable> miss;          ///< where a packet without a match goes; none: default miss, it is dropped
  FlowGroup* groups = nullptr;  ///< by their first index
  Sparse<FlowEntry> entries;    ///< by index; owned by the table

  void link(FlowGroup& group) noexcept;
  void unlink(FlowGroup& group) noexcept;
};

}  // namespace chime::model
