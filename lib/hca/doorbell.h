// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace chime::hca {

/// Where a ring's doorbell is stored to. Plain data of 32 bytes; every ring of the project goes through
/// ring().
///
///     what it is                    step   mask
///     uncached UAR page             0      0
///     software HCA in this process  8      0x3f8   128 cells, see model/aperture.h
///
/// One writer at a time.
struct Doorbell {
  std::byte* base = nullptr;
  std::uint64_t position = 0;
  std::uint64_t step = 0;
  std::uint64_t mask = 0;

  /// Tells the device about everything up to the value in the doorbell record.
  /// Order as the manual asks: WQE, record, doorbell.
  /// @param record       the doorbell record's word
  /// @param record_value as it lies in memory (big-endian)
  /// @param value        first 8 bytes of the last WQE's control segment as they lie in memory; never 0
  void ring(std::uint32_t* record, std::uint32_t record_value, std::uint64_t value) noexcept {
    const std::uint64_t at = position;
    std::atomic_ref(*record).store(record_value, std::memory_order_release);
    // x86 keeps stores in order up to an uncached page. A UAR is mapped uncached where the kernel allows it;
    // a write-combining mapping would need a store fence here and is refused when the UAR is allocated.
    std::atomic_ref(*reinterpret_cast<std::uint64_t*>(base + at)).store(value, std::memory_order_release);
    position = (at + step) & mask;
  }
};

}  // namespace chime::hca
