// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>

#include "model/card.h"
#include "model/datapath/events.h"
#include "model/wire.h"

namespace chime::model {

/// The card's port: link state, counters.
class Port {
 public:
  Port(Hca::Card& card, Events& events) noexcept : card_(card), events_(events) {}

  /// Reads the wire's link, and raises a port event when the port goes up or down.
  void changed() noexcept;
  /// Frames can come and go.
  bool up() const noexcept { return card_.port.up() && card_.vport.admin_state != 0; }

  /// @param destination first byte of the frame
  void count_sent(const std::byte* destination, std::uint32_t length) noexcept {
    count(card_.vport.transmitted, card_.port.transmitted, destination, length);
  }
  void count_received(const std::byte* destination, std::uint32_t length) noexcept {
    count(card_.vport.received, card_.port.received, destination, length);
    ++card_.port.received_sizes[size_class(length + fcs)];
  }

 private:
  static constexpr std::uint32_t fcs = 4;

  static void count(TrafficCounts& vport, TrafficCounts& port, const std::byte* destination,
                    std::uint32_t length) noexcept;
  static unsigned size_class(std::uint32_t octets) noexcept;

  Hca::Card& card_;
  Events& events_;
  bool was_up_ = false;
};

}  // namespace chime::model
