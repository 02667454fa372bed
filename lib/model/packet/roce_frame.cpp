// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstring>

#include "model/packet/bytes.h"
#include "model/packet/checksum.h"
#include "model/packet/crc32.h"
#include "model/packet/roce.h"

/// What lies around BTH: Ethernet, IP and UDP before it, ICRC behind.

namespace chime::net {
namespace {

constexpr std::uint32_t ipv4_header = 20, ipv6_header = 40;
constexpr std::uint8_t proto_udp = 17;
constexpr std::uint16_t dont_fragment = 0x4000;

constexpr std::size_t largest_masked = 60 + udp_header + bth_size;

/// The CRC's state behind IP, UDP and BTH; what a router may change counts as ones. A packet of InfiniBand
/// proper has a local route header before them, of which all counts as ones.
std::uint32_t masked_headers(const std::byte* l3, bool ipv6, std::uint32_t ip_bytes) noexcept {
  std::byte copy[8 + largest_masked];
  constexpr std::byte ones{0xff};
  std::memset(copy, 0xff, 8);
  std::byte* const ip = copy + 8;
  const std::uint32_t length = ip_bytes + udp_header + bth_size;
  std::memcpy(ip, l3, length);
  if (ipv6) {
    ip[0] |= std::byte{0x0f};  // traffic class, flow label
    ip[1] = ip[2] = ip[3] = ones;
    ip[7] = ones;  // hop limit
  } else {
    ip[1] = ones;            // TOS
    ip[8] = ones;            // TTL
    ip[10] = ip[11] = ones;  // header checksum
  }
  ip[ip_bytes + 6] = ip[ip_bytes + 7] = ones;  // UDP checksum
  ip[ip_bytes + udp_header + 4] = ones;        // BTH: congestion marks and reserved bits
  return crc32(~std::uint32_t{0}, copy, 8 + length);
}

std::uint32_t as_stored(std::uint32_t state) noexcept {
  const std::uint32_t crc = ~state;
  return std::endian::native == std::endian::little ? crc : prm::swap_bytes(crc);
}

}  // namespace

RouteHeader make_route_header(const RoceRoute& route) noexcept {
  RouteHeader header{};
  std::byte* at = header.bytes.data();
  std::memcpy(at, route.destination_mac.data(), 6);
  std::memcpy(at + 6, route.source_mac.data(), 6);
  at += 12;
  if (route.tagged) {
    store_be(at, ethertype_cvlan);
    store_be(at + 2, route.tci);
    at += vlan_tag_size;
  }
  store_be(at, route.ipv6 ? ethertype_ipv6 : ethertype_ipv4);
  at += 2;
  header.l3_offset = static_cast<std::uint8_t>(at - header.bytes.data());
  header.ipv6 = route.ipv6;
  if (route.ipv6) {
    store_be(at, 6u << 28 | std::uint32_t{route.traffic_class} << 20 | (route.flow_label & 0xfffff));
    store_be(at + 6, proto_udp);
    store_be(at + 7, route.hop_limit);
    std::memcpy(at + 8, route.source.data(), 16);
    std::memcpy(at + 24, route.destination.data(), 16);
    at += ipv6_header;
  } else {
    store_be(at, std::uint8_t{0x45});
    store_be(at + 1, route.traffic_class);
    store_be(at + 6, dont_fragment);
    store_be(at + 8, route.hop_limit);
    store_be(at + 9, proto_udp);
    std::memcpy(at + 12, route.source.data() + 12, 4);
    std::memcpy(at + 16, route.destination.data() + 12, 4);
    at += ipv4_header;
  }
  store_be(at, route.source_port);
  store_be(at + 2, roce_port);
  at += udp_header;
  header.length = static_cast<std::uint8_t>(at - header.bytes.data());
  return header;
}

std::uint32_t finish_roce(std::byte* frame, const RouteHeader& route, std::uint32_t content) noexcept {
  std::memcpy(frame, route.bytes.data(), route.length);
  std::byte* const l3 = frame + route.l3_offset;
  const std::uint32_t ip_bytes = route.ipv6 ? ipv6_header : ipv4_header;
  const auto udp_bytes = static_cast<std::uint16_t>(udp_header + content + icrc_size);
  store_be(l3 + ip_bytes + 4, udp_bytes);
  if (route.ipv6) {
    store_be(l3 + 4, udp_bytes);
  } else {
    store_be(l3 + 2, static_cast<std::uint16_t>(ipv4_header + udp_bytes));
    store(l3 + 10, static_cast<std::uint16_t>(~fold(sum_bytes(l3, ipv4_header))));
  }
  const std::byte* const behind = l3 + ip_bytes + udp_header + bth_size;
  const std::uint32_t state = crc32(masked_headers(l3, route.ipv6, ip_bytes), behind, content - bth_size);
  std::byte* const end = frame + route.length + content;
  store(end, as_stored(state));
  if (route.ipv6) {
    // IPv4 does without a UDP checksum, as the annex has it; over IPv6 dissectors and hosts mind its absence.
    std::byte* const udp = l3 + ip_bytes;
    const auto sum = static_cast<std::uint16_t>(
        ~fold(sum_bytes(udp, udp_bytes) + pseudo_header(l3, L3::ipv6, proto_udp, udp_bytes)));
    store(udp + 6, sum != 0 ? sum : std::uint16_t{0xffff});
  }
  return route.length + content + icrc_size;
}

std::uint32_t icrc_of(const std::byte* front, std::span<const model::Segment> segments,
                      const Headers& headers) noexcept {
  // Extension headers between IPv6 and UDP are no RoCE packet's: they are taken for part of what is fixed.
  const std::uint32_t ip_bytes =
      std::min<std::uint32_t>(headers.l4_offset - std::uint32_t{headers.l3_offset}, 60);
  std::uint32_t state = masked_headers(front + headers.l3_offset, headers.l3 == L3::ipv6, ip_bytes);
  const std::uint32_t from = headers.l3_offset + ip_bytes + udp_header + bth_size;
  const std::uint32_t to = headers.ip_end - icrc_size;
  std::uint32_t begin = 0;
  for (const model::Segment& segment : segments) {
    if (begin >= to) break;
    const std::uint32_t first = std::max(from, begin);
    const std::uint32_t last = std::min(to, begin + segment.length);
    if (first < last) state = crc32(state, segment.data + (first - begin), last - first);
    begin += segment.length;
  }
  return as_stored(state);
}

bool icrc_ok(const std::byte* front, std::span<const model::Segment> segments,
             const Headers& headers) noexcept {
  std::byte stored[icrc_size] = {};
  const std::uint32_t from = headers.ip_end - icrc_size;
  std::uint32_t begin = 0;
  for (const model::Segment& segment : segments) {
    const std::uint32_t first = std::max(from, begin);
    const std::uint32_t last = std::min<std::uint32_t>(headers.ip_end, begin + segment.length);
    if (first < last) std::memcpy(stored + (first - from), segment.data + (first - begin), last - first);
    begin += segment.length;
  }
  return load<std::uint32_t>(stored) == icrc_of(front, segments, headers);
}

}  // namespace chime::net
