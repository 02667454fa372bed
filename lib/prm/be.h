// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <type_traits>

/// @file
/// Integers that lie in memory as the card reads them: most significant byte first.

namespace chime::prm {

template <std::unsigned_integral T>
constexpr T swap_bytes(T value) noexcept {
  if constexpr (sizeof(T) == 8) return __builtin_bswap64(value);
  if constexpr (sizeof(T) == 4) return __builtin_bswap32(value);
  if constexpr (sizeof(T) == 2) return __builtin_bswap16(value);
  return value;
}

template <std::unsigned_integral T>
constexpr T host_to_be(T value) noexcept {
  return std::endian::native == std::endian::little ? swap_bytes(value) : value;
}

/// A trivially copyable big-endian integer; reads and writes convert. `raw` is the value as it lies in
/// memory.
template <std::unsigned_integral T>
struct Be {
  T raw;

  Be() noexcept = default;
  constexpr Be(T host) noexcept
      : raw(host_to_be(host)) {}  // NOLINT(google-explicit-constructor): reads like the manual
  constexpr operator T() const noexcept { return host_to_be(raw); }
  static constexpr Be from_raw(T value) noexcept {
    Be be;
    be.raw = value;
    return be;
  }
};

using Be16 = Be<std::uint16_t>;
using Be32 = Be<std::uint32_t>;
using Be64 = Be<std::uint64_t>;

static_assert(sizeof(Be16) == 2 && sizeof(Be32) == 4 && sizeof(Be64) == 8);
static_assert(std::is_trivially_copyable_v<Be32> && std::is_trivially_default_constructible_v<Be32>);

}  // namespace chime::prm
