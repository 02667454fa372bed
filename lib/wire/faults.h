// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace chime::wire {

/// What is wrong with a wire. Rates are in parts of a million of the frames, each way (a looped wire has one
/// way only); the same seed and the same frames have the same faults. All zero is a good wire.
struct FaultSpec {
  std::uint32_t loss_ppm = 0;
  std::uint32_t duplicate_ppm = 0;
  std::uint32_t reorder_ppm = 0;  ///< held back until a later frame has passed, or 1 ms
  std::uint32_t corrupt_ppm = 0;  ///< one to three bits behind the Ethernet header are flipped
  std::uint32_t delay_us = 0;     ///< of every frame
  std::uint64_t seed = 1;
  bool link_down = false;

  bool any() const noexcept {
    return loss_ppm || duplicate_ppm || reorder_ppm || corrupt_ppm || delay_us || link_down;
  }
};

}  // namespace chime::wire
