// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "prm/be.h"

/// @file
/// Unaligned integers in a frame: `load` as they lie in memory, `load_be` most significant byte first.

namespace chime::net {

template <class T>
inline T load(const std::byte* from) noexcept {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
inline void store(std::byte* to, T value) noexcept {
  std::memcpy(to, &value, sizeof value);
}

template <class T>
inline T load_be(const std::byte* from) noexcept {
  return prm::host_to_be(load<T>(from));
}

template <class T>
inline void store_be(std::byte* to, T value) noexcept {
  store(to, prm::host_to_be(value));
}

inline std::uint8_t byte_at(const std::byte* from) noexcept {
  return static_cast<std::uint8_t>(*from);
}

}  // namespace chime::net
