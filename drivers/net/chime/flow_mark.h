// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

/// @file
/// How rte_flow's marks travel in the 24-bit flow tag of the CQE. A rule without a mark leaves tag 0, so a
/// mark's id is carried plus one.

namespace chime::net {

inline constexpr std::uint32_t flow_tag_none = 0;
inline constexpr std::uint32_t flow_tag_flag = 0xffffff;  ///< action FLAG: RTE_MBUF_F_RX_FDIR without an id
inline constexpr std::uint32_t max_mark_id = flow_tag_flag - 2;

constexpr std::uint32_t flow_tag_of_mark(std::uint32_t id) noexcept {
  return id + 1;
}
constexpr std::uint32_t mark_of_flow_tag(std::uint32_t tag) noexcept {
  return tag - 1;
}

}  // namespace chime::net
