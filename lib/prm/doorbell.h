// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "prm/be.h"

/// @file
/// Doorbell records (in host memory, written before the doorbell) and the registers of a UAR page.

namespace chime::prm {

/// Record of a work queue; one 64-byte line each by habit.
struct WqRecord {
  Be32 receive;  ///< receive WQEs posted so far, modulo 2^16
  Be32 send;     ///< send basic blocks posted so far, modulo 2^16
};
static_assert(sizeof(WqRecord) == 8 && offsetof(WqRecord, send) == 4);

/// Record of a completion queue.
struct CqRecord {
  Be32 consumer;  ///< consumer index [23:0]
  Be32 arm;       ///< sequence number [29:28], command [24], consumer index [23:0]
};
static_assert(sizeof(CqRecord) == 8 && offsetof(CqRecord, arm) == 4);

enum class cq_arm : std::uint32_t { any = 0, solicited = 1u << 24 };

constexpr std::uint32_t cq_arm_word(std::uint32_t sequence, cq_arm command, std::uint32_t consumer) noexcept {
  return (sequence & 3) << 28 | static_cast<std::uint32_t>(command) | (consumer & 0xffffff);
}

/// Offsets in a 4 KiB UAR page.
inline constexpr std::size_t uar_page_size = 4096;
inline constexpr std::uint32_t uar_cq_doorbell = 0x20;  ///< CqRecord::arm word, CQ number
inline constexpr std::uint32_t uar_eq_arm = 0x40;       ///< EQ number [31:24], consumer index [23:0]; arms
inline constexpr std::uint32_t uar_eq_update = 0x48;    ///< the same without arming
inline constexpr std::uint32_t uar_blueflame =
    0x800;  ///< send doorbell: first 8 bytes of the control segment
inline constexpr std::uint32_t uar_blueflame_half = 256;  ///< the two buffers are used in turn
inline constexpr std::uint32_t uar_blueflame_size = 2 * uar_blueflame_half;
inline constexpr std::uint32_t uar_blueflames =
    4;  ///< registers in a page, one behind the other; all do the same

}  // namespace chime::prm
