// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace chime::model {

class Hca;

/// A UAR page as it is offered to software in the same process: stores land in cells of ordinary memory,
/// which the HCA's thread empties. Plain data in memory that secondary processes may map.
///
///     writer:  cell[pos] = value (never 0); pos = (pos + 1) % 128
///     drain:   v = exchange(cell[pos], 0); v != 0 -> doorbell(uar, 0x800, v), pos = (pos + 1) % 128
///
/// A writer that laps the drain overwrites cells that were not read. The drain sees it by finding no empty
/// cell in a whole round, and then lets the HCA read the doorbell records instead: no ring is lost, since the
/// records were written first.
struct alignas(64) UarCells {
  static constexpr std::size_t send_cells = 128;
  static constexpr std::size_t arm_cells = 8;

  std::atomic<std::uint64_t> send[send_cells];  ///< stores to the BlueFlame register, in order
  std::atomic<std::uint64_t> arm[arm_cells];    ///< stores to the CQ doorbell, one cell a CQ
};
static_assert(sizeof(UarCells) == (UarCells::send_cells + UarCells::arm_cells) * 8);

/// The reading end of one UarCells; owned and used by the HCA's thread.
class Aperture {
 public:
  Aperture(std::uint32_t uar, UarCells& cells) noexcept : uar_(uar), cells_(&cells) {}

  /// Hands every store to the Hca. @return number of stores
  unsigned drain(Hca& hca) noexcept;
  std::uint32_t uar() const noexcept { return uar_; }

 private:
  std::uint32_t uar_;
  std::uint32_t position_ = 0;
  bool lapped_ = false;  ///< the writer's position is not known
  UarCells* cells_;
};

}  // namespace chime::model
