// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <rte_ethdev.h>

#include <array>
#include <cstdint>
#include <span>

#include "base/error.h"
#include "hca/receive_path.h"

/// @file
/// What the RSS types of ethdev mean on this card: which packets are hashed, over which fields.
///
/// A type takes the packets that it names: RTE_ETH_RSS_IPV4 every IPv4 packet (over the addresses) unless a
/// narrower type names it, NONFRAG_IPV4_TCP those with a TCP header (over addresses and ports), FRAG_IPV4
/// fragments, NONFRAG_IPV4_OTHER unfragmented ones that are neither TCP nor UDP (over the addresses); IPv6
/// alike. L3_SRC_ONLY and L3_DST_ONLY drop the other address from all of these, L4_SRC_ONLY and L4_DST_ONLY
/// the other port, and both of a pair are as good as none. A packet of no asked type has no hash and goes to
/// the queue of the table's first entry.

namespace chime::net {

inline constexpr std::uint16_t max_reta = 512;
inline constexpr std::uint32_t rss_key_length = 40;

/// RTE_ETH_RSS_* that can be asked for: rte_eth_dev_info::flow_type_rss_offloads. The _EX types are their
/// plain ones here: the card looks past extension headers, and hashes the addresses of the IPv6 header.
inline constexpr std::uint64_t supported_rss_types =
    RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_FRAG_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_TCP | RTE_ETH_RSS_NONFRAG_IPV4_UDP |
    RTE_ETH_RSS_NONFRAG_IPV4_OTHER | RTE_ETH_RSS_IPV6 | RTE_ETH_RSS_FRAG_IPV6 | RTE_ETH_RSS_NONFRAG_IPV6_TCP |
    RTE_ETH_RSS_NONFRAG_IPV6_UDP | RTE_ETH_RSS_NONFRAG_IPV6_OTHER | RTE_ETH_RSS_IPV6_EX |
    RTE_ETH_RSS_IPV6_TCP_EX | RTE_ETH_RSS_IPV6_UDP_EX | RTE_ETH_RSS_L3_SRC_ONLY | RTE_ETH_RSS_L3_DST_ONLY |
    RTE_ETH_RSS_L4_SRC_ONLY | RTE_ETH_RSS_L4_DST_ONLY | RTE_ETH_RSS_LEVEL_OUTERMOST;

using RssKey = std::array<std::uint8_t, rss_key_length>;

/// The key where the application gives none: the one that Microsoft's RSS specification verifies against.
inline constexpr RssKey default_rss_key = {0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67,
                                           0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb,
                                           0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30,
                                           0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa};

/// How packets are spread over the queues. Plain data.
struct RssSettings {
  bool enabled;  ///< false: everything goes to queue 0
  std::uint64_t types;
  RssKey key;
  std::uint16_t reta_size;                   ///< a power of two, at most max_reta
  std::array<std::uint16_t, max_reta> reta;  ///< queue numbers
};

/// ENOTSUP names what of `types` this card can't hash, and what it can.
Result<> check_rss_types(std::uint64_t types) noexcept;

/// The TIRs that RSS needs: one for each L3 and L4 that is hashed, and one that leads straight to a queue.
enum class HashClass : std::uint8_t { none, ipv4, ipv4_tcp, ipv4_udp, ipv6, ipv6_tcp, ipv6_udp };
inline constexpr unsigned hash_classes = 7;

/// Which packets a rule of the spreading table is for.
enum class Spread : std::uint8_t { tcp, udp, fragment, any };
inline constexpr unsigned spreads = 4;

/// What becomes of each kind of packet. Plain data.
struct RssPlan {
  HashClass ipv4[spreads];  ///< by Spread
  HashClass ipv6[spreads];
  std::uint8_t selected_fields[hash_classes];  ///< rx_hash_field_select of each class; 0 for none

  bool uses(HashClass kind) const noexcept;
};

/// @param types checked by check_rss_types
RssPlan plan_rss(std::uint64_t types) noexcept;

/// L3 and L4 of a class other than none.
struct HashProtocols {
  bool ipv6;
  hca::RssConfig::L4 l4;
};
HashProtocols protocols(HashClass kind) noexcept;

}  // namespace chime::net
