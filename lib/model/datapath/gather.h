// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>

#include "model/wire.h"

namespace chime::model {

/// Copies the first `length` bytes of a frame; it must be as long.
inline void gather(std::byte* to, std::span<const Segment> segments, std::uint32_t length) noexcept {
  for (const Segment& segment : segments) {
    const std::uint32_t part = std::min(segment.length, length);
    std::memcpy(to, segment.data, part);
    to += part;
    length -= part;
    if (length == 0) return;
  }
}

}  // namespace chime::model
