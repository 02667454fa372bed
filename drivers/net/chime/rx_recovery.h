// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "prm/cqe.h"
#include "rxq.h"

namespace chime::net {

/// The lcore's side of queue_health.h: the CQE at the consumer index is software's, and no packet. Not in
/// line: bursts pay nothing for it.
[[gnu::noinline, gnu::cold]] void rx_meet_error(RxQueue& q, const prm::Cqe& cqe) noexcept;

}  // namespace chime::net
