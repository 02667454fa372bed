// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "model/command/register/register.h"

/// @file
/// Speed, state, MTU, lanes and pause of the port.

namespace chime::model {
namespace {

/// Speeds as PTYS.ext_eth_proto_* and eth_proto_* have them, one bit that stands for each.
struct Speed {
  std::uint32_t mbps;
  std::uint32_t legacy;
  std::uint32_t extended;
};

// Bit numbers as in Linux 6.1 mlx5/port.h, mlx5e_link_mode and mlx5e_ext_link_mode.
constexpr Speed speeds[] = {
    {1'000, 1u << 1, 1u << 1},  {10'000, 1u << 12, 1u << 4}, {25'000, 1u << 27, 1u << 6},
    {40'000, 1u << 6, 1u << 5}, {50'000, 1u << 30, 1u << 8}, {100'000, 1u << 20, 1u << 9},
    {200'000, 0, 1u << 12},     {400'000, 0, 1u << 16},
};

/// The fastest that the card has and that is not faster than the link.
Speed operational(const Hca::Card& card) noexcept {
  Speed found{};
  for (const Speed& s : speeds) {
    const bool offered =
        (s.legacy & card.limits.ethernet_speeds) || (s.extended & card.limits.ext_ethernet_speeds);
    if (offered && s.mbps <= card.port.speed_mbps && s.mbps > found.mbps) found = s;
  }
  return found;
}

std::uint16_t max_mtu(const Hca::Card& card) noexcept {
  const std::uint32_t wire = card.around.wire.largest_frame() + PhysicalPort::fcs;
  return static_cast<std::uint16_t>(std::min<std::uint32_t>(card.limits.max_mtu, wire));
}

}  // namespace

void ptys(const RegisterAccess<prm::ptys_reg>& a) noexcept {
  using R = prm::ptys_reg;
  if (!a.own_port(R::local_port)) return;
  Hca::Card& card = a.c.card;
  const std::uint32_t legacy = a.in.get(R::eth_proto_admin);
  const std::uint32_t extended = a.in.get(R::ext_eth_proto_admin);
  if (a.write) {
    if ((legacy & ~card.limits.ethernet_speeds) || (extended & ~card.limits.ext_ethernet_speeds)) {
      return a.c.refuse(Rule::register_value, 0, "eth_proto_admin %#x, ext %#x; the port has %#x and %#x",
                        legacy, extended, card.limits.ethernet_speeds, card.limits.ext_ethernet_speeds);
    }
    card.port.speeds_admin = legacy;
    card.port.ext_speeds_admin = extended;
    card.port.autonegotiation_off = a.in.get(R::an_disable_admin);
  }
  const Speed now = card.port.up() ? operational(card) : Speed{};
  a.out.set(R::an_disable_cap, 1)
      .set(R::an_disable_admin, card.port.autonegotiation_off)
      .set(R::an_status, card.port.up() ? prm::autoneg_status::complete : prm::autoneg_status::link_down)
      .set(R::data_rate_oper, std::min<std::uint32_t>(now.mbps / 100, 0xffff))
      .set(R::eth_proto_capability, card.limits.ethernet_speeds)
      .set(R::ext_eth_proto_capability, card.limits.ext_ethernet_speeds)
      .set(R::eth_proto_admin, card.port.speeds_admin ? card.port.speeds_admin : card.limits.ethernet_speeds)
      .set(R::ext_eth_proto_admin,
           card.port.ext_speeds_admin ? card.port.ext_speeds_admin : card.limits.ext_ethernet_speeds)
      .set(R::connector_type, prm::connector_type::da)
      .set(R::eth_proto_oper, now.legacy)
      .set(R::ext_eth_proto_oper, now.extended);
}

void paos(const RegisterAccess<prm::paos_reg>& a) noexcept {
  using R = prm::paos_reg;
  if (!a.own_port(R::local_port)) return;
  Hca::Card& card = a.c.card;
  if (a.write && a.in.get(R::ase)) {
    const auto wanted = a.in.get(R::admin_status);
    if (wanted != prm::port_status::up && wanted != prm::port_status::down &&
        wanted != prm::port_status::up_once) {
      return a.c.refuse(Rule::register_value, 0, "admin_status %u; there are 1 up, 2 down, 3 up once",
                        static_cast<unsigned>(wanted));
    }
    card.port.admin_up = wanted != prm::port_status::down;
    card.engine->port_changed();
  }
  a.out.set(R::admin_status, card.port.admin_up ? prm::port_status::up : prm::port_status::down)
      .set(R::oper_status, card.port.up() ? prm::port_status::up : prm::port_status::down);
}

void pmtu(const RegisterAccess<prm::pmtu_reg>& a) noexcept {
  using R = prm::pmtu_reg;
  constexpr std::uint16_t least = 68;  // the smallest IPv4 MTU
  if (!a.own_port(R::local_port)) return;
  PhysicalPort& port = a.c.card.port;
  const std::uint16_t most = max_mtu(a.c.card);
  if (a.write) {
    const std::uint32_t wanted = a.in.get(R::admin_mtu);
    if (wanted < least || wanted > most) {
      return a.c.refuse(Rule::register_value, 0, "admin_mtu %u; %u to %u are possible", wanted, least, most);
    }
    port.admin_mtu = static_cast<std::uint16_t>(wanted - PhysicalPort::fcs);
  }
  const auto admin = static_cast<std::uint16_t>(port.admin_mtu + PhysicalPort::fcs);
  a.out.set(R::max_mtu, most).set(R::admin_mtu, admin).set(R::oper_mtu, std::min(admin, most));
}

void pmlp(const RegisterAccess<prm::pmlp_reg>& a) noexcept {
  using R = prm::pmlp_reg;
  using L = prm::lane_2_module_mapping;
  if (!a.own_port(R::local_port)) return;
  a.out.set(R::width, a.c.card.limits.lanes);
  auto lane = [&](auto field, std::uint32_t number) {
    if (number >= a.c.card.limits.lanes) return;
    prm::Box<L> mapping;
    mapping.set(L::rx_lane, number).set(L::tx_lane, number);
    a.out.set(field, static_cast<std::uint32_t>(prm::get_bits(mapping.bytes().data(), 0, 32)));
  };
  lane(R::lane0_module_mapping, 0);
  lane(R::lane1_module_mapping, 1);
  lane(R::lane2_module_mapping, 2);
  lane(R::lane3_module_mapping, 3);
}

/// Kept for software that asks; a wire of the model never pauses.
void pfcc(const RegisterAccess<prm::pfcc_reg>& a) noexcept {
  using R = prm::pfcc_reg;
  if (!a.own_port(R::local_port)) return;
  PhysicalPort& port = a.c.card.port;
  if (a.write) {
    port.pause_transmit = a.in.get(R::pptx);
    port.pause_receive = a.in.get(R::pprx);
  }
  a.out.set(R::pptx, port.pause_transmit).set(R::pprx, port.pause_receive);
}

}  // namespace chime::model
