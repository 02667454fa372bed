// SPDX-License-Identifier: BSD-3-Clause
#include "model/command/gid.h"
#include "model/command/handlers.h"

/// @file
/// The table of the port's RoCE addresses.

namespace chime::model {
namespace {

using L = prm::roce_addr_layout;
using Roce = prm::roce_cap;

/// The place, or refused.
RoceAddress* place(Command& c, std::uint32_t port, std::uint32_t index) noexcept {
  if (port > 1) {
    c.refuse(Rule::qp_port, port, "vhca_port_num %u; the card's port is 1", port);
    return nullptr;
  }
  if (index >= c.card.roce_addresses.size()) {
    c.refuse(Rule::roce_index, index, "index %u; the GID table has %zu places (roce_address_table_size)",
             index, c.card.roce_addresses.size());
    return nullptr;
  }
  return &c.card.roce_addresses[index];
}

RoceAddress read(prm::ConstView<L> layout) noexcept {
  RoceAddress address;
  address.gid = read_gid(layout, L::source_l3_address);
  const std::uint64_t mac =
      std::uint64_t{layout.get(L::source_mac_47_32)} << 32 | layout.get(L::source_mac_31_0);
  for (std::size_t i = 0; i < address.mac.size(); ++i) {
    address.mac[i] = static_cast<std::uint8_t>(mac >> (40 - 8 * i));
  }
  address.vlan_valid = layout.get(L::vlan_valid);
  address.vlan = static_cast<std::uint16_t>(layout.get(L::vlan_id));
  address.version = static_cast<RoceAddress::Version>(layout.get(L::roce_version));
  address.l3 = static_cast<RoceAddress::L3>(layout.get(L::roce_l3_type));
  return address;
}

bool offered(const Hca::Card& card, const RoceAddress& address) noexcept {
  const auto roce = card.capabilities.view<Roce>(static_cast<unsigned>(prm::hca_cap_type::roce));
  const auto version = static_cast<unsigned>(address.version);
  const auto l3 = static_cast<unsigned>(address.l3);
  // Bit 0 of l3_type is the header of version 1.
  return version < 8 && roce.get(Roce::roce_version) >> version & 1 && l3 < 2 &&
         roce.get(Roce::l3_type) >> (l3 + 1) & 1;
}

}  // namespace

void set_roce_address(Command& c, In<prm::set_roce_address> in, Out<prm::set_roce_address>) noexcept {
  using I = prm::set_roce_address_in;
  RoceAddress* const at = place(c, in.get(I::vhca_port_num), in.get(I::roce_address_index));
  if (!at) return;
  const RoceAddress wanted = read(in.at(I::roce_address));
  if (wanted.empty()) {
    *at = {};
    return;
  }
  const std::uint32_t index = in.get(I::roce_address_index);
  if (!offered(c.card, wanted)) {
    return c.refuse(Rule::roce_address, index,
                    "roce_version %u, roce_l3_type %u; QUERY_HCA_CAP has no such bits",
                    static_cast<unsigned>(wanted.version), static_cast<unsigned>(wanted.l3));
  }
  if ((wanted.mac[0] & 1) || wanted.mac == Mac{}) {
    return c.refuse(Rule::roce_address, index, "%02x:%02x:%02x:%02x:%02x:%02x is no unicast MAC address",
                    wanted.mac[0], wanted.mac[1], wanted.mac[2], wanted.mac[3], wanted.mac[4], wanted.mac[5]);
  }
  *at = wanted;
}

void query_roce_address(Command& c, In<prm::query_roce_address> in,
                        Out<prm::query_roce_address> out) noexcept {
  using I = prm::query_roce_address_in;
  const RoceAddress* const at = place(c, in.get(I::vhca_port_num), in.get(I::roce_address_index));
  if (!at || at->empty()) return;
  const auto layout = out.at(prm::query_roce_address_out::roce_address);
  write_gid(at->gid, layout, L::source_l3_address);
  const Mac& m = at->mac;
  layout.set(L::vlan_valid, at->vlan_valid)
      .set(L::vlan_id, at->vlan)
      .set(L::source_mac_47_32, std::uint32_t{m[0]} << 8 | m[1])
      .set(L::source_mac_31_0,
           std::uint32_t{m[2]} << 24 | std::uint32_t{m[3]} << 16 | std::uint32_t{m[4]} << 8 | m[5])
      .set(L::roce_l3_type, static_cast<prm::roce_l3_type>(at->l3))
      .set(L::roce_version, static_cast<prm::roce_version>(at->version));
}

}  // namespace chime::model
