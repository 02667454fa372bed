// SPDX-License-Identifier: BSD-3-Clause
#include "model/aperture.h"

#include "model/hca.h"
#include "prm/doorbell.h"

namespace chime::model {
namespace {

/// The writer's cells are contiguous: the first is the one behind an empty one.
std::uint32_t first_written(const UarCells& cells, std::uint32_t otherwise) noexcept {
  constexpr std::uint32_t count = UarCells::send_cells;
  for (std::uint32_t i = 0; i < count; ++i) {
    const bool before = cells.send[(i + count - 1) % count].load(std::memory_order_relaxed) != 0;
    if (!before && cells.send[i].load(std::memory_order_relaxed) != 0) return i;
  }
  return otherwise;
}

}  // namespace

unsigned Aperture::drain(Hca& hca) noexcept {
  unsigned stores = 0;
  if (lapped_) {
    // Where the writer went on, nobody knows; nothing is to do until it shows.
    const std::uint32_t at = first_written(*cells_, UarCells::send_cells);
    if (at < UarCells::send_cells) {
      position_ = at;
      lapped_ = false;
    }
  }
  std::uint64_t values[UarCells::send_cells];
  while (stores < UarCells::send_cells) {
    std::atomic<std::uint64_t>& cell = cells_->send[position_];
    if (cell.load(std::memory_order_relaxed) == 0) break;
    values[stores++] = cell.exchange(0, std::memory_order_acquire);
    position_ = (position_ + 1) % UarCells::send_cells;
  }
  if (stores < UarCells::send_cells) {
    for (unsigned i = 0; i < stores; ++i) hca.doorbell(uar_, prm::uar_blueflame, values[i]);
  } else {
    lapped_ = true;
    hca.replay_records(uar_);
  }

  for (std::atomic<std::uint64_t>& cell : cells_->arm) {
    if (cell.load(std::memory_order_relaxed) == 0) continue;
    hca.doorbell(uar_, prm::uar_cq_doorbell, cell.exchange(0, std::memory_order_acquire));
    ++stores;
  }
  return stores;
}

}  // namespace chime::model
