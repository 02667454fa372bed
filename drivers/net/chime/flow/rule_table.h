// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "base/array.h"
#include "base/error.h"
#include "rx_steering.h"
#include "steering/destination.h"
#include "steering/gate.h"
#include "steering/index_pool.h"
#include "steering/match.h"

/// @file
/// The flow table of one rte_flow group.
///
/// The card takes the entry with the lowest index that matches, and wants entries of one mask side by side in
/// a flow group. So every priority has its range of indices, in the order of priorities, and in it every mask
/// has chunks: flow groups that grow sixteenfold, so that few of them hold many rules. A packet that no rule
/// takes goes through the gate at the end of the table, to what the port receives by itself.

namespace chime::net {

inline constexpr std::uint32_t rule_priorities = 16;

/// What an entry does.
struct Verdict {
  std::optional<Destination> to;  ///< nullopt: drop
  std::uint32_t flow_tag = 0;
  std::span<const std::uint32_t> counters;
};

class RuleTable {
  struct Token {};
  struct Family;
  struct Chunk;

 public:
  class Placement;

  static Result<Owned<RuleTable>> create(RxSteering& steering, std::uint32_t group) noexcept;
  explicit RuleTable(Token, RxSteering& steering) noexcept;
  ~RuleTable();
  RuleTable(const RuleTable&) = delete;
  RuleTable& operator=(const RuleTable&) = delete;

  /// @param priority below rule_priorities
  Result<Placement> insert(std::uint32_t priority, const Match& match, const Verdict& verdict) noexcept;

  std::uint32_t number() const noexcept { return table_.number(); }
  std::uint32_t entries() const noexcept { return entries_; }
  std::uint32_t flow_groups() const noexcept { return flow_groups_; }
  std::uint8_t log_size() const noexcept { return log_size_; }

 private:
  Result<> make_table(std::uint32_t group) noexcept;
  Result<> make_gate() noexcept;
  Result<Family*> family_of(std::uint32_t priority, const Match& match) noexcept;
  Result<Chunk*> grow(Family& family, const Match& match) noexcept;
  Result<std::uint32_t> find_room(std::uint32_t priority, std::uint32_t& size) noexcept;
  void remove(Chunk& chunk, std::uint32_t index) noexcept;
  void drop_if_empty(Family& family) noexcept;

  /// First index of a priority's range; that of rule_priorities is the first behind all ranges.
  std::uint32_t first_of(std::uint32_t priority) const noexcept { return priority * range_; }

  RxSteering& steering_;
  hca::Object table_;
  std::optional<Gate> gate_;
  std::uint8_t log_size_ = 0;
  std::uint32_t range_ = 0;  ///< indices of a priority
  std::uint32_t entries_ = 0;
  std::uint32_t flow_groups_ = 0;
  Owned<Family> families_;                             // last used first
  std::array<Chunk*, rule_priorities> by_index_ = {};  // chunks of a priority, lowest first
};

/// An entry in a table, which ends with it.
class RuleTable::Placement {
 public:
  Placement() noexcept = default;
  Placement(Placement&& other) noexcept { swap(other); }
  Placement& operator=(Placement&& other) noexcept {
    Placement(std::move(other)).swap(*this);
    return *this;
  }
  ~Placement();

 private:
  friend class RuleTable;
  void swap(Placement& other) noexcept {
    std::swap(table_, other.table_);
    std::swap(chunk_, other.chunk_);
    std::swap(index_, other.index_);
    std::swap(entry_, other.entry_);
  }

  RuleTable* table_ = nullptr;
  Chunk* chunk_ = nullptr;
  std::uint32_t index_ = 0;  ///< in the chunk
  hca::Object entry_;
};

}  // namespace chime::net
