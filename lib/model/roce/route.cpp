// SPDX-License-Identifier: BSD-3-Clause
#include "model/roce/route.h"

#include <algorithm>
#include <cstring>

#include "model/packet/bytes.h"

namespace chime::model {
namespace {

/// UDP source ports of RoCE v2 that no software asked for.
constexpr std::uint16_t default_source_port = 0xc000;
constexpr std::uint8_t default_hop_limit = 64;

void fill(net::RoceRoute& to, const RoceAddress& from) noexcept {
  to.source_mac = from.mac;
  to.source = from.gid;
  to.ipv6 = from.l3 == RoceAddress::L3::ipv6;
  to.tagged = from.vlan_valid;
  to.tci = from.vlan;
}

}  // namespace

const RoceAddress* roce_address(const Hca::Card& card, std::uint32_t index) noexcept {
  if (index >= card.roce_addresses.size()) return nullptr;
  const RoceAddress& address = card.roce_addresses[index];
  return address.empty() || address.version != RoceAddress::Version::v2 ? nullptr : &address;
}

bool connected_route(const Hca::Card& card, const QpPath& path, net::RouteHeader& route) noexcept {
  const RoceAddress* const own = roce_address(card, path.gid_index);
  if (!own) return false;
  net::RoceRoute r;
  fill(r, *own);
  if (r.tagged) {
    r.tci = static_cast<std::uint16_t>(path.priority << 13 | (path.dei ? 1 << 12 : 0) | (r.tci & 0xfff));
  }
  r.destination_mac = path.remote_mac;
  r.destination = path.remote_gid;
  const auto marked = static_cast<std::uint8_t>(path.dscp << 2 | path.ecn);
  r.traffic_class = marked != 0 ? marked : path.traffic_class;
  r.hop_limit = path.hop_limit != 0 ? path.hop_limit : default_hop_limit;
  r.flow_label = path.flow_label;
  r.source_port = path.udp_source_port != 0 ? path.udp_source_port : default_source_port;
  route = net::make_route_header(r);
  return true;
}

bool datagram_route(const Hca::Card& card, const WqeAddressVector& vector, net::RouteHeader& route) noexcept {
  const std::uint32_t word = vector.grh_gid_fl;
  // Bit 30 says nothing here: Linux sets it, rdma-core does not, as a RoCE packet always has a GRH.
  const RoceAddress* const own = roce_address(card, word >> 20 & 0xff);
  if (!own) return false;
  net::RoceRoute r;
  fill(r, *own);
  std::memcpy(r.destination_mac.data(), vector.remote_mac, sizeof vector.remote_mac);
  std::memcpy(r.destination.data(), vector.remote_gid, sizeof vector.remote_gid);
  if (r.tagged) {
    const unsigned priority = vector.stat_rate_sl & 7;
    r.tci = static_cast<std::uint16_t>(priority << 13 | (r.tci & 0xfff));
  }
  r.traffic_class = vector.traffic_class;
  r.hop_limit = vector.hop_limit != 0 ? vector.hop_limit : default_hop_limit;
  r.flow_label = word & 0xfffff;
  const std::uint16_t port = vector.udp_source_port;
  r.source_port = port != 0 ? port : default_source_port;
  route = net::make_route_header(r);
  return true;
}

PacketAddresses packet_addresses(const std::byte* front, const net::Headers& headers) noexcept {
  PacketAddresses addresses;
  const std::byte* const l3 = front + headers.l3_offset;
  if (headers.l3 == net::L3::ipv6) {
    std::memcpy(addresses.source.data(), l3 + 8, 16);
    std::memcpy(addresses.destination.data(), l3 + 24, 16);
    return addresses;
  }
  for (GidBytes* gid : {&addresses.source, &addresses.destination}) {
    (*gid)[10] = (*gid)[11] = 0xff;
    std::memcpy(gid->data() + 12, l3 + (gid == &addresses.source ? 12 : 16), 4);
  }
  return addresses;
}

bool is_for(const RoceAddress& address, const GidBytes& destination, const net::Headers& headers) noexcept {
  if (address.gid != destination) return false;
  const bool tagged = headers.vlans != 0 && (headers.vlan_tci[0] & 0xfff) != 0;
  if (address.vlan_valid) return tagged && (headers.vlan_tci[0] & 0xfff) == (address.vlan & 0xfff);
  return !tagged;
}

}  // namespace chime::model
