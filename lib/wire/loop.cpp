// SPDX-License-Identifier: BSD-3-Clause
#include "wire/loop.h"

namespace chime::wire {

void LoopWire::plug(model::WirePort* port) noexcept {
  port_ = port;
}

void LoopWire::transmit(std::span<const model::Frame> frames) noexcept {
  if (!port_) {
    counters_.tx_dropped.no_port.add(frames.size());
    return;
  }
  std::uint64_t bytes = total_bytes(frames);
  counters_.tx_frames.add(frames.size());
  counters_.tx_bytes.add(bytes);
  counters_.rx_frames.add(frames.size());
  counters_.rx_bytes.add(bytes);
  port_->deliver(frames);
}

model::WireLink LoopWire::link() const noexcept {
  return {port_ != nullptr, unbound_speed_mbps};
}

}  // namespace chime::wire
