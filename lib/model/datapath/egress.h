// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "model/card.h"
#include "model/datapath/port.h"
#include "model/wire.h"

namespace chime::model {

class Receive;

/// Who sends frames, as far as those who may get them inside the card ask.
struct Origin {
  const TransportDomain* domain = nullptr;  ///< of a send queue; a queue pair has none
  bool roce = false;
};

/// Bytes of the longest of the frames that a frame stands for.
constexpr std::uint32_t longest_piece(const Frame& frame) noexcept {
  return frame.cut.payload == 0 ? frame.length : std::uint32_t{frame.cut.headers} + frame.cut.payload;
}

/// The way of frames out of the virtual port. What is for one of its own unicast addresses turns back in
/// front of the wire:
///
///     from          to                      goes
///     queue pairs   an own address          back
///                   a group with members    back, and to the wire
///     send queues   an own address          back, as long as disable_uc_local_lb is off
///     both          anything else           to the wire
///
/// On a wire that loops everything goes to the wire, and comes back with the wire's faults.
class Egress {
 public:
  Egress(Hca::Card& card, Port& port) noexcept : card_(card), port_(port) {}
  /// Who gets what turns back. To be called once, before anything is sent.
  void turn_back_to(Receive& receive) noexcept { receive_ = &receive; }

  /// The port is up. What turns back is received before the call returns, as from a wire that loops.
  void send(std::span<const Frame> frames, const Origin& origin) noexcept;
  /// Whether a send queue's frame to this address (6 bytes) turns back: it can't be left uncut then.
  bool turns_back(const std::byte* destination) noexcept {
    return raw_loopback() && where(destination, {}) != Way::out;
  }

 private:
  enum class Way : std::uint8_t { out, back, both };

  bool raw_loopback() const noexcept {
    return !card_.vport.block_local_unicast && !card_.around.wire.loops();
  }
  Way where(const std::byte* destination, const Origin& origin) const noexcept;
  bool is_own(const Mac& address) const noexcept;
  void go(std::span<const Frame> frames, Way way, const Origin& origin) noexcept;
  static void count(Port::Counter& counter, const Frame& frame) noexcept;

  Hca::Card& card_;
  Port& port_;
  Receive* receive_ = nullptr;
};

}  // namespace chime::model
