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

/// How a frame that stands for several is to be cut: TCP over IP, with the headers and lengths of the whole,
/// and for a TCP checksum the sum of the pseudo header alone (not complemented).
struct Cut {
  std::uint16_t payload = 0;  ///< bytes of it in each frame but the last; 0: this is one frame
  std::uint16_t headers = 0;  ///< bytes in front of the payload
  std::uint16_t tcp = 0;      ///< offset of the TCP header
  bool ipv6 = false;
};

/// One Ethernet frame, from destination address to the last byte before the FCS.
struct Frame {
  const Segment* segments;
  std::uint32_t segment_count;
  std::uint32_t length;  ///< sum over the segments
  Cut cut = {};          ///< of frames for a wire that cuts
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
  /// Whether it takes TCP that is still to be cut (Frame::cut), of up to 64 KiB. Asked for every large send.
  virtual bool cuts() const noexcept { return false; }
  /// Whether all that is sent comes back: the card keeps nothing for itself then, for it would have it twice.
  virtual bool loops() const noexcept { return false; }
};

}  // namespace chime::model
