// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "base/array.h"
#include "base/error.h"
#include "hca/doorbell.h"
#include "hca/model/embedded.h"
#include "hca/model/handle.h"
#include "model/aperture.h"

namespace chime::hca::embedded {

/// A UAR of the user context: cells in EAL memory that software stores to, and the aperture behind them.
class UarHandle final : public Handle {
 public:
  static Result<Owned<UarHandle>> make(Embedded& embedded) noexcept;
  explicit UarHandle(Embedded& embedded) noexcept : Handle(prm::cmd_opcode::alloc_uar), embedded_(embedded) {}
  ~UarHandle() override;

  /// Once `number` is known: the card looks at the cells from now on.
  Result<> watch() noexcept;

  Doorbell send_doorbell() const noexcept;
  /// A cell for one CQ, which keeps it until release_arm(). ENOSPC when all are taken.
  Result<Doorbell> arm_doorbell(std::uint32_t cqn) noexcept;
  void release_arm(std::uint32_t cqn) noexcept;

 private:
  static constexpr std::uint32_t nobody = 0xffffffff;

  Embedded& embedded_;
  model::UarCells* cells_ = nullptr;
  bool watched_ = false;
  std::uint32_t arms_[model::UarCells::arm_cells];  ///< CQ of each cell, or nobody
};

}  // namespace chime::hca::embedded
