// SPDX-License-Identifier: BSD-3-Clause
#include "hca/user_commands.h"

#include <algorithm>

#include "prm/layouts.h"
#include "prm/text.h"
#include "prm/view.h"

namespace chime::hca {
namespace {

using enum prm::cmd_opcode;

constexpr NumberAt id8{0x08, 8};
constexpr NumberAt id24{0x08, 24};
constexpr NumberAt id32{0x08, 32};

/// Most objects: the number is at 0x08 in the output and in the destroy command.
constexpr Creator plain(prm::cmd_opcode create, prm::cmd_opcode destroy, NumberAt number = id24,
                        bool umem_form = false) {
  return {create, destroy, number, false, number, 0, 0, 0x10, umem_form};
}
constexpr bool umem_form = true;

// Objects of steering are named by vport and table too.
constexpr std::uint8_t steering_size = 0x40;
constexpr NumberAt table_id{0x14, 24};
constexpr NumberAt group_id{0x18, 24};
constexpr NumberAt flow_index{0x20, 32};

constexpr Creator creator_list[] = {
    plain(alloc_pd, dealloc_pd),
    plain(alloc_transport_domain, dealloc_transport_domain),
    plain(alloc_xrcd, dealloc_xrcd),
    plain(create_mkey, destroy_mkey, id24, umem_form),
    plain(create_cq, destroy_cq, id24, umem_form),
    plain(create_sq, destroy_sq, id24, umem_form),
    plain(create_rq, destroy_rq, id24, umem_form),
    plain(create_rmp, destroy_rmp, id24, umem_form),
    plain(create_rqt, destroy_rqt),
    plain(create_tir, destroy_tir),
    plain(create_tis, destroy_tis),
    plain(create_qp, destroy_qp, id24, umem_form),
    plain(create_srq, destroy_srq),
    plain(create_xrc_srq, destroy_xrc_srq, id24, umem_form),
    plain(create_xrq, destroy_xrq, id24, umem_form),
    plain(create_dct, destroy_dct),
    plain(alloc_q_counter, dealloc_q_counter, id8),
    {create_flow_table, destroy_flow_table, id24, false, table_id, 0x08, 0x11, steering_size, false},
    {create_flow_group, destroy_flow_group, id24, false, group_id, 0x08, 0x18, steering_size, false},
    {set_flow_table_entry, delete_flow_table_entry, flow_index, true, flow_index, 0x08, 0x18, steering_size,
     false},
    plain(alloc_flow_counter, dealloc_flow_counter, id32),
    plain(alloc_packet_reformat_context, dealloc_packet_reformat_context, id32),
    plain(alloc_modify_header_context, dealloc_modify_header_context, id32),
    {create_scheduling_element,
     destroy_scheduling_element,
     {0x0c, 32},
     false,
     {0x0c, 32},
     0x08,
     0x09,
     0x40,
     false},
    // The QP, and the address of the group.
    {attach_to_mcg, detach_from_mcg, id24, true, id24, 0x10, 0x20, 0x20, false},
    {add_vxlan_udp_dport, delete_vxlan_udp_dport, {0x0c, 16}, true, {0x0c, 16}, 0, 0, 0x10, false},
    {set_l2_table_entry, delete_l2_table_entry, {0x14, 24}, true, {0x14, 24}, 0, 0, 0x40, false},
    // The object's type is in the op_mod dword.
    {create_general_object, destroy_general_object, id32, false, id32, 0x04, 0x08, 0x10, false},
};

constexpr Accessor modifier_list[] = {
    {modify_cq, create_cq, id24},
    {modify_sq, create_sq, id24},
    {modify_rq, create_rq, id24},
    {modify_rmp, create_rmp, id24},
    {modify_rqt, create_rqt, id24},
    {modify_tir, create_tir, id24},
    {modify_tis, create_tis, id24},
    {modify_flow_table, create_flow_table, table_id},
    {set_flow_table_entry, set_flow_table_entry, flow_index},
    {modify_scheduling_element, create_scheduling_element, {0x0c, 32}},
    {modify_general_object, create_general_object, id32},
    {rst2init_qp, create_qp, id24},
    {init2init_qp, create_qp, id24},
    {init2rtr_qp, create_qp, id24},
    {rtr2rts_qp, create_qp, id24},
    {rts2rts_qp, create_qp, id24},
    {sqerr2rts_qp, create_qp, id24},
    {qp_2err, create_qp, id24},
    {qp_2rst, create_qp, id24},
    {arm_rq, create_rq, id24},
    {set_l2_table_entry, set_l2_table_entry, {0x14, 24}},
    {arm_xrc_srq, create_xrc_srq, id24},
    {arm_xrq, create_xrq, id24},
};

constexpr Accessor query_list[] = {
    {query_mkey, create_mkey, id24},
    {query_cq, create_cq, id24},
    {query_sq, create_sq, id24},
    {query_rq, create_rq, id24},
    {query_rmp, create_rmp, id24},
    {query_rqt, create_rqt, id24},
    {query_tir, create_tir, id24},
    {query_tis, create_tis, id24},
    {query_qp, create_qp, id24},
    {query_srq, create_srq, id24},
    {query_xrc_srq, create_xrc_srq, id24},
    {query_xrq, create_xrq, id24},
    {query_dct, create_dct, id24},
    {query_q_counter, alloc_q_counter, {0x1c, 8}},
    {query_flow_table, create_flow_table, table_id},
    {query_flow_group, create_flow_group, {0x18, 32}},
    {query_flow_table_entry, set_flow_table_entry, flow_index},
    {query_flow_counter, alloc_flow_counter, {0x1c, 32}},
    {query_packet_reformat_context, alloc_packet_reformat_context, id32},
    {query_modify_header_context, alloc_modify_header_context, id32},
    {query_scheduling_element, create_scheduling_element, {0x0c, 32}},
    {query_l2_table_entry, set_l2_table_entry, {0x14, 24}},
    {query_general_object, create_general_object, id32},
};

constexpr prm::cmd_opcode general_list[] = {
    query_hca_cap,
    query_adapter,
    query_issi,
    nop,
    query_vport_state,
    query_nic_vport_context,
    query_vport_counter,
    query_vnic_env,
    query_roce_address,
    query_hca_vport_context,
    get_dropped_packet_log,
    query_cong_status,
    query_cong_params,
    query_cong_statistics,
    query_esw_functions,
    query_esw_vport_context,
    query_lag,
};

const Accessor* find(std::span<const Accessor> list, prm::cmd_opcode opcode) noexcept {
  const auto at =
      std::find_if(list.begin(), list.end(), [=](const Accessor& a) { return a.opcode == opcode; });
  return at == list.end() ? nullptr : &*at;
}

std::uint32_t op_mod_of(std::span<const std::byte> in) noexcept {
  return prm::ConstView<prm::cmd_in>(in).get(prm::cmd_in::op_mod);
}

Result<> check_sizes(std::span<const std::byte> in, std::span<const std::byte> out) noexcept {
  if (in.size() >= prm::general_obj_in_cmd_hdr::size && out.size() >= 16) return {};
  return fail(EINVAL, "a command of %zu bytes with room for an answer of %zu; both have 16 at least",
              in.size(), out.size());
}

tl::unexpected<Error> not_permitted(std::span<const std::byte> in, const char* what) noexcept {
  const auto opcode = opcode_of(in);
  return fail(EPERM, "%s (%#x, op_mod %#x): the kernel lets no user context %s it; %s",
              prm::command_name(opcode), static_cast<unsigned>(opcode), op_mod_of(in), what,
              instead_of(opcode));
}

Result<const Accessor*> check_named(const Accessor& accessor, prm::cmd_opcode created_by,
                                    std::uint32_t number, std::span<const std::byte> in) noexcept {
  if (accessor.created_by != created_by) {
    return fail(EINVAL, "%s of an object that %s made: the command is about others",
                prm::command_name(accessor.opcode), prm::command_name(created_by));
  }
  if (const std::uint32_t named = number_at(in, accessor.number); named != number) {
    return fail(EINVAL, "%s names object %#x through the handle of %#x", prm::command_name(accessor.opcode),
                named, number);
  }
  return &accessor;
}

}  // namespace

std::span<const Creator> creators() noexcept {
  return creator_list;
}
std::span<const Accessor> modifiers() noexcept {
  return modifier_list;
}
std::span<const Accessor> queries() noexcept {
  return query_list;
}
std::span<const prm::cmd_opcode> generals() noexcept {
  return general_list;
}

const Creator* find_creator(prm::cmd_opcode opcode, std::uint32_t op_mod) noexcept {
  if (opcode == set_flow_table_entry && op_mod != 0) return nullptr;
  const auto* end = std::end(creator_list);
  const auto* at =
      std::find_if(std::begin(creator_list), end, [=](const Creator& c) { return c.create == opcode; });
  return at == end ? nullptr : at;
}

const Accessor* find_modifier(prm::cmd_opcode opcode, std::uint32_t op_mod) noexcept {
  if (opcode == set_flow_table_entry && op_mod != 1) return nullptr;
  return find(modifier_list, opcode);
}

const Accessor* find_query(prm::cmd_opcode opcode) noexcept {
  return find(query_list, opcode);
}

bool is_general(prm::cmd_opcode opcode) noexcept {
  const auto number = static_cast<std::uint32_t>(opcode);
  if (number >= first_general && number <= last_general) return true;
  return std::find(std::begin(general_list), std::end(general_list), opcode) != std::end(general_list);
}

std::uint32_t number_at(std::span<const std::byte> bytes, NumberAt at) noexcept {
  if (bytes.size() < at.offset + 4u) return 0;
  return static_cast<std::uint32_t>(prm::get_bits(bytes.data(), at.offset * 8u + 32 - at.bits, at.bits));
}

prm::cmd_opcode opcode_of(std::span<const std::byte> in) noexcept {
  return prm::ConstView<prm::cmd_in>(in).get(prm::cmd_in::opcode);
}

Result<> check_general(std::span<const std::byte> in, std::span<const std::byte> out) noexcept {
  if (auto sizes = check_sizes(in, out); !sizes) return sizes;
  if (!is_general(opcode_of(in))) return not_permitted(in, "execute");
  return {};
}

Result<const Creator*> check_creation(std::span<const std::byte> in,
                                      std::span<const std::byte> out) noexcept {
  if (auto sizes = check_sizes(in, out); !sizes) return fail(sizes.error());
  const Creator* creator = find_creator(opcode_of(in), op_mod_of(in));
  if (!creator) return not_permitted(in, "create an object with");
  return creator;
}

Result<const Accessor*> check_modification(prm::cmd_opcode created_by, std::uint32_t number,
                                           std::span<const std::byte> in,
                                           std::span<const std::byte> out) noexcept {
  if (auto sizes = check_sizes(in, out); !sizes) return fail(sizes.error());
  const Accessor* accessor = find_modifier(opcode_of(in), op_mod_of(in));
  if (!accessor) return not_permitted(in, "modify an object with");
  return check_named(*accessor, created_by, number, in);
}

Result<const Accessor*> check_query(prm::cmd_opcode created_by, std::uint32_t number,
                                    std::span<const std::byte> in, std::span<const std::byte> out) noexcept {
  if (auto sizes = check_sizes(in, out); !sizes) return fail(sizes.error());
  const Accessor* accessor = find_query(opcode_of(in));
  if (!accessor) return not_permitted(in, "query an object with");
  return check_named(*accessor, created_by, number, in);
}

const char* instead_of(prm::cmd_opcode opcode) noexcept {
  switch (opcode) {
    case access_reg:
    case modify_nic_vport_context:
    case modify_vport_state:
      return "hca::Port does what can be done of it";
    case set_flow_table_root:
      return "hca::Steering::root leads packets to a table";
    case alloc_uar:
    case dealloc_uar:
      return "hca::Device::alloc_uar gives one";
    case create_eq:
    case query_eq:
    case destroy_eq:
      return "hca::Device::query_eqn names the kernel's";
    case create_umem:
    case destroy_umem:
      return "hca::Device::register_umem makes one";
    default:
      break;
  }
  for (const Creator& creator : creator_list) {
    if (creator.destroy == opcode) return "the end of the object's handle destroys it";
    if (creator.create == opcode) return "hca::Device::create executes it";
  }
  if (find(modifier_list, opcode)) return "hca::Object::modify executes it";
  if (find(query_list, opcode)) return "hca::Object::query executes it";
  return "nothing a user context may do comes to the same";
}

}  // namespace chime::hca
