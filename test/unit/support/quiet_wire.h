// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>

#include "model/wire.h"

namespace chime::test {

/// For tests without traffic: up, at 100 Gb/s, and what is sent is lost.
class QuietWire final : public model::Wire {
 public:
  void plug(model::WirePort*) noexcept override {}
  void transmit(std::span<const model::Frame>) noexcept override {}
  unsigned poll(unsigned) noexcept override { return 0; }
  model::WireLink link() const noexcept override { return {true, 100'000}; }
  std::uint32_t largest_frame() const noexcept override { return 9996; }
};

}  // namespace chime::test
