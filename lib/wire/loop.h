// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "wire/bare_wire.h"

namespace chime::wire {

/// A loopback plug: what the card sends, it receives at once.
class LoopWire final : public BareWire {
 public:
  void plug(model::WirePort* port) noexcept override;
  void transmit(std::span<const model::Frame> frames) noexcept override;
  unsigned poll(unsigned) noexcept override { return 0; }
  model::WireLink link() const noexcept override;
  std::uint32_t largest_frame() const noexcept override { return unlimited_frame; }
  bool loops() const noexcept override { return true; }

 private:
  model::WirePort* port_ = nullptr;
};

}  // namespace chime::wire
