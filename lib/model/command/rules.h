// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>

#include "prm/enums.h"

/// @file
/// The rules by which commands are refused. Each has a syndrome of its own: the word by which a card tells
/// one refusal from another. The values are stable: append, never renumber.

namespace chime::model {

enum class Rule : std::uint16_t {
  // commands as such
  unknown_opcode = 0x0101,
  not_modelled = 0x0102,
  input_length = 0x0103,
  output_length = 0x0104,
  op_mod = 0x0105,
  kernel_only = 0x0106,
  device_state = 0x0107,
  unknown_context = 0x0108,
  no_memory = 0x0109,
  other_function = 0x010a,

  // objects in general
  unknown_object = 0x0201,
  foreign_object = 0x0202,
  object_in_use = 0x0203,
  none_left = 0x0204,

  // user contexts and umems
  context_capabilities = 0x0301,
  context_has_objects = 0x0302,
  needs_raw_tx = 0x0303,
  page_size = 0x0304,
  page_count = 0x0305,
  page_offset = 0x0306,
  page_list_length = 0x0307,
  outside_umem = 0x0309,
  record_alignment = 0x030a,
  queue_alignment = 0x030b,
  address_translation = 0x030c,

  // memory keys
  mkey_mode = 0x0401,
  mkey_length = 0x0402,
  mkey_rights = 0x0403,
  mkey_physical = 0x0404,
  mkey_feature = 0x0405,

  // event and completion queues
  eq_size = 0x0501,
  eq_vector = 0x0502,
  cq_size = 0x0504,
  cq_feature = 0x0505,
  cq_modify = 0x0506,
  cq_moderation = 0x0507,

  // send and receive queues
  wq_type = 0x0601,
  wq_size = 0x0602,
  wq_stride = 0x0603,
  wq_feature = 0x0604,
  initial_state = 0x0605,
  state_mismatch = 0x0606,
  state_transition = 0x0607,
  sq_tis_list = 0x0608,
  sq_inline_mode = 0x0609,
  rq_memory_type = 0x060a,
  queue_modify = 0x060b,
  timestamp_format = 0x060c,

  // spreading and transport
  rqt_size = 0x0701,
  rqt_type = 0x0702,
  tir_dispatch = 0x0703,
  tir_hash = 0x0704,
  tir_feature = 0x0705,
  tir_modify = 0x0706,
  tis_feature = 0x0708,
  loopback_block = 0x0709,

  // steering
  table_type = 0x0801,
  table_size = 0x0802,
  table_level = 0x0803,
  table_feature = 0x0804,
  table_miss = 0x0805,
  table_root = 0x0807,
  group_range = 0x0808,
  group_overlap = 0x0809,
  group_criteria = 0x080a,
  group_table = 0x080b,
  entry_index = 0x080c,
  entry_action = 0x080d,
  entry_destination = 0x080e,
  entry_level = 0x080f,
  entry_counter = 0x0810,
  entry_modify = 0x0811,
  counter_bulk = 0x0812,

  // port, registers, capabilities, pages
  other_vport = 0x0901,
  vport_list = 0x0902,
  vport_value = 0x0903,
  l2_index = 0x0904,
  register_unknown = 0x0905,
  register_read_only = 0x0906,
  register_port = 0x0907,
  register_value = 0x0908,
  register_group = 0x0909,
  capability_type = 0x090a,
  capability_raise = 0x090b,
  issi = 0x090d,
  vxlan_port = 0x090e,
  vxlan_ports = 0x090f,

  // queue pairs and RoCE addresses
  qp_service = 0x0a01,
  qp_size = 0x0a02,
  qp_stride = 0x0a03,
  qp_feature = 0x0a04,
  qp_state = 0x0a05,
  qp_optional = 0x0a06,
  qp_mtu = 0x0a07,
  qp_message = 0x0a08,
  qp_depth = 0x0a09,
  qp_atomic_mode = 0x0a0a,
  qp_port = 0x0a0b,
  qp_pkey = 0x0a0c,
  qp_gid = 0x0a0d,
  qp_remote_gid = 0x0a0e,
  qp_udp_port = 0x0a0f,
  roce_disabled = 0x0a10,
  roce_index = 0x0a11,
  roce_address = 0x0a12,
  multicast_service = 0x0a13,
  multicast_gid = 0x0a14,
  multicast_member = 0x0a15,
  multicast_full = 0x0a16,

  // shared receive queues
  srq_size = 0x0b01,
  srq_stride = 0x0b02,
  srq_feature = 0x0b03,
};

struct RuleInfo {
  Rule rule;
  const char* name;  ///< of Finding::rule
  prm::cmd_status status;
  const char* meaning;
};

/// All rules, for documents and tests.
std::span<const RuleInfo> rules() noexcept;
const RuleInfo& info(Rule rule) noexcept;

constexpr std::uint32_t syndrome(Rule rule) noexcept {
  return 0x00c40000u | static_cast<std::uint32_t>(rule);
}

}  // namespace chime::model
