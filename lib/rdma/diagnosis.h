// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>

#include "rdma/keys.h"
#include "rdma/queue_pair.h"

/// @file
/// What probably went wrong on one queue pair: the classic traps, found by what the queue pair and the port's
/// keys still know. Control path.

namespace chime::rdma {

enum class Finding : std::uint8_t {
  nothing,
  doorbell_before_record,
  misaligned,
  stale_key,
  byte_order,
  missing_rights,
  no_room_for_result,
  other,  ///< the syndrome's general explanation
};

struct Diagnosis {
  Finding finding;
  char text[320];  ///< one sentence with numbers, and what to do
};

/// From a failed request alone.
Diagnosis diagnose(const Failure& failure, const KeyBook& keys) noexcept;
/// A failure, if there was one; else what the card says about the queue pair.
Diagnosis diagnose(const QpControl::Status& status, const KeyBook& keys) noexcept;

}  // namespace chime::rdma
