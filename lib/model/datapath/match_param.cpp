// SPDX-License-Identifier: BSD-3-Clause
#include "model/datapath/match_param.h"

#include <cstdint>
#include <cstring>

#include "model/packet/bytes.h"

namespace chime::model {
namespace {

using net::byte_at;
using net::store_be;

constexpr unsigned misc = 64, misc3 = 256;  ///< byte offsets of the parts
constexpr unsigned size_of_part = 64;

/// fte_match_set_lyr_2_4, bytes
enum : unsigned {
  at_smac = 0x00,
  at_ethertype = 0x06,
  at_dmac = 0x08,
  at_first_tag = 0x0e,
  at_ip_protocol = 0x10,
  at_ip_tos = 0x11,
  at_flags = 0x12,  ///< cvlan 15, svlan 14, frag 13, ip_version [12:9], tcp_flags [8:0]
  at_tcp_ports = 0x14,
  at_ttl = 0x18,
  at_udp_ports = 0x1c,
  at_source = 0x20,
  at_destination = 0x30,
};

/// fte_match_set_misc
enum : unsigned { at_second_tag = 0x08, at_second_kind = 0x0c, at_flow_label = 0x1c, at_spi = 0x30 };
/// fte_match_set_misc3
enum : unsigned {
  at_tcp_seq = 0x04,
  at_tcp_ack = 0x0c,
  at_icmp = 0x18,
  at_icmpv6 = 0x1c,
  at_icmp_type = 0x20
};

constexpr unsigned flag_cvlan = 1u << 15, flag_svlan = 1u << 14, flag_fragment = 1u << 13;
constexpr std::uint32_t second_cvlan = 1u << 31, second_svlan = 1u << 29;

unsigned ip(std::byte* p, const std::byte* l3, const net::Headers& h) noexcept {
  p[at_ip_protocol] = static_cast<std::byte>(h.ip_protocol);
  if (h.l3 == net::L3::ipv4) {
    p[at_ip_tos] = l3[1];
    const std::uint32_t ihl = h.ip_header / 4u;
    store_be(p + at_ttl, ihl << 12 | byte_at(l3 + 8));
    std::memcpy(p + at_source + 12, l3 + 12, 4);
    std::memcpy(p + at_destination + 12, l3 + 16, 4);
    return 4u << 9;
  }
  const auto first = net::load_be<std::uint32_t>(l3);
  p[at_ip_tos] = static_cast<std::byte>(first >> 20 & 0xff);
  store_be(p + at_ttl, std::uint32_t{byte_at(l3 + 7)});
  std::memcpy(p + at_source, l3 + 8, 16);
  std::memcpy(p + at_destination, l3 + 24, 16);
  store_be(p + misc + at_flow_label, first & 0xfffff);
  return 6u << 9;
}

unsigned l4(std::byte* p, const std::byte* header, const net::Headers& h) noexcept {
  switch (h.l4) {
    case net::L4::tcp:
      std::memcpy(p + at_tcp_ports, header, 4);
      std::memcpy(p + misc3 + at_tcp_seq, header + 4, 4);
      std::memcpy(p + misc3 + at_tcp_ack, header + 8, 4);
      return net::load_be<std::uint16_t>(header + 12) & 0x1ffu;
    case net::L4::udp:
      std::memcpy(p + at_udp_ports, header, 4);
      break;
    case net::L4::icmp: {
      const bool six = h.l3 == net::L3::ipv6;
      std::memcpy(p + misc3 + at_icmp_type + (six ? 2 : 0), header, 2);
      if (h.ip_end - h.l4_offset >= 8) std::memcpy(p + misc3 + (six ? at_icmpv6 : at_icmp), header + 4, 4);
      break;
    }
    case net::L4::none:
      break;
  }
  return 0;
}

}  // namespace

void fill_match_param(MatchParam& param, const std::byte* front, const net::Headers& h) noexcept {
  auto* const p = reinterpret_cast<std::byte*>(param.data());
  std::memset(p, 0, 2 * size_of_part);
  std::memset(p + misc3, 0, size_of_part);
  std::memcpy(p + at_smac, front + 6, 6);
  store_be(p + at_ethertype, h.ethertype);
  std::memcpy(p + at_dmac, front, 6);
  unsigned flags = 0;
  if (h.vlans != 0) {
    store_be(p + at_first_tag, h.vlan_tci[0]);
    flags |= h.vlan_type[0] == net::ethertype_cvlan ? flag_cvlan : flag_svlan;
    if (h.vlans > 1) {
      store_be(p + misc + at_second_tag, h.vlan_tci[1]);
      store_be(p + misc + at_second_kind,
               h.vlan_type[1] == net::ethertype_cvlan ? second_cvlan : second_svlan);
    }
  }
  if (h.l3 != net::L3::none) flags |= ip(p, front + h.l3_offset, h);
  if (h.fragment) flags |= flag_fragment;
  if (h.l4 != net::L4::none) flags |= l4(p, front + h.l4_offset, h);
  if (h.spi_offset != 0) std::memcpy(p + misc + at_spi, front + h.spi_offset, 4);
  store_be(p + at_flags, static_cast<std::uint16_t>(flags));
}

}  // namespace chime::model
