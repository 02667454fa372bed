// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "rdma/queue.h"

/// @file
/// Posting. Datapath.

namespace chime::rdma {

/// Computes what posting has at hand: when rings, number and flags are set.
void prepare_posting(Qp& qp) noexcept;

/// Builds the work requests in the ring, in order, and rings once for all that were taken.
/// @return how many were taken; if fewer than `count`, `qp.refusal` says why the next was not, and rte_errno
///   is errno_of(qp.refusal)
std::uint16_t post(Qp& qp, const Operation* operations, std::uint16_t count) noexcept;

/// The same for receives: no doorbell, a record.
std::uint16_t post_receives(Qp& qp, const Receive* receives, std::uint16_t count) noexcept;

int errno_of(Refusal refusal) noexcept;
/// In words, with the remedy.
const char* text_of(Refusal refusal) noexcept;

}  // namespace chime::rdma
