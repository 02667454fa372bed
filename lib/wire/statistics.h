// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace chime::wire {

/// Frames that a wire had to throw away, by reason.
struct Drops {
  std::uint64_t link_down = 0;  ///< nobody at the other end, or faults took the link down
  std::uint64_t no_port = 0;    ///< no WirePort plugged in
  std::uint64_t too_long = 0;   ///< longer than largest_frame(), or in too many segments
  std::uint64_t no_buffer = 0;  ///< no mbuf free, or the other end takes no more
  std::uint64_t gone = 0;       ///< the ethdev has gone

  std::uint64_t total() const noexcept { return link_down + no_port + too_long + no_buffer + gone; }
};

/// Frames that fault injection touched. Not among Drops: they are what was asked for.
struct InjectedFaults {
  std::uint64_t lost = 0;
  std::uint64_t duplicated = 0;
  std::uint64_t reordered = 0;
  std::uint64_t corrupted = 0;
  std::uint64_t delayed = 0;
  std::uint64_t link_down = 0;  ///< thrown away because FaultSpec::link_down
  std::uint64_t no_room = 0;    ///< to be held back (delay, reordering), but the store was full: thrown away
};

/// What a wire carried since it was made. tx is from the card, rx towards it; bytes are without FCS. Dropped
/// frames are not among the carried. Faults are between the card and these counters: what the card sent and a
/// fault lost is not counted as tx, what a fault duplicated is counted twice.
struct WireStatistics {
  std::uint64_t tx_frames = 0, tx_bytes = 0;
  std::uint64_t rx_frames = 0, rx_bytes = 0;
  Drops tx_dropped, rx_dropped;
  InjectedFaults injected;
};

}  // namespace chime::wire
