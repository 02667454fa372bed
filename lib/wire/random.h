// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace chime::wire {

/// SplitMix64: small, and the same everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed = 0) noexcept : state_(seed) {}

  std::uint64_t next() noexcept {
    state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  /// @return 0 to bound - 1
  std::uint32_t below(std::uint32_t bound) noexcept {
    return static_cast<std::uint32_t>(((next() >> 32) * bound) >> 32);
  }

  /// @return true in `ppm` of a million calls
  bool chance(std::uint32_t ppm) noexcept { return below(1'000'000) < ppm; }

 private:
  std::uint64_t state_;
};

}  // namespace chime::wire
