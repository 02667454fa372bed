// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>

#include "base/error.h"
#include "prm/cqe.h"

/// @file
/// How a queue gets over an error CQE without a lock in the burst and without two writers of a ring.
///
///     lcore: burst finds an error CQE    good      -> failed      notes the CQE, touches nothing else
///     control: recover()                 failed    -> quiesced    queue RDY/ERR -> RST: no CQE comes any
///     more lcore: next burst                  quiesced  -> rewound     drains the CQ, rewinds indices and
///     records control: recover()                 rewound   -> good        RST -> RDY
///
/// Each stage has one owner, who alone touches the rings. A queue that is not polled waits in `quiesced`;
/// queue stop works from every stage. The error CQE stays at the consumer index until the rewind, so bursts
/// need no test of their own: they meet it again.

namespace chime::net {

enum class Health : std::uint32_t { good, failed, quiesced, rewound };

/// What the error CQE said; written by the lcore before `failed`.
struct QueueError {
  prm::cqe_opcode opcode;
  std::uint8_t syndrome;         ///< prm::cqe_syndrome
  std::uint8_t vendor_syndrome;  ///< of the card's maker, for support
  std::uint16_t wqe_counter;     ///< index of the WQE that failed
};

/// Plain data, in the queue's EAL memory.
struct QueueHealth {
  std::atomic<Health> stage;
  QueueError error;
};
static_assert(std::atomic<Health>::is_always_lock_free);

/// The name of a syndrome and what usually causes it; never nullptr.
const char* syndrome_text(std::uint8_t syndrome) noexcept;

/// "port 0 Rx queue 3: error CQE: local protection (0x04, vendor 0x51) of WQE 17: ...".
Error describe(const QueueError& error, std::uint16_t port_id, const char* direction,
               std::uint16_t queue) noexcept;

}  // namespace chime::net
