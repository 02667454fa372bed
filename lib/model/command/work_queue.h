// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "model/command/command.h"
#include "model/object/queue.h"

/// @file
/// What send and receive queues have in common: the work queue in their contexts, and their states.

namespace chime::model {

struct WorkQueueLimits {
  std::uint32_t min_log_stride;
  std::uint32_t max_log_stride;
  prm::wq_type type = prm::wq_type::cyclic;
  bool strides = false;  ///< striding receive queues are possible, too
};

/// Reads ring and record. @return false when it refused
bool read_work_queue(Command& c, prm::ConstView<prm::wq> wq, WorkQueueLimits limits, Ring& ring,
                     Buffer& record) noexcept;

/// Whether the card has the timestamp format. `offered` is sq_ts_format or rq_ts_format: 0 free running, 1
/// real time, 2 both. @return false when it refused
bool read_timestamp_format(Command& c, prm::timestamp_format wanted, std::uint32_t offered,
                           TimestampFormat& format) noexcept;

/// The change that a MODIFY asks for, from the state that software believes in. Refuses a wrong belief and
/// what is no change of the manual's. @return false when it refused
bool read_transition(Command& c, const Object& queue, QueueState now, std::uint32_t believed,
                     std::uint32_t wanted) noexcept;

}  // namespace chime::model
