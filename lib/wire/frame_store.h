// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/array.h"
#include "base/error.h"
#include "model/wire.h"

namespace chime::wire {

/// Copies the segments of `frame` behind one another.
inline void gather(const model::Frame& frame, std::byte* to) noexcept;

/// Frames that are on their way, oldest first, in memory that is allocated once.
class FrameStore {
 public:
  static constexpr std::size_t bytes = 4u << 20;
  static constexpr std::size_t frames = 4096;

  bool exists() const noexcept { return !memory_.empty(); }
  Result<> allocate() noexcept;

  /// Copies the frame in. @return false: there is no room
  bool push(const model::Frame& frame, std::uint64_t due) noexcept;

  std::size_t size() const noexcept { return count_; }
  /// The i-th oldest frame and when it is due.
  std::span<const std::byte> frame(std::size_t i) const noexcept;
  std::uint64_t due(std::size_t i) const noexcept { return entry(i).due; }
  /// Forgets the n oldest.
  void pop(std::size_t n) noexcept;

 private:
  struct Entry {
    std::uint32_t offset, length;
    std::uint64_t due;
  };
  const Entry& entry(std::size_t i) const noexcept { return entries_[(first_ + i) % frames]; }

  Array<std::byte> memory_;
  Array<Entry> entries_;
  std::size_t first_ = 0, count_ = 0;
};

inline void gather(const model::Frame& frame, std::byte* to) noexcept {
  for (std::uint32_t i = 0; i < frame.segment_count; ++i) {
    const model::Segment& segment = frame.segments[i];
    __builtin_memcpy(to, segment.data, segment.length);
    to += segment.length;
  }
}

}  // namespace chime::wire
