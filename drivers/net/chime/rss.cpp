// SPDX-License-Identifier: BSD-3-Clause
#include "rss.h"

#include <algorithm>
#include <cinttypes>

namespace chime::net {

namespace {

enum Field : std::uint8_t {
  source_address = 1,
  destination_address = 2,
  source_port = 4,
  destination_port = 8
};

/// The types of one L3.
struct Types {
  std::uint64_t all, fragments, tcp, udp, other;
  HashClass l3, l3_tcp, l3_udp;
};

constexpr Types ipv4_types{RTE_ETH_RSS_IPV4,
                           RTE_ETH_RSS_FRAG_IPV4,
                           RTE_ETH_RSS_NONFRAG_IPV4_TCP,
                           RTE_ETH_RSS_NONFRAG_IPV4_UDP,
                           RTE_ETH_RSS_NONFRAG_IPV4_OTHER,
                           HashClass::ipv4,
                           HashClass::ipv4_tcp,
                           HashClass::ipv4_udp};
constexpr Types ipv6_types{RTE_ETH_RSS_IPV6 | RTE_ETH_RSS_IPV6_EX,
                           RTE_ETH_RSS_FRAG_IPV6,
                           RTE_ETH_RSS_NONFRAG_IPV6_TCP | RTE_ETH_RSS_IPV6_TCP_EX,
                           RTE_ETH_RSS_NONFRAG_IPV6_UDP | RTE_ETH_RSS_IPV6_UDP_EX,
                           RTE_ETH_RSS_NONFRAG_IPV6_OTHER,
                           HashClass::ipv6,
                           HashClass::ipv6_tcp,
                           HashClass::ipv6_udp};

void plan_l3(HashClass (&plan)[spreads], const Types& of, std::uint64_t types) noexcept {
  const auto hash_if = [&](std::uint64_t any_of, HashClass kind, HashClass otherwise) {
    return (types & any_of) != 0 ? kind : otherwise;
  };
  const HashClass addresses = hash_if(of.all, of.l3, HashClass::none);
  plan[static_cast<unsigned>(Spread::tcp)] = hash_if(of.tcp, of.l3_tcp, addresses);
  plan[static_cast<unsigned>(Spread::udp)] = hash_if(of.udp, of.l3_udp, addresses);
  plan[static_cast<unsigned>(Spread::fragment)] = hash_if(of.fragments, of.l3, addresses);
  plan[static_cast<unsigned>(Spread::any)] = hash_if(of.other, of.l3, addresses);
}

/// One of a pair, or both of it.
unsigned one_or_both(std::uint64_t types, std::uint64_t source_only, std::uint64_t destination_only,
                     unsigned source, unsigned destination) noexcept {
  const bool only_source = (types & source_only) != 0;
  const bool only_destination = (types & destination_only) != 0;
  if (only_source == only_destination) return source | destination;
  return only_source ? source : destination;
}

}  // namespace

Result<> check_rss_types(std::uint64_t types) noexcept {
  const std::uint64_t unknown = types & ~supported_rss_types;
  if (unknown == 0) return {};
  return fail(
      ENOTSUP,
      "RSS types 0x%" PRIx64
      " can't be hashed; what can: ipv4, ipv4-frag, ipv4-tcp, ipv4-udp, ipv4-other, the same of ipv6, "
      "l3-src-only, l3-dst-only, l4-src-only, l4-dst-only, outermost headers",
      unknown);
}

bool RssPlan::uses(HashClass kind) const noexcept {
  return kind == HashClass::none || std::ranges::find(ipv4, kind) != std::end(ipv4) ||
         std::ranges::find(ipv6, kind) != std::end(ipv6);
}

RssPlan plan_rss(std::uint64_t types) noexcept {
  RssPlan plan{};
  plan_l3(plan.ipv4, ipv4_types, types);
  plan_l3(plan.ipv6, ipv6_types, types);

  const unsigned addresses = one_or_both(types, RTE_ETH_RSS_L3_SRC_ONLY, RTE_ETH_RSS_L3_DST_ONLY,
                                         source_address, destination_address);
  const unsigned ports =
      one_or_both(types, RTE_ETH_RSS_L4_SRC_ONLY, RTE_ETH_RSS_L4_DST_ONLY, source_port, destination_port);
  for (unsigned i = 1; i < hash_classes; ++i) {
    const bool l4 = protocols(static_cast<HashClass>(i)).l4 != hca::RssConfig::L4::none;
    plan.selected_fields[i] = static_cast<std::uint8_t>(l4 ? addresses | ports : addresses);
  }
  return plan;
}

HashProtocols protocols(HashClass kind) noexcept {
  using L4 = hca::RssConfig::L4;
  switch (kind) {
    case HashClass::ipv4_tcp:
      return {false, L4::tcp};
    case HashClass::ipv4_udp:
      return {false, L4::udp};
    case HashClass::ipv6:
      return {true, L4::none};
    case HashClass::ipv6_tcp:
      return {true, L4::tcp};
    case HashClass::ipv6_udp:
      return {true, L4::udp};
    case HashClass::none:
    case HashClass::ipv4:
      break;
  }
  return {false, L4::none};
}

}  // namespace chime::net
