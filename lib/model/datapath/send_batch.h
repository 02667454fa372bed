// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "model/packet/headers.h"
#include "model/wire.h"

namespace chime::model {

/// Bytes without FCS; the port pads what is shorter, with these.
inline constexpr std::uint32_t smallest_frame = 60;
inline constexpr std::byte padding[smallest_frame]{};

/// Frames of one SQ on their way to the wire, and the completions that follow them. Made once per card: its
/// frames point into host memory, and into the scratch here where a header is changed.
struct SendBatch {
  static constexpr unsigned max_frames = 64;
  /// Of one request: each 16-byte unit may be a segment in two pages, a long one in more; header and padding.
  static constexpr unsigned max_request_segments = 2 * 63 + 34;
  static constexpr unsigned max_segments = 4 * max_frames + max_request_segments;
  static constexpr std::size_t max_request = 1024;  ///< bytes: 63 units, in whole basic blocks

  /// One request that asked for a CQE.
  struct Completion {
    std::uint16_t index;  ///< wqe_counter
    std::uint8_t opcode;
    bool solicited;
    std::uint16_t frames;  ///< of the batch that come before it
  };

  std::array<Frame, max_frames> frames;
  std::array<Segment, max_segments> segments;
  std::array<Completion, max_frames> completions;
  unsigned frame_count = 0;
  unsigned segment_count = 0;
  unsigned completion_count = 0;

  /// A request that runs over the end of the ring or of a page, in one piece.
  alignas(64) std::array<std::byte, max_request> request;
  bool request_used = false;

  /// Headers that differ from what lies in host memory.
  alignas(64)
      std::array<std::array<std::byte, net::largest_header_room + net::vlan_tag_size>, max_frames> headers;

  bool full() const noexcept {
    return frame_count == max_frames || completion_count == max_frames ||
           segment_count + max_request_segments > max_segments;
  }
  /// After a request whose first frames may have gone: the scratch, if it is there, belongs to its last ones.
  void hold(const std::byte* of_frames) noexcept {
    if (of_frames == request.data()) request_used = true;
  }
  void clear() noexcept {
    frame_count = segment_count = completion_count = 0;
    request_used = false;
  }
};

}  // namespace chime::model
