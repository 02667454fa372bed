// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "rdma/queue.h"

/// @file
/// Polling. Datapath.

namespace chime::rdma {

/// Takes completions of all queue pairs of the worker, in the order of the completion queue. A completion
/// makes room in its queue pair's ring for itself and all requests before it.
/// @return how many of `completions` were written
std::uint16_t poll(Worker& worker, Completion* completions, std::uint16_t count) noexcept;

/// From now on polls this ring of a power of two of CQEs, from its begin.
void start_polling(Worker& worker, prm::Cqe* ring, std::uint32_t size) noexcept;

/// Whose completions poll() expects; nullptr: nobody's. Any others it takes, too, at more cost.
void expect(Worker& worker, Qp* qp) noexcept;

/// The queue pair of that number, or nullptr.
inline Qp* find(const Worker& worker, std::uint32_t qpn) noexcept {
  for (std::uint32_t at = qpn;; ++at) {
    Qp* qp = worker.table[at & worker.table_mask];
    if (qp == nullptr || qp->qpn() == qpn) return qp;
  }
}

/// Makes every completion of this number that is in the ring one that poll() passes over: for a queue pair
/// that is reset or ends. @return how many there were
std::uint32_t drop_completions(Worker& worker, std::uint32_t qpn) noexcept;

}  // namespace chime::rdma
