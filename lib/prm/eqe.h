// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "prm/be.h"

/// @file
/// The 64-byte event queue element; the owner bit toggles at every pass as in a completion queue.
///
///     +--------+--------+--------+--------+
///  00 |        |  type  |        |sub_type|
///  20 | event data, 28 bytes              |
///  3c |                 | sign.  | owner  |
///     +-----------------------------------+

namespace chime::prm {

inline constexpr std::size_t eqe_size = 64;

enum class event_type : std::uint8_t {
  completion = 0x00,
  path_migrated = 0x01,
  communication_established = 0x02,
  send_queue_drained = 0x03,
  cq_error = 0x04,
  wq_catastrophic_error = 0x05,
  path_migration_failed = 0x07,
  port_change = 0x09,
  command_completion = 0x0a,
  page_request = 0x0b,
  nic_vport_change = 0x0d,
  last_wqe_reached = 0x13,
  srq_rq_limit = 0x14,
  wq_invalid_request = 0x10,
  wq_access_error = 0x11,
  srq_catastrophic_error = 0x12,
};

/// eqe sub_type of port_change.
enum class port_change : std::uint8_t { down = 1, active = 4 };

struct Eqe {
  std::uint8_t reserved_00;
  std::uint8_t type;
  std::uint8_t reserved_02;
  std::uint8_t sub_type;
  Be32 reserved_04[7];
  Be32 data[7];
  std::uint8_t reserved_3c[2];
  std::uint8_t signature;
  std::uint8_t owner;
};
static_assert(sizeof(Eqe) == eqe_size && offsetof(Eqe, data) == 0x20 && offsetof(Eqe, owner) == 0x3f);

/// data[6] of a completion event and of the QP, SQ and RQ events: the object's number.
inline constexpr unsigned eqe_number = 6;
/// data[2] of a port_change event: port number in [31:28].
inline constexpr unsigned eqe_port = 2;

}  // namespace chime::prm
