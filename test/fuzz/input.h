// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

namespace chime::fuzz {

inline void want(bool good) noexcept {
  if (!good) std::abort();
}

/// What the fuzzer made up, taken from the front. At its end there are zeros.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) noexcept : left_(data, size) {}

  bool empty() const noexcept { return left_.empty(); }
  std::uint8_t u8() noexcept {
    const auto bytes = take(1);
    return bytes.empty() ? std::uint8_t{0} : bytes[0];
  }
  std::uint16_t u16() noexcept {
    const unsigned high = u8();
    return static_cast<std::uint16_t>(high << 8 | u8());
  }
  std::uint32_t u32() noexcept {
    const std::uint32_t high = u16();
    return high << 16 | u16();
  }
  std::uint64_t u64() noexcept {
    const std::uint64_t high = u32();
    return high << 32 | u32();
  }
  bool flag() noexcept { return (u8() & 1) != 0; }
  std::uint32_t below(std::uint32_t end) noexcept { return u8() % end; }
  /// At most `count` bytes.
  std::span<const std::uint8_t> take(std::size_t count) noexcept {
    const auto bytes = left_.first(std::min(count, left_.size()));
    left_ = left_.subspan(bytes.size());
    return bytes;
  }
  std::span<const std::uint8_t> rest() noexcept { return take(left_.size()); }

 private:
  std::span<const std::uint8_t> left_;
};

}  // namespace chime::fuzz
