// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "prm/cqe.h"
#include "txq.h"

namespace chime::net {

// What bursts leave out of line: they pay nothing for it.

/// The lcore's side of queue_health.h: the CQE at the consumer index is software's, and no completion.
[[gnu::noinline, gnu::cold]] void tx_meet_error(TxQueue& q, const prm::Cqe& cqe) noexcept;

/// A burst on a queue in recovery: rewinds it when it is this side's turn.
[[gnu::noinline, gnu::cold]] void tx_recover(TxQueue& q) noexcept;

/// Counts and frees a packet that cannot be sent.
[[gnu::noinline, gnu::cold]] void tx_drop(TxQueue& q, rte_mbuf* packet,
                                          std::uint64_t TxCounters::*reason) noexcept;

/// The key of memory that the last packet did not come from; remembers its range.
[[gnu::noinline]] std::uint32_t tx_find_key(TxQueue& q, std::uintptr_t address) noexcept;

}  // namespace chime::net
