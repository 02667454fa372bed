// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "model/wire.h"
#include "wire/statistics.h"

namespace chime::wire {

/// Written by the thread that steps the HCA, read by any.
class Counter {
 public:
  void add(std::uint64_t n) noexcept {
    value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  std::uint64_t get() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

struct DropCounters {
  Counter link_down, no_port, too_long, no_buffer, gone;

  Drops snapshot() const noexcept {
    return {link_down.get(), no_port.get(), too_long.get(), no_buffer.get(), gone.get()};
  }
};

/// What a wire counts, before fault injection is added.
struct WireCounters {
  Counter tx_frames, tx_bytes, rx_frames, rx_bytes;
  DropCounters tx_dropped, rx_dropped;

  WireStatistics snapshot() const noexcept {
    WireStatistics s;
    s.tx_frames = tx_frames.get();
    s.tx_bytes = tx_bytes.get();
    s.rx_frames = rx_frames.get();
    s.rx_bytes = rx_bytes.get();
    s.tx_dropped = tx_dropped.snapshot();
    s.rx_dropped = rx_dropped.snapshot();
    return s;
  }
};

inline std::uint64_t total_bytes(std::span<const model::Frame> frames) noexcept {
  std::uint64_t bytes = 0;
  for (const model::Frame& frame : frames) bytes += frame.length;
  return bytes;
}

/// Wires without a buffer of their own carry whatever the card can send.
inline constexpr std::uint32_t unlimited_frame = 16384;
/// Ethernet header and one VLAN tag: what a frame has in front of the MTU's bytes.
inline constexpr std::uint32_t frame_overhead = 18;
/// Announced by wires that have no speed of their own.
inline constexpr std::uint32_t unbound_speed_mbps = 100000;
/// Of a wire that nothing is known about yet.
inline constexpr std::uint32_t standard_frame = 1500 + frame_overhead;

}  // namespace chime::wire
