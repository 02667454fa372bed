// SPDX-License-Identifier: BSD-3-Clause
#include "model/command/handlers.h"
#include "model/packet/tunnel.h"

namespace chime::model {

void add_vxlan_udp_dport(Command& c, In<prm::add_vxlan_udp_dport> in,
                         Out<prm::add_vxlan_udp_dport>) noexcept {
  using Offloads = prm::per_protocol_networking_offload_caps;
  const std::uint32_t port = in.get(prm::add_vxlan_udp_dport_in::vxlan_udp_port);
  const unsigned most = std::min<std::uint32_t>(
      net::VxlanPorts::most,
      c.card.capabilities.view<Offloads>(static_cast<unsigned>(prm::hca_cap_type::ethernet_offloads))
          .get(Offloads::max_vxlan_udp_ports));
  net::VxlanPorts& ports = c.card.port.vxlan_ports;
  const auto number = static_cast<std::uint16_t>(port);
  if (number == 0) return c.refuse(Rule::vxlan_port, 0, "UDP port 0; 1 to 65535 can carry VXLAN");
  if (!ports.contains(number) && (ports.count() >= most || !ports.add(number))) {
    c.refuse(Rule::vxlan_ports, port, "UDP port %u; %u carry VXLAN already (max_vxlan_udp_ports)", port,
             most);
  }
}

void delete_vxlan_udp_dport(Command& c, In<prm::delete_vxlan_udp_dport> in,
                            Out<prm::delete_vxlan_udp_dport>) noexcept {
  const std::uint32_t port = in.get(prm::delete_vxlan_udp_dport_in::vxlan_udp_port);
  if (!c.card.port.vxlan_ports.remove(static_cast<std::uint16_t>(port))) {
    c.refuse(Rule::vxlan_port, port, "UDP port %u carries no VXLAN", port);
  }
}

}  // namespace chime::model
