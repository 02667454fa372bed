// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <rte_mbuf.h>

#include <bit>
#include <cstdint>

#include "prm/wqe.h"

/// @file
/// What an mbuf's ol_flags ask of the card: checksums, segmentation, headers inside a tunnel.
///
///                       plain packet      RTE_MBUF_F_TX_TUNNEL_*
///     TX_IP_CKSUM       L3 csum           L3 inner csum
///     TX_TCP/UDP_CKSUM  L4 csum           L4 inner csum
///     TX_OUTER_IP_CKSUM                   L3 csum
///     TX_TCP_SEG        LSO, L4 as above: the card writes every frame's checksums

namespace chime::net {

/// Place of a tunnel's kind in ol_flags; a kind's number is its bit in TxQueue::tunnels.
inline constexpr unsigned tx_tunnel_shift = std::countr_zero(RTE_MBUF_F_TX_TUNNEL_VXLAN);
constexpr std::uint16_t tx_tunnel_bit(std::uint64_t ol_flags) noexcept {
  return static_cast<std::uint16_t>(1u << ((ol_flags & RTE_MBUF_F_TX_TUNNEL_MASK) >> tx_tunnel_shift));
}

/// Packets that the one-block short cut does not know.
inline constexpr std::uint64_t tx_not_simple = RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_TUNNEL_MASK;

/// The bit of TCP is in UDP's number, too, and not in that of SCTP, which the card does not compute.
static_assert((RTE_MBUF_F_TX_UDP_CKSUM & RTE_MBUF_F_TX_TCP_CKSUM) == RTE_MBUF_F_TX_TCP_CKSUM &&
              (RTE_MBUF_F_TX_SCTP_CKSUM & RTE_MBUF_F_TX_TCP_CKSUM) == 0);
/// cs_flags of a packet without tx_not_simple.
constexpr std::uint8_t tx_checksum_flags(std::uint64_t ol_flags) noexcept {
  const auto l3 = static_cast<unsigned>(ol_flags >> (std::countr_zero(RTE_MBUF_F_TX_IP_CKSUM) - 6));
  const auto l4 = static_cast<unsigned>(ol_flags >> (std::countr_zero(RTE_MBUF_F_TX_TCP_CKSUM) - 7));
  return static_cast<std::uint8_t>((l3 & prm::eth_l3_csum) | (l4 & prm::eth_l4_csum));
}
static_assert(prm::eth_l3_csum == 1 << 6 && prm::eth_l4_csum == 1 << 7);

/// cs_flags of any packet.
constexpr std::uint8_t tx_any_checksum_flags(std::uint64_t ol_flags) noexcept {
  unsigned flags = tx_checksum_flags(ol_flags);
  if ((ol_flags & RTE_MBUF_F_TX_TCP_SEG) != 0) flags |= prm::eth_l4_csum;
  if ((ol_flags & RTE_MBUF_F_TX_TUNNEL_MASK) == 0) return static_cast<std::uint8_t>(flags);
  static_assert(prm::eth_l3_csum >> 2 == prm::eth_l3_inner_csum &&
                prm::eth_l4_csum >> 2 == prm::eth_l4_inner_csum);
  flags >>= 2;
  if ((ol_flags & RTE_MBUF_F_TX_OUTER_IP_CKSUM) != 0) flags |= prm::eth_l3_csum;
  return static_cast<std::uint8_t>(flags);
}

/// Bytes of header that each frame of a segmented packet begins with. A tunnel's own headers and the outer L4
/// count to l2_len, as DPDK has it.
inline std::uint32_t tx_header_size(const rte_mbuf& packet) noexcept {
  std::uint64_t size = packet.l2_len + packet.l3_len + packet.l4_len;
  if ((packet.ol_flags & RTE_MBUF_F_TX_TUNNEL_MASK) != 0) size += packet.outer_l2_len + packet.outer_l3_len;
  return static_cast<std::uint32_t>(size);
}

}  // namespace chime::net
