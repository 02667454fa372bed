// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

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

  /// Frames of one burst.
  class Counter {
   public:
    /// @param destination the frame's first 6 bytes
    void count(const std::byte* destination, std::uint32_t length) noexcept {
      ++packets_[unicast];
      octets_[unicast] += length;
      if ((static_cast<unsigned>(*destination) & 1) != 0) [[unlikely]]
        not_unicast(destination, length);
    }

   private:
    friend class Port;
    enum Kind : unsigned { unicast, multicast, broadcast, kinds };
    void not_unicast(const std::byte* destination, std::uint32_t length) noexcept;
    void add_to(TrafficCounts& counts, std::uint32_t extra_octets) const noexcept;

    std::uint64_t packets_[kinds]{};
    std::uint64_t octets_[kinds]{};
  };

  /// @param wire counts for the physical port as well; what stays inside the card only for the virtual one
  void add_sent(const Counter& counter, bool wire) noexcept;
  void add_received(const Counter& counter, bool wire) noexcept;
  void count_size(std::uint32_t length) noexcept { ++card_.port.received_sizes[size_class(length + fcs)]; }

 private:
  static constexpr std::uint32_t fcs = 4;
  /// 64, 65-127, 128-255, ... 1024-1518, 1519-2047, 2048-4095, ... octets
  static constexpr unsigned size_class(std::uint32_t octets) noexcept {
    if (octets <= 64) return 0;
    const auto log = static_cast<unsigned>(std::bit_width(octets)) - 1;
    return log < 10 ? log - 5 : (octets < 1519 ? 5u : std::min(log - 4, 9u));
  }

  Hca::Card& card_;
  Events& events_;
  bool was_up_ = false;
};

}  // namespace chime::model
