// SPDX-License-Identifier: BSD-3-Clause
#include "model/command/dispatch.h"

#include <algorithm>
#include <array>

#include "model/command/command.h"
#include "model/command/handlers.h"
#include "prm/tables.h"

namespace chime::model {
namespace {

/// Who may issue a command.
enum class From : std::uint8_t { anybody, kernel };

struct Entry {
  prm::cmd_opcode opcode;
  From from;
  DeviceState needs;     ///< at least
  std::uint16_t least;   ///< bytes of input that older software sends
  std::uint16_t input;   ///< bytes of the layout, without tail
  std::uint16_t output;  ///< bytes of the layout, without tail
  std::string_view name;
  void (*run)(Command&, std::span<const std::byte>);
};

template <class C, void (*handler)(Command&, In<C>, Out<C>) noexcept>
constexpr Entry entry(DeviceState needs, From from = From::anybody, std::uint16_t least = C::in::size) {
  return {C::opcode,
          from,
          needs,
          least,
          C::in::size,
          C::out::size,
          C::in::name,
          [](Command& c, std::span<const std::byte> in) { handler(c, In<C>(in), Out<C>(c.output)); }};
}

#define CHIME_ENTRY(command, ...) entry<prm::command, &command>(__VA_ARGS__)

constexpr DeviceState any = DeviceState::disabled;
constexpr DeviceState enabled = DeviceState::enabled;
constexpr DeviceState up = DeviceState::initialized;

constexpr Entry entries[] = {
    CHIME_ENTRY(enable_hca, any, From::kernel),
    CHIME_ENTRY(disable_hca, any, From::kernel),
    // INIT_HCA had no software owner when the interface was young.
    CHIME_ENTRY(init_hca, enabled, From::kernel, 16),
    CHIME_ENTRY(teardown_hca, enabled, From::kernel),
    CHIME_ENTRY(query_issi, any),
    CHIME_ENTRY(set_issi, enabled, From::kernel),
    CHIME_ENTRY(query_pages, enabled, From::kernel),
    CHIME_ENTRY(manage_pages, enabled, From::kernel),
    CHIME_ENTRY(query_adapter, enabled),
    CHIME_ENTRY(set_driver_version, enabled, From::kernel),
    CHIME_ENTRY(query_special_contexts, up),
    CHIME_ENTRY(nop, any),
    CHIME_ENTRY(query_hca_cap, enabled),
    CHIME_ENTRY(set_hca_cap, enabled, From::kernel),
    CHIME_ENTRY(create_uctx, up, From::kernel),
    CHIME_ENTRY(destroy_uctx, up, From::kernel),
    CHIME_ENTRY(create_umem, up),
    CHIME_ENTRY(destroy_umem, up),
    CHIME_ENTRY(alloc_uar, up),
    CHIME_ENTRY(dealloc_uar, up),
    CHIME_ENTRY(alloc_pd, up),
    CHIME_ENTRY(dealloc_pd, up),
    CHIME_ENTRY(alloc_xrcd, up),
    CHIME_ENTRY(dealloc_xrcd, up),
    CHIME_ENTRY(alloc_transport_domain, up),
    CHIME_ENTRY(dealloc_transport_domain, up),
    CHIME_ENTRY(create_mkey, up),
    CHIME_ENTRY(query_mkey, up),
    CHIME_ENTRY(destroy_mkey, up),
    CHIME_ENTRY(create_eq, up),
    CHIME_ENTRY(query_eq, up),
    CHIME_ENTRY(destroy_eq, up),
    CHIME_ENTRY(create_cq, up),
    CHIME_ENTRY(modify_cq, up),
    CHIME_ENTRY(query_cq, up),
    CHIME_ENTRY(destroy_cq, up),
    CHIME_ENTRY(create_sq, up),
    CHIME_ENTRY(modify_sq, up),
    CHIME_ENTRY(query_sq, up),
    CHIME_ENTRY(destroy_sq, up),
    CHIME_ENTRY(create_rq, up),
    CHIME_ENTRY(modify_rq, up),
    CHIME_ENTRY(query_rq, up),
    CHIME_ENTRY(destroy_rq, up),
    CHIME_ENTRY(create_xrc_srq, up),
    CHIME_ENTRY(query_xrc_srq, up),
    CHIME_ENTRY(arm_xrc_srq, up),
    CHIME_ENTRY(destroy_xrc_srq, up),
    CHIME_ENTRY(create_rmp, up),
    CHIME_ENTRY(modify_rmp, up),
    CHIME_ENTRY(query_rmp, up),
    CHIME_ENTRY(destroy_rmp, up),
    CHIME_ENTRY(create_qp, up),
    CHIME_ENTRY(query_qp, up),
    CHIME_ENTRY(destroy_qp, up),
    CHIME_ENTRY(rst2init_qp, up),
    CHIME_ENTRY(init2init_qp, up),
    CHIME_ENTRY(init2rtr_qp, up),
    CHIME_ENTRY(rtr2rts_qp, up),
    CHIME_ENTRY(rts2rts_qp, up),
    CHIME_ENTRY(sqerr2rts_qp, up),
    CHIME_ENTRY(sqd_rts_qp, up),
    CHIME_ENTRY(qp_2err, up),
    CHIME_ENTRY(qp_2rst, up),
    CHIME_ENTRY(attach_to_mcg, up),
    CHIME_ENTRY(detach_from_mcg, up),
    CHIME_ENTRY(query_roce_address, up),
    CHIME_ENTRY(set_roce_address, up, From::kernel),
    CHIME_ENTRY(create_rqt, up),
    CHIME_ENTRY(modify_rqt, up),
    CHIME_ENTRY(query_rqt, up),
    CHIME_ENTRY(destroy_rqt, up),
    CHIME_ENTRY(create_tir, up),
    CHIME_ENTRY(modify_tir, up),
    CHIME_ENTRY(query_tir, up),
    CHIME_ENTRY(destroy_tir, up),
    CHIME_ENTRY(create_tis, up),
    CHIME_ENTRY(modify_tis, up),
    CHIME_ENTRY(query_tis, up),
    CHIME_ENTRY(destroy_tis, up),
    CHIME_ENTRY(create_flow_table, up),
    CHIME_ENTRY(modify_flow_table, up),
    CHIME_ENTRY(query_flow_table, up),
    CHIME_ENTRY(destroy_flow_table, up),
    CHIME_ENTRY(set_flow_table_root, up, From::kernel),
    CHIME_ENTRY(create_flow_group, up),
    CHIME_ENTRY(query_flow_group, up),
    CHIME_ENTRY(destroy_flow_group, up),
    CHIME_ENTRY(set_flow_table_entry, up),
    CHIME_ENTRY(query_flow_table_entry, up),
    CHIME_ENTRY(delete_flow_table_entry, up),
    CHIME_ENTRY(alloc_flow_counter, up),
    CHIME_ENTRY(query_flow_counter, up),
    CHIME_ENTRY(dealloc_flow_counter, up),
    CHIME_ENTRY(alloc_q_counter, up),
    CHIME_ENTRY(query_q_counter, up),
    CHIME_ENTRY(dealloc_q_counter, up),
    CHIME_ENTRY(query_nic_vport_context, enabled),
    CHIME_ENTRY(modify_nic_vport_context, enabled, From::kernel),
    CHIME_ENTRY(query_hca_vport_pkey, enabled),
    CHIME_ENTRY(query_vport_state, enabled),
    CHIME_ENTRY(modify_vport_state, enabled, From::kernel),
    CHIME_ENTRY(query_vport_counter, enabled),
    CHIME_ENTRY(query_vnic_env, enabled),
    CHIME_ENTRY(set_l2_table_entry, up),
    CHIME_ENTRY(query_l2_table_entry, up),
    CHIME_ENTRY(delete_l2_table_entry, up),
    CHIME_ENTRY(add_vxlan_udp_dport, up),
    CHIME_ENTRY(delete_vxlan_udp_dport, up),
    CHIME_ENTRY(access_reg, enabled, From::kernel),
};

#undef CHIME_ENTRY

/// Opcode to index in `entries` plus one, made by the compiler.
constexpr auto index_of_opcode = [] {
  constexpr std::size_t opcodes = 0x1000;
  static_assert(std::size(entries) < 255);
  std::array<std::uint8_t, opcodes> index{};
  for (std::size_t i = 0; i < std::size(entries); ++i) {
    index[static_cast<std::size_t>(entries[i].opcode)] = static_cast<std::uint8_t>(i + 1);
  }
  return index;
}();

const Entry* look_up(std::uint32_t opcode) noexcept {
  const std::uint8_t at = opcode < index_of_opcode.size() ? index_of_opcode[opcode] : std::uint8_t{0};
  return at ? &entries[at - 1] : nullptr;
}

const char* name(DeviceState state) noexcept {
  switch (state) {
    case DeviceState::disabled:
      return "disabled";
    case DeviceState::enabled:
      return "enabled, not initialized";
    case DeviceState::initialized:
      return "initialized";
  }
  return "?";
}

/// What holds for all commands alike.
bool acceptable(Command& c, const Entry& e) noexcept {
  const char* first = c.card.state == DeviceState::disabled ? "ENABLE_HCA" : "INIT_HCA";
  if (c.input.size() < e.least) {
    c.refuse(Rule::input_length, 0, "the input has %zu bytes, its layout %u", c.input.size(), e.input);
  } else if (c.output.size() < e.output) {
    c.refuse(Rule::output_length, 0, "the output has room for %zu bytes, its layout has %u", c.output.size(),
             e.output);
  } else if (c.uid != 0 && !c.context()) {
    c.refuse(Rule::unknown_context, c.uid, "there is no user context %u", c.uid);
  } else if (c.uid != 0 && e.from == From::kernel) {
    c.refuse(Rule::kernel_only, c.uid, "user context %u issued what only the kernel (uid 0) may", c.uid);
  } else if (c.card.state < e.needs) {
    c.refuse(Rule::device_state, 0, "the device is %s; %s comes first", name(c.card.state), first);
  }
  return !c.refused();
}

void refuse_unknown(Hca::Card& card, std::uint32_t opcode, std::span<const std::byte> in,
                    std::span<std::byte> out) noexcept {
  const prm::CommandInfo* known = prm::find_command(opcode);
  Command c(card, known ? known->name : "command", in, out);
  if (known) {
    c.refuse(Rule::not_modelled, opcode, "this card does not execute opcode %#x", opcode);
  } else {
    c.refuse(Rule::unknown_opcode, opcode, "there is no command of opcode %#x", opcode);
  }
}

}  // namespace

void execute(Hca::Card& card, std::span<const std::byte> in, std::span<std::byte> out) noexcept {
  std::fill(out.begin(), out.end(), std::byte{0});
  // Shorter ones are a bug of whoever carries commands, not of who wrote them; they can't be answered.
  if (in.size() < prm::nop_in::size || out.size() < prm::nop_out::size) return;

  const auto opcode = static_cast<std::uint32_t>(prm::get_bits(in.data(), 0, 16));
  const Entry* e = look_up(opcode);
  if (!e) {
    return refuse_unknown(card, opcode, in, out);
  }
  Command c(card, e->name, in, out);
  if (!acceptable(c, *e)) return;

  if (in.size() >= e->input) {
    e->run(c, in);
  } else {
    std::array<std::byte, 64> padded{};
    std::copy(in.begin(), in.end(), padded.begin());
    e->run(c, padded);
  }
}

}  // namespace chime::model
