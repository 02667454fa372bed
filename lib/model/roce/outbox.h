// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "model/card.h"
#include "model/datapath/egress.h"
#include "model/datapath/port.h"
#include "model/packet/roce.h"
#include "model/wire.h"

namespace chime::model {

/// RoCE frames on their way to the wire. Payload is copied here: between its ICRC and its delivery nobody may
/// change it, be it software or another frame of the same batch.
class Outbox {
 public:
  Outbox(Hca::Card& card, Port& port, Egress& egress) noexcept : card_(card), port_(port), egress_(egress) {}

  static constexpr std::uint32_t largest_content = net::largest_bth + 4096 + 4;

  /// Sends what is here when there is no room for another frame. @return whether it did: the wire may have
  /// brought back something at once
  bool make_room() noexcept;
  /// Where a frame's BTH goes; what else it has follows. Call make_room() first.
  /// @param content bytes from BTH to pad, at most largest_content
  std::byte* begin(const net::RouteHeader& route, std::uint32_t content) noexcept;
  /// Completes the frame of begin() with as many bytes or fewer. Without finish() there is no frame.
  void finish(const net::RouteHeader& route, std::uint32_t content, std::uint32_t qpn) noexcept;
  /// The wire may deliver at once what it gets, and what is for this card itself is received at once.
  void flush() noexcept;

 private:
  static constexpr unsigned max_frames = 64;
  static constexpr std::uint32_t room = 64 * 1024;

  Hca::Card& card_;
  Port& port_;
  Egress& egress_;
  unsigned count_ = 0;
  std::uint32_t used_ = 0;
  std::uint64_t too_long_ = 0;
  std::uint64_t link_down_ = 0;
  std::array<Segment, max_frames> segments_;
  std::array<Frame, max_frames> frames_;
  alignas(64) std::array<std::byte, room> bytes_;
};

}  // namespace chime::model
