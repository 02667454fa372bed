// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/error.h"
#include "hca/device.h"
#include "prm/layouts.h"
#include "prm/view.h"

namespace chime::net {

/// Levels of one's own tables begin here: below are the kernel's.
inline constexpr std::uint8_t first_own_level = 64;

/// What the device's receive flow tables can do (QUERY_HCA_CAP), and how their levels are shared out.
/// Plain data.
struct TableLimits {
  std::uint8_t log_max_table;  ///< entries of a table
  bool counters;
  /// flow_table_fields_supported: what can be matched, and what under a mask of some of its bits.
  std::array<std::byte, prm::flow_table_fields_supported::size> fields;
  std::array<std::byte, prm::flow_table_fields_supported::size> masked_fields;

  std::uint8_t mac_level;     ///< of the MAC filter,
  std::uint8_t vlan_level;    ///< the VLAN filter behind it
  std::uint8_t spread_level;  ///< and the tables that spread packets over TIRs
  std::uint32_t flow_groups;  ///< rte_flow groups: group n is the table of level first_own_level + n

  static Result<TableLimits> query(hca::Device& device) noexcept;
};

}  // namespace chime::net
