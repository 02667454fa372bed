// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "model/object/access.h"
#include "model/object/memory.h"
#include "model/object/object.h"
#include "model/object/queue.h"
#include "prm/wqe.h"

/// @file
/// Receive requests that queue pairs share: XRC shared receive queues, and receive memory pools, which are
/// what Linux makes of a plain shared receive queue.

namespace chime::model {

/// ALLOC_XRCD: which XRC queue pairs may use which shared receive queues.
struct Xrcd final : Object {
  Xrcd() noexcept : Object(Kind::xrcd) {}
};

/// The requests are a linked list: software posts to its end, and gives back what was consumed in any order.
///
///     WQE   +--------------------------+--------------------------------------+
///           | next segment, 16 bytes   | data segments                        |
///           |   0x02 next_wqe_index    |                                      |
///           +--------------------------+--------------------------------------+
struct Srq final : Object {
  Srq() noexcept : Object(Kind::srq) {}

  enum class Type : std::uint8_t {
    xrc,   ///< CREATE_XRC_SRQ: packets name it; it has a CQ
    pool,  ///< CREATE_RMP: queue pairs name it, and have their own CQs
  };
  static constexpr std::uint32_t next_segment = sizeof(prm::WqeNext);  ///< bytes

  Type type = Type::pool;
  Ring ring;
  Buffer record;  ///< requests posted, 32 bits of which 16 count
  Ref<Pd> pd;
  Ref<Xrcd> xrcd;  ///< xrc
  Ref<Cq> cq;      ///< xrc
  std::uint32_t user_index = 0;
  std::uint16_t limit = 0;  ///< "lwm": an event when fewer requests are left; 0 not armed

  // of the datapath
  bool failed = false;
  std::uint16_t posted = 0;  ///< as last read from the record
  std::uint16_t taken = 0;
  std::uint16_t head = 0;  ///< the request that is next in turn
};

}  // namespace chime::model
