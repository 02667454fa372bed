// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "rdma/queue.h"

/// @file
/// Building one work request of any kind in the ring.

namespace chime::rdma {

/// The control segment's fm_ce_se.
constexpr std::uint8_t completion_mode(std::uint8_t flags) noexcept {
  static_assert(signaled << 3 == static_cast<int>(prm::wqe_ce::always));
  static_assert(fenced << 5 == static_cast<int>(prm::wqe_fm::fence));
  static_assert(solicited >> 1 == prm::wqe_solicited);
  return static_cast<std::uint8_t>((flags & signaled) << 3 | (flags & fenced) << 5 |
                                   (flags & solicited) >> 1);
}

struct Built {
  std::uint32_t blocks;  ///< 0: nothing was built
  Refusal refusal;
};

/// Writes the work request of `operation` from basic block `block` on, and its slot.
/// @param flags those of the operation, with what the queue pair adds; a request that is not signaled for the
///   application's sake has `make_room` too
/// @param free basic blocks
Built build(Qp& qp, const Operation& operation, std::uint8_t flags, std::uint32_t block,
            std::uint32_t free) noexcept;

inline constexpr std::uint8_t make_room = 0x80;

/// Basic blocks that the longest request takes.
inline constexpr std::uint32_t most_blocks = (prm::max_ds + 3) / 4;

}  // namespace chime::rdma
