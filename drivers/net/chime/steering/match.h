// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "prm/layouts.h"
#include "prm/view.h"

namespace chime::net {

/// Bits of match_criteria_enable: which parts of fte_match_param count.
inline constexpr std::uint8_t match_outer = 1;
inline constexpr std::uint8_t match_misc = 2;

/// What a flow group compares and what an entry of it wants.
struct Match {
  prm::Box<prm::fte_match_param> mask;
  prm::Box<prm::fte_match_param> value;
  std::uint8_t criteria = 0;  ///< 0: everything matches
};

}  // namespace chime::net
