// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <rte_mbuf.h>
#include <rte_mbuf_ptype.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "prm/cqe.h"

/// @file
/// From the two header bytes of a CQE (hds_ip_ext, l4_l3_hdr_type) to packet type and checksum flags, by one
/// table look-up.

namespace chime::net {

struct PacketInfo {
  std::uint32_t packet_type;  ///< RTE_PTYPE_*
  std::uint32_t flags;        ///< RTE_MBUF_F_RX_*: checksums, VLAN, and RSS_HASH, which fits every packet
};

/// Of a packet whose tag was stripped, which happens on request only.
inline constexpr std::uint32_t packet_info_vlan = RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;

/// Both bytes loaded as one little-endian word, turned so that what matters comes together:
///
///     bit  10     9      8      7     6..4  3..2   0
///         l4_ok  l3_ok  l2_ok  ip_frag  l4    l3   cv: a VLAN tag was stripped
inline constexpr unsigned packet_info_mask = 0x6fd;  // without l2_ok
constexpr unsigned packet_info_index(std::uint16_t header_word) noexcept {
  return std::rotr(header_word, 8) & packet_info_mask;
}

constexpr PacketInfo packet_info_of(unsigned index) noexcept {
  const auto l3 = static_cast<prm::cqe_l3>((index >> 2) & 3);
  const auto l4 = static_cast<prm::cqe_l4>((index >> 4) & 7);
  const bool fragment = (index & 0x80) != 0;
  const bool l3_ok = (index & 0x200) != 0;
  const bool l4_ok = (index & 0x400) != 0;

  PacketInfo info{RTE_PTYPE_L2_ETHER, RTE_MBUF_F_RX_RSS_HASH};
  if (index & prm::cqe_vlan_stripped) info.flags |= packet_info_vlan;
  switch (l3) {
    case prm::cqe_l3::ipv4:
      info.packet_type |= RTE_PTYPE_L3_IPV4_EXT_UNKNOWN;
      info.flags |= l3_ok ? RTE_MBUF_F_RX_IP_CKSUM_GOOD : RTE_MBUF_F_RX_IP_CKSUM_BAD;
      break;
    case prm::cqe_l3::ipv6:  // has no checksum that could be bad
      info.packet_type |= RTE_PTYPE_L3_IPV6_EXT_UNKNOWN;
      info.flags |= l3_ok ? RTE_MBUF_F_RX_IP_CKSUM_GOOD : RTE_MBUF_F_RX_IP_CKSUM_UNKNOWN;
      break;
    default:
      return info;
  }
  if (fragment) {  // the checksum spans all fragments: the card cannot know
    info.packet_type |= RTE_PTYPE_L4_FRAG;
    return info;
  }
  switch (l4) {
    case prm::cqe_l4::tcp_no_ack:
    case prm::cqe_l4::tcp_ack_no_data:
    case prm::cqe_l4::tcp_ack_and_data:
      info.packet_type |= RTE_PTYPE_L4_TCP;
      break;
    case prm::cqe_l4::udp:
      info.packet_type |= RTE_PTYPE_L4_UDP;
      break;
    default:
      info.packet_type |= RTE_PTYPE_L4_NONFRAG;
      return info;
  }
  info.flags |= l4_ok ? RTE_MBUF_F_RX_L4_CKSUM_GOOD : RTE_MBUF_F_RX_L4_CKSUM_BAD;
  return info;
}

/// 14 KiB, of which ordinary traffic touches two or three lines.
inline constexpr auto packet_info_table = [] {
  std::array<PacketInfo, packet_info_mask + 1> table{};
  for (unsigned index = 0; index < table.size(); ++index) table[index] = packet_info_of(index);
  return table;
}();

}  // namespace chime::net
