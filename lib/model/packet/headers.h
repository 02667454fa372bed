// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

/// @file
/// What the card's parser makes of the front of a frame.

namespace chime::net {

inline constexpr std::uint16_t ethertype_ipv4 = 0x0800;
inline constexpr std::uint16_t ethertype_ipv6 = 0x86dd;
inline constexpr std::uint16_t ethertype_cvlan = 0x8100;
inline constexpr std::uint16_t ethertype_svlan = 0x88a8;

inline constexpr std::uint32_t ethernet_header = 14;
inline constexpr std::uint32_t vlan_tag_size = 4;
inline constexpr unsigned max_vlans = 2;

enum class L3 : std::uint8_t { none, ipv4, ipv6 };
enum class L4 : std::uint8_t { none, tcp, udp, icmp };

/// Offsets count from the frame's first byte.
struct Headers {
  std::uint16_t l3_offset = 0;  ///< behind the Ethernet header and the tags; where the CQE checksum begins
  std::uint16_t l4_offset = 0;  ///< 0: there is none, it is not in the first fragment, or it is cut
  std::uint16_t payload_offset = 0;  ///< behind the last header that was understood
  std::uint16_t spi_offset = 0;      ///< of the security parameter index of AH or ESP, 0 without
  std::uint16_t ip_end = 0;          ///< behind the IP datagram; what follows is padding. 0 without IP
  std::uint16_t ethertype = 0;       ///< the one behind the last tag
  std::uint16_t vlan_tci[max_vlans] = {};
  std::uint16_t vlan_type[max_vlans] = {};
  std::uint8_t vlans = 0;  ///< tags, at most two; a third is taken for the payload's ethertype
  L3 l3 = L3::none;
  L4 l4 = L4::none;
  std::uint8_t ip_protocol = 0;  ///< behind IPv6 extension headers
  std::uint8_t ip_header = 0;    ///< bytes of the IP header itself, IPv4 options included
  bool fragment = false;         ///< part of a datagram, first one included: no L4 header is looked at
  bool ip_length_ok = false;     ///< the IP header's lengths agree with each other and with the frame
  bool wants_more = false;       ///< a header went beyond `available`: more of the frame would be understood
};

/// Parses the first `available` bytes of a frame of `frame_length` (available <= frame_length, any value).
void parse(Headers& headers, const std::byte* frame, std::uint32_t available,
           std::uint32_t frame_length) noexcept;
inline Headers parse(const std::byte* frame, std::uint32_t available, std::uint32_t frame_length) noexcept {
  Headers headers;
  parse(headers, frame, available, frame_length);
  return headers;
}

/// Parses a frame or datagram that begins at `at` within a frame: what a tunnel carries. Offsets count from
/// the frame's first byte all the same.
/// @param ethertype of the datagram; 0: there is an Ethernet header
void parse_inner(Headers& headers, const std::byte* frame, std::uint32_t available,
                 std::uint32_t frame_length, std::uint32_t at, std::uint16_t ethertype) noexcept;

/// Bytes that suffice for everything parse() understands in all but contrived extension chains.
inline constexpr std::uint32_t usual_header_room = 128;
inline constexpr std::uint32_t largest_header_room = 512;

}  // namespace chime::net
