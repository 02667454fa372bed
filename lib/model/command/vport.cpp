// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "model/command/handlers.h"
#include "model/command/mac.h"

/// @file
/// The NIC's virtual port: its context and state.

namespace chime::model {
namespace {

using N = prm::nic_vport_context;

constexpr std::size_t list_entry_size = prm::mac_address_layout::size;

bool own(Command& c, std::uint32_t other_vport, std::uint32_t vport_number) noexcept {
  return c.absent(other_vport, Rule::other_vport, "other_vport") &&
         c.absent(vport_number, Rule::other_vport, "vport_number");
}

std::uint32_t largest_list(const Hca::Card& card, prm::vport_list_type type) noexcept {
  using G = prm::cmd_hca_cap;
  const auto caps = card.capabilities.general();
  switch (type) {
    case prm::vport_list_type::uc:
      return 1u << caps.get(G::log_max_current_uc_list);
    case prm::vport_list_type::mc:
      return 1u << caps.get(G::log_max_current_mc_list);
    case prm::vport_list_type::vlan:
      return 1u << caps.get(G::log_max_vlan_list);
  }
  return 0;
}

/// A whole address list; nothing of the port changes before it is complete.
struct ListIn {
  bool present = false;
  prm::vport_list_type type{};
  Array<Mac> macs;
  Array<std::uint16_t> vlans;
};

bool read_list(Command& c, prm::ConstView<N> context, ListIn& list) noexcept {
  list.present = true;
  list.type = context.get(N::allowed_list_type);
  const std::uint32_t size = context.get(N::allowed_list_size);
  const std::uint32_t largest = largest_list(c.card, list.type);
  if (size > largest) {
    c.refuse(Rule::vport_list, 0, "%u entries in list %u; the card has room for %u", size,
             static_cast<unsigned>(list.type), largest);
    return false;
  }
  const auto bytes = context.bytes().subspan(N::size);
  if (bytes.size() / list_entry_size < size) {
    c.refuse(Rule::vport_list, 0, "%u entries are announced, the list has %zu", size,
             bytes.size() / list_entry_size);
    return false;
  }
  auto entry = [&](std::size_t i) { return bytes.subspan(i * list_entry_size, list_entry_size); };
  if (list.type == prm::vport_list_type::vlan) {
    if (!c.make_array(list.vlans, size, "a VLAN list")) return false;
    for (std::size_t i = 0; i < size; ++i) {
      list.vlans[i] =
          static_cast<std::uint16_t>(prm::ConstView<prm::vlan_layout>(entry(i)).get(prm::vlan_layout::vlan));
    }
    return true;
  }
  if (!c.make_array(list.macs, size, "an address list")) return false;
  for (std::size_t i = 0; i < size; ++i) {
    list.macs[i] = read_mac(prm::ConstView<prm::mac_address_layout>(entry(i)));
  }
  return true;
}

void put_list(ListIn& list, VportContext& vport) noexcept {
  switch (list.type) {
    case prm::vport_list_type::uc:
      vport.unicast_list = std::move(list.macs);
      break;
    case prm::vport_list_type::mc:
      vport.multicast_list = std::move(list.macs);
      break;
    case prm::vport_list_type::vlan:
      vport.vlan_list = std::move(list.vlans);
      break;
  }
}

bool write_list(Command& c, const VportContext& vport, prm::vport_list_type type, prm::View<N> out) noexcept {
  const std::size_t size = type == prm::vport_list_type::uc   ? vport.unicast_list.size()
                           : type == prm::vport_list_type::mc ? vport.multicast_list.size()
                                                              : vport.vlan_list.size();
  out.set(N::allowed_list_type, type).set(N::allowed_list_size, static_cast<std::uint32_t>(size));
  const auto bytes = out.bytes().subspan(N::size);
  if (bytes.empty()) return true;  // software that wants the context alone, whatever is in the list
  if (bytes.size() / list_entry_size < size) {
    c.refuse(Rule::output_length, 0, "the list has %zu entries, the output has room for %zu", size,
             bytes.size() / list_entry_size);
    return false;
  }
  for (std::size_t i = 0; i < size; ++i) {
    const auto entry = bytes.subspan(i * list_entry_size, list_entry_size);
    if (type == prm::vport_list_type::vlan) {
      prm::View<prm::vlan_layout>(entry).set(prm::vlan_layout::vlan, vport.vlan_list[i]);
    } else {
      write_mac(type == prm::vport_list_type::uc ? vport.unicast_list[i] : vport.multicast_list[i],
                prm::View<prm::mac_address_layout>(entry));
    }
  }
  return true;
}

}  // namespace

void query_nic_vport_context(Command& c, In<prm::query_nic_vport_context> in,
                             Out<prm::query_nic_vport_context> out) noexcept {
  using I = prm::query_nic_vport_context_in;
  if (!own(c, in.get(I::other_vport), in.get(I::vport_number))) return;
  const auto context = out.at(prm::query_nic_vport_context_out::nic_vport_context);
  const VportContext& vport = c.card.vport;
  if (!write_list(c, vport, in.get(I::allowed_list_type), context)) return;
  context.set(N::min_wqe_inline_mode, static_cast<prm::inline_mode>(vport.min_inline_mode))
      .set(N::disable_mc_local_lb, vport.block_local_multicast)
      .set(N::disable_uc_local_lb, vport.block_local_unicast)
      .set(N::roce_en, vport.roce_enabled)
      .set(N::arm_change_event, vport.event_on_change)
      .set(N::mtu, vport.mtu)
      .set(N::system_image_guid, vport.system_image_guid)
      .set(N::port_guid, vport.port_guid)
      .set(N::node_guid, vport.node_guid)
      .set(N::promisc_uc, vport.promisc_unicast)
      .set(N::promisc_mc, vport.promisc_multicast)
      .set(N::promisc_all, vport.promisc_all);
  write_mac(vport.permanent_address, context.at(N::permanent_address));
}

void modify_nic_vport_context(Command& c, In<prm::modify_nic_vport_context> in,
                              Out<prm::modify_nic_vport_context>) noexcept {
  using I = prm::modify_nic_vport_context_in;
  using Select = prm::modify_nic_vport_field_select;
  if (!own(c, in.get(I::other_vport), in.get(I::vport_number))) return;
  const auto select = in.at(I::field_select);
  const auto context = in.at(I::nic_vport_context);
  VportContext& vport = c.card.vport;
  if (!c.absent(select.get(Select::affiliation), Rule::vport_value, "affiliation with another port")) return;
  const std::uint32_t mtu = context.get(N::mtu);
  if (select.get(Select::mtu) && (mtu == 0 || mtu > c.card.limits.max_mtu)) {
    return c.refuse(Rule::vport_value, 0, "mtu %u; 1 to %u are possible", mtu, c.card.limits.max_mtu);
  }
  ListIn list;
  if (select.get(Select::addresses_list) && !read_list(c, context, list)) return;

  if (list.present) put_list(list, vport);
  if (select.get(Select::disable_uc_local_lb))
    vport.block_local_unicast = context.get(N::disable_uc_local_lb);
  if (select.get(Select::disable_mc_local_lb))
    vport.block_local_multicast = context.get(N::disable_mc_local_lb);
  if (select.get(Select::node_guid)) vport.node_guid = context.get(N::node_guid);
  if (select.get(Select::port_guid)) vport.port_guid = context.get(N::port_guid);
  if (select.get(Select::min_inline)) {
    vport.min_inline_mode = static_cast<std::uint8_t>(context.get(N::min_wqe_inline_mode));
  }
  if (select.get(Select::mtu)) vport.mtu = static_cast<std::uint16_t>(mtu);
  if (select.get(Select::change_event)) vport.event_on_change = context.get(N::arm_change_event);
  if (select.get(Select::promisc)) {
    vport.promisc_unicast = context.get(N::promisc_uc);
    vport.promisc_multicast = context.get(N::promisc_mc);
    vport.promisc_all = context.get(N::promisc_all);
  }
  if (select.get(Select::permanent_address)) {
    vport.permanent_address = read_mac(context.at(N::permanent_address));
  }
  if (select.get(Select::roce_en)) vport.roce_enabled = context.get(N::roce_en);
}

void query_vport_state(Command& c, In<prm::query_vport_state> in, Out<prm::query_vport_state> out) noexcept {
  using I = prm::query_vport_state_in;
  using Op = prm::vport_state_op_mod;
  if (!own(c, in.get(I::other_vport), in.get(I::vport_number))) return;
  if (in.get(I::op_mod) == Op::esw_vport) {
    return c.refuse(Rule::op_mod, 0, "op_mod 1 means the E-Switch; this card has none");
  }
  // The administrative state is the virtual port's; its link is the cable's.
  const bool up = c.card.port.up() && c.card.vport.admin_state != VportContext::admin_down;
  out.set(prm::query_vport_state_out::admin_state, static_cast<prm::vport_state>(c.card.vport.admin_state))
      .set(prm::query_vport_state_out::state, up ? prm::vport_state::up : prm::vport_state::down);
}

void modify_vport_state(Command& c, In<prm::modify_vport_state> in, Out<prm::modify_vport_state>) noexcept {
  using I = prm::modify_vport_state_in;
  using Op = prm::vport_state_op_mod;
  if (!own(c, in.get(I::other_vport), in.get(I::vport_number))) return;
  if (in.get(I::op_mod) == Op::esw_vport) {
    return c.refuse(Rule::op_mod, 0, "op_mod 1 means the E-Switch; this card has none");
  }
  const auto state = static_cast<std::uint32_t>(in.get(I::admin_state));
  if (state > static_cast<std::uint32_t>(prm::vport_state::follow)) {
    return c.refuse(Rule::vport_value, 0, "admin_state %u; there are 0 down, 1 up, 2 follow", state);
  }
  c.card.vport.admin_state = static_cast<std::uint8_t>(state);
  c.card.engine->port_changed();
}

/// RoCE has one partition, the default one.
void query_hca_vport_pkey(Command& c, In<prm::query_hca_vport_pkey> in,
                          Out<prm::query_hca_vport_pkey> out) noexcept {
  using I = prm::query_hca_vport_pkey_in;
  constexpr std::uint32_t whole_table = 0xffff;
  constexpr std::uint64_t default_partition = 0xffff;
  const std::uint32_t index = in.get(I::pkey_index);
  if (in.get(I::other_vport)) {
    return c.refuse(Rule::other_vport, in.get(I::vport_number), "this card has no other virtual port");
  }
  if (index != 0 && index != whole_table) {
    return c.refuse(Rule::qp_pkey, index, "pkey_index %u; there is 0", index);
  }
  const auto bytes = out.bytes();
  constexpr std::size_t at = prm::query_hca_vport_pkey_out::size;
  if (bytes.size() < at + prm::pkey::size) {
    return c.refuse(Rule::output_length, 0, "the output has no room for a partition key");
  }
  prm::set_bits(bytes.data(), at * 8 + 16, 16, default_partition);
}

}  // namespace chime::model
