// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "base/array.h"
#include "base/error.h"

namespace chime::net {

/// The free ones of the numbers 0 .. size-1, lowest first, in constant time: a tree of bitmaps, each bit of a
/// word telling that the word below it has a free number.
class IndexPool {
 public:
  static constexpr std::uint32_t none = 0xffffffff;
  static constexpr std::uint32_t max_size = 1u << 24;

  IndexPool() noexcept = default;  ///< empty
  /// @param size 1 to max_size
  static Result<IndexPool> make(std::uint32_t size, const char* what) noexcept;

  /// @return the lowest free number, or none
  std::uint32_t take() noexcept;
  /// @param index from take()
  void give_back(std::uint32_t index) noexcept;

  std::uint32_t size() const noexcept { return size_; }
  std::uint32_t taken() const noexcept { return taken_; }
  bool full() const noexcept { return taken_ == size_; }

 private:
  static constexpr unsigned max_levels = 4;  // 64^4 = max_size

  std::uint32_t size_ = 0;
  std::uint32_t taken_ = 0;
  unsigned levels_ = 0;
  Array<std::uint64_t> bits_[max_levels];  // [0] has a bit for each number, the last one is a single word
};

}  // namespace chime::net
