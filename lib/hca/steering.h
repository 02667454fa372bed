// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/error.h"
#include "hca/object.h"

namespace chime::hca {

/// Where a rule of the root leads to.
struct RootDestination {
  enum class Kind : std::uint8_t { table, tir } kind;
  std::uint32_t number;  ///< of the flow table (level 64 or more) or TIR
};

/// Roots a table or TIR in the port's receive path. On a card these are rules in the kernel's bypass
/// namespace (mlx5dv_create_flow); everything else of steering lives in tables of one's own.
class Steering {
 public:
  virtual ~Steering() = default;

  /// @param criteria_enable match_criteria_enable bits (outer headers 1, misc 2, ...)
  /// @param mask,value fte_match_param layouts; empty mask: everything that reaches the port
  /// @param priority 0 is first, at most 15
  /// @return the rule, which ends with the handle
  virtual Result<Object> root(std::uint8_t criteria_enable, std::span<const std::byte> mask,
                              std::span<const std::byte> value, std::uint16_t priority,
                              RootDestination destination) noexcept = 0;
};

}  // namespace chime::hca
