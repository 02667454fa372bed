// SPDX-License-Identifier: BSD-3-Clause
#include "model/packet/tunnel.h"

#include "model/packet/bytes.h"

namespace chime::net {
namespace {

constexpr std::uint8_t proto_ipv4 = 4, proto_ipv6 = 41, proto_gre = 47;
constexpr std::uint16_t gre_checksum = 0x8000, gre_key = 0x2000, gre_sequence = 0x1000, gre_version = 0x0007;
constexpr std::uint16_t transparent_bridging = 0x6558;
constexpr std::uint32_t gre_header = 4, gre_option = 4, udp_header = 8, vxlan_header = 8;

struct Inside {
  std::uint32_t at = 0;
  std::uint16_t ethertype = 0;  ///< 0: Ethernet
};

/// What is in a GRE header of version 0 (RFC 2784, 2890). @return false for what is not one, or not wholly
/// here
bool gre(Inside& inside, const std::byte* frame, std::uint32_t at, std::uint32_t available) noexcept {
  if (at + gre_header > available) return false;
  const auto flags = load_be<std::uint16_t>(frame + at);
  const auto type = load_be<std::uint16_t>(frame + at + 2);
  if ((flags & gre_version) != 0) return false;
  inside.at = at + gre_header;
  for (const std::uint16_t option : {gre_checksum, gre_key, gre_sequence}) {
    if ((flags & option) != 0) inside.at += gre_option;
  }
  inside.ethertype = type == transparent_bridging ? std::uint16_t{0} : type;
  return type == transparent_bridging || type == ethertype_ipv4 || type == ethertype_ipv6;
}

}  // namespace

bool parse_tunnelled(Headers& inner, const std::byte* frame, std::uint32_t available, const Headers& outer,
                     const VxlanPorts& vxlan) noexcept {
  inner = {};
  if (outer.l3 == L3::none || outer.fragment || !outer.ip_length_ok) return false;
  Inside inside;
  if (outer.l4 == L4::udp) {
    if (!vxlan.contains(load_be<std::uint16_t>(frame + outer.l4_offset + 2))) return false;
    inside.at = std::uint32_t{outer.l4_offset} + udp_header + vxlan_header;
  } else if (outer.ip_protocol == proto_gre) {
    if (!gre(inside, frame, outer.payload_offset, available)) return false;
  } else if (outer.ip_protocol == proto_ipv4 || outer.ip_protocol == proto_ipv6) {
    inside = {outer.payload_offset, outer.ip_protocol == proto_ipv4 ? ethertype_ipv4 : ethertype_ipv6};
  } else {
    return false;
  }
  if (inside.at > outer.ip_end || inside.at > available) return false;
  parse_inner(inner, frame, available, outer.ip_end, inside.at, inside.ethertype);
  return inner.l3 != L3::none;
}

}  // namespace chime::net
