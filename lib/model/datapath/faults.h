// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>

#include "model/diagnostics.h"
#include "prm/cqe.h"

/// @file
/// What software can do wrong with queues, doorbells and records. A fault that ends in an error CQE has the
/// CQE's syndrome, and its own value for vendor syndrome. The values are stable: append, never renumber.

namespace chime::model {

enum class Fault : std::uint8_t {
  none = 0x00,

  // work requests: error CQEs
  wqe_opcode = 0x10,
  wqe_multi_packet = 0x11,
  wqe_large_send = 0x12,
  wqe_index = 0x13,
  wqe_queue_number = 0x14,
  wqe_size = 0x15,
  wqe_beyond_posted = 0x16,
  wqe_inline_header = 0x17,
  wqe_inline_data = 0x18,
  wqe_inline_mode = 0x19,
  wqe_empty_segment = 0x1a,
  wqe_too_short = 0x1b,
  wqe_too_long = 0x1c,
  wqe_memory = 0x1d,
  wqe_vlan_insertion = 0x1e,
  wqe_software_parser = 0x1f,
  key_unknown = 0x20,
  key_pd = 0x21,
  key_rights = 0x22,
  key_bounds = 0x23,
  key_memory = 0x24,
  key_free = 0x25,
  wqe_no_tis = 0x26,
  key_levels = 0x27,
  umr_key = 0x28,
  umr_disabled = 0x29,
  umr_state = 0x2a,
  umr_room = 0x2b,
  umr_feature = 0x2c,
  umr_queue = 0x2d,
  umr_memory = 0x2e,
  key_queue = 0x2f,
  flushed = 0x30,
  wqe_unequal_packets = 0x31,

  // doorbells and records
  doorbell_unknown_queue = 0x40,
  doorbell_foreign_uar = 0x41,
  doorbell_queue_state = 0x42,
  doorbell_ahead_of_record = 0x43,
  doorbell_behind_record = 0x44,
  doorbell_overrun = 0x45,
  record_memory = 0x46,
  doorbell_offset = 0x47,

  // completion and event queues
  cq_overflow = 0x50,
  cq_consumer = 0x51,
  cq_memory = 0x52,
  cq_stale_arm = 0x53,
  cq_arm_record = 0x54,
  eq_overflow = 0x55,
  eq_memory = 0x56,

  // receive queues and steering
  rq_record = 0x60,
  rq_too_long = 0x61,
  steering_loop = 0x62,
  steering_destinations = 0x63,

  // the port
  frame_too_long = 0x70,
  port_down = 0x71,

  // queue pairs: error CQEs of the requester
  qp_operation = 0x80,
  qp_message_length = 0x81,
  qp_address = 0x82,
  atomic_size = 0x83,
  atomic_operands = 0x84,
  atomic_result_room = 0x85,
  remote_invalid_request = 0x90,
  remote_misaligned = 0x91,
  remote_access = 0x92,
  remote_operation = 0x93,
  retries_exceeded = 0x94,
  rnr_retries_exceeded = 0x95,
  bad_response = 0x96,

  // queue pairs: error CQEs of a receive
  receive_room = 0xa0,

  // queue pairs: what the other end asked for
  target_misaligned = 0xb0,
  target_right = 0xb1,
  target_key = 0xb2,
  target_atomic = 0xb3,
  target_sequence = 0xb4,
  target_length = 0xb5,
  target_outstanding = 0xb6,
  receive_missing = 0xb7,
  target_srq = 0xb8,

  // RoCE packets
  roce_malformed = 0xc0,
  roce_icrc = 0xc1,
  roce_unknown_qp = 0xc2,
  roce_qp_state = 0xc3,
  roce_service = 0xc4,
  roce_address = 0xc5,
  roce_qkey = 0xc6,
  atomic_operand_order = 0xc8,
};

struct FaultInfo {
  Fault fault;
  const char* rule;  ///< of Finding::rule
  Severity severity;
  prm::cqe_syndrome syndrome;  ///< of the error CQE; 0 when there is none
  const char* meaning;
};

/// All of them, for documents and tests.
std::span<const FaultInfo> faults() noexcept;
const FaultInfo& info(Fault fault) noexcept;

}  // namespace chime::model
