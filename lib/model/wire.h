// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

/// @file
/// What the card's port is plugged into. Both directions hand over frames in batches; a frame's bytes are
/// borrowed for the length of the call, so that a looped frame is copied once, from the sender's buffer to
/// the receiver's. All calls come from the thread that steps the Hca.

namespace chime::model {

struct Segment {
  const std::byte* data;
  std::uint32_t length;  ///< bytes, not 0
};

/// One Ethernet frame, from destination address to the last byte before the FCS.
struct Frame {
  const Segment* segments;
  std::uint32_t segment_count;
  std::uint32_t length;  ///< sum over the segments
};

struct WireLink {
  bool up = false;
  std::uint32_t speed_mbps = 0;
};

/// The card's end: what a wire calls.
class WirePort {
 public:
  virtual ~WirePort() = default;
  virtual void deliver(std::span<const Frame> frames) noexcept = 0;
  /// Wire::link() or Wire::largest_frame() answers otherwise than before.
  virtual void wire_changed() noexcept = 0;
};

/// The other end: what the card calls.
class Wire {
 public:
  virtual ~Wire() = default;
  /// The port that frames are delivered to; nullptr unplugs it. The wire drops (and counts) what it has
  /// nobody for.
  virtual void plug(WirePort* port) noexcept = 0;
  /// Takes every frame; what it can't carry it drops and counts.
  virtual void transmit(std::span<const Frame> frames) noexcept = 0;
  /// Delivers up to about `budget` frames that have arrived. @return frames delivered
  virtual unsigned poll(unsigned budget) noexcept = 0;
  virtual WireLink link() const noexcept = 0;
  /// Bytes, without FCS. Bounds the MTU that the port announces.
  virtual std::uint32_t largest_frame() const noexcept = 0;
};

}  // namespace chime::model
