// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <span>

#include "base/array.h"
#include "base/error.h"
#include "hca/model/kernel.h"
#include "hca/steering.h"

namespace chime::hca::embedded {

/// The bypass namespace as the kernel lays it out: a flow table a priority, chained by miss, the first of
/// them the root. Within a table, rules of one mask share flow groups. Tables and groups come and go with
/// their rules. Used by the thread that steps the HCA.
class RootTables {
 public:
  static constexpr unsigned priorities = 16;
  static constexpr std::uint8_t log_table_size = 16;
  static constexpr std::uint32_t group_entries = 64;

  explicit RootTables(Kernel& kernel) noexcept : kernel_(kernel) {}
  ~RootTables();
  RootTables(const RootTables&) = delete;
  RootTables& operator=(const RootTables&) = delete;

  struct Group;
  /// Where a rule lies.
  struct Place {
    unsigned priority = 0;
    Group* group = nullptr;
    std::uint32_t index = 0;  ///< in the table
  };

  Result<Place> add(std::uint8_t criteria_enable, std::span<const std::byte> mask,
                    std::span<const std::byte> value, unsigned priority,
                    RootDestination destination) noexcept;
  Result<> remove(const Place& place) noexcept;

 private:
  struct Table {
    std::uint32_t id = 0;
    bool exists = false;
    Group* groups = nullptr;
  };

  Result<> make_table(unsigned priority) noexcept;
  void drop_table(unsigned priority) noexcept;
  Result<Group*> group_for(unsigned priority, std::uint8_t criteria_enable,
                           std::span<const std::byte> mask) noexcept;
  void drop_group(unsigned priority, Group& group) noexcept;
  Result<> write_entry(const Place& place, std::span<const std::byte> value,
                       RootDestination destination) noexcept;

  const Table* below(unsigned priority) const noexcept;
  /// Leads misses of the table before `priority`, or the root when there is none, to `to` (nullptr: nowhere).
  Result<> lead(unsigned priority, const Table* to) noexcept;
  Result<> set_root(const Table* table) noexcept;
  Result<> set_miss(const Table& table, const Table* miss) noexcept;

  Kernel& kernel_;
  std::array<Table, priorities> tables_;
};

}  // namespace chime::hca::embedded
