// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/array.h"
#include "base/error.h"
#include "hca/doorbell.h"
#include "hca/verbs/handle.h"

namespace chime::hca::verbs {

/// A UAR page, mapped uncached.
///
///     +-----+---------------------+-----+----------------------------+-----+
///     |     | 0x20: CQ's doorbell |     | 0x800: send queues' doorbell|     |
///     +-----+---------------------+-----+----------------------------+-----+
class UarHandle final : public Handle {
 public:
  static Result<Owned<UarHandle>> make(ibv_context& context) noexcept;
  explicit UarHandle(DevxUar uar) noexcept
      : Handle(prm::cmd_opcode::alloc_uar, uar->page_id), uar_(std::move(uar)) {}

  Doorbell send_doorbell() const noexcept;
  Doorbell arm_doorbell() const noexcept;

 private:
  DevxUar uar_;
};

}  // namespace chime::hca::verbs
