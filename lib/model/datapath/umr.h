// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/card.h"
#include "model/datapath/faults.h"
#include "model/datapath/keys.h"

namespace chime::model {

/// The queue, of whatever kind, that a UMR request is on.
struct UmrQueue {
  const Pd* pd = nullptr;
  bool reserved_lkey = false;  ///< the translations may lie there
  bool every_domain = false;   ///< the kernel's own queue for it: keys of all PDs, and another PD for a key
};

struct UmrOutcome {
  Fault fault = Fault::none;
  std::uint32_t detail = 0;
};

/// Changes a memory key: its context by mkey_mask, and a piece of its translations. A request that is refused
/// changes nothing, but for translations when the memory that they lie in is gone.
/// @param wqe all of it in one piece, aligned to 8 bytes
/// @param ds  its units of 16 bytes
UmrOutcome execute_umr(Hca::Card& card, Keys& keys, const UmrQueue& queue, const std::byte* wqe,
                       std::uint32_t ds) noexcept;

}  // namespace chime::model
