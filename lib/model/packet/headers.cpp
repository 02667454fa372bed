// SPDX-License-Identifier: BSD-3-Clause
#include "model/packet/headers.h"

#include <algorithm>

#include "model/packet/bytes.h"

namespace chime::net {
namespace {

enum : std::uint8_t {
  proto_hop_by_hop = 0,
  proto_icmp = 1,
  proto_tcp = 6,
  proto_udp = 17,
  proto_routing = 43,
  proto_fragment = 44,
  proto_esp = 50,
  proto_ah = 51,
  proto_icmpv6 = 58,
  proto_destination = 60,
  proto_mobility = 135,
};

constexpr std::uint32_t ipv4_header = 20, ipv6_header = 40, tcp_header = 20, udp_header = 8;
/// Type, code, checksum; most kinds go on with four bytes, which can be matched.
constexpr std::uint32_t icmp_header = 8, icmp_least = 4;

/// What Headers can tell: a datagram that ends behind it has no length that is right.
constexpr std::uint32_t furthest = 0xffff;

struct Parser {
  const std::byte* frame;
  std::uint32_t available;
  std::uint32_t frame_length;
  Headers& out;

  /// Are the bytes [at, at + size) here? If the frame has them elsewhere, more would help.
  bool has(std::uint32_t at, std::uint32_t size) noexcept {
    if (at + size <= available) return true;
    if (at + size <= frame_length) out.wants_more = true;
    return false;
  }

  /// The datagram ends there, or, where it can't, is taken to end with the frame.
  void end_at(std::uint32_t end, bool possible) noexcept {
    out.ip_length_ok = possible && end <= frame_length && end <= furthest;
    out.ip_end = static_cast<std::uint16_t>(out.ip_length_ok ? end : std::min(frame_length, furthest));
  }

  void l2(std::uint32_t begin) noexcept {
    if (!has(begin, ethernet_header)) {
      out.l3_offset = out.payload_offset = static_cast<std::uint16_t>(available);
      return;
    }
    std::uint32_t at = begin + ethernet_header;
    std::uint16_t type = load_be<std::uint16_t>(frame + begin + 12);
    while ((type == ethertype_cvlan || type == ethertype_svlan) && out.vlans < max_vlans &&
           has(at, vlan_tag_size)) {
      out.vlan_type[out.vlans] = type;
      out.vlan_tci[out.vlans] = load_be<std::uint16_t>(frame + at);
      ++out.vlans;
      type = load_be<std::uint16_t>(frame + at + 2);
      at += vlan_tag_size;
    }
    l3(at, type);
  }

  void l3(std::uint32_t at, std::uint16_t type) noexcept {
    out.ethertype = type;
    out.l3_offset = out.payload_offset = static_cast<std::uint16_t>(at);
    if (type == ethertype_ipv4) {
      ipv4(at);
    } else if (type == ethertype_ipv6) {
      ipv6(at);
    }
  }

  void ipv4(std::uint32_t at) noexcept {
    if (!has(at, ipv4_header)) return;
    const std::uint8_t version = byte_at(frame + at);
    const std::uint32_t header = (version & 0xfu) * 4;
    if (version >> 4 != 4 || header < ipv4_header || !has(at, header)) return;
    const std::uint32_t total = load_be<std::uint16_t>(frame + at + 2);
    out.l3 = L3::ipv4;
    out.ip_header = static_cast<std::uint8_t>(header);
    out.ip_protocol = byte_at(frame + at + 9);
    out.fragment = (load_be<std::uint16_t>(frame + at + 6) & 0x3fff) != 0;
    out.payload_offset = static_cast<std::uint16_t>(at + header);
    end_at(at + total, total >= header);
    if (!out.fragment && out.ip_length_ok) l4(at + header, out.ip_protocol);
  }

  void ipv6(std::uint32_t at) noexcept {
    if (!has(at, ipv6_header) || byte_at(frame + at) >> 4 != 6) return;
    const std::uint32_t end = at + ipv6_header + load_be<std::uint16_t>(frame + at + 4);
    out.l3 = L3::ipv6;
    out.ip_header = ipv6_header;
    end_at(end, true);
    std::uint8_t next = byte_at(frame + at + 6);
    at += ipv6_header;
    out.ip_protocol = next;
    out.payload_offset = static_cast<std::uint16_t>(at);
    while (!out.fragment && extension(next, at)) {
      out.ip_protocol = next;
      out.payload_offset = static_cast<std::uint16_t>(at);
    }
    if (!out.fragment && out.ip_length_ok) l4(at, next);
  }

  /// Steps over one extension header. @return false when `next` is none, or is cut
  bool extension(std::uint8_t& next, std::uint32_t& at) noexcept {
    std::uint32_t unit = 8, base = 8;
    switch (next) {
      case proto_hop_by_hop:
      case proto_routing:
      case proto_destination:
      case proto_mobility:
        break;
      case proto_ah:
        unit = 4;
        if (has(at, 8)) out.spi_offset = static_cast<std::uint16_t>(at + 4);
        break;
      case proto_fragment:
        unit = 0;
        break;
      default:
        return false;
    }
    if (!has(at, 8)) {
      out.ip_length_ok = out.ip_length_ok && out.wants_more;
      return false;
    }
    // An atomic fragment (offset 0, no more to come) is a whole datagram.
    if (next == proto_fragment && (load_be<std::uint16_t>(frame + at + 2) & 0xfff9) != 0) out.fragment = true;
    const std::uint32_t size = base + byte_at(frame + at + 1) * unit;
    if (at + size > out.ip_end) {
      out.ip_length_ok = false;
      return false;
    }
    next = byte_at(frame + at);
    at += size;
    return true;
  }

  void l4(std::uint32_t at, std::uint8_t protocol) noexcept {
    std::uint32_t size = 0;
    L4 kind = L4::none;
    switch (protocol) {
      case proto_tcp:
        size = tcp_header, kind = L4::tcp;
        break;
      case proto_udp:
        size = udp_header, kind = L4::udp;
        break;
      case proto_icmp:
      case proto_icmpv6:
        size = at + icmp_header <= out.ip_end ? icmp_header : icmp_least;
        kind = L4::icmp;
        break;
      case proto_esp:
        if (at + 8 <= out.ip_end && has(at, 8)) out.spi_offset = static_cast<std::uint16_t>(at);
        return;
      case proto_ah:
        if (at + 12 <= out.ip_end && has(at, 12)) out.spi_offset = static_cast<std::uint16_t>(at + 4);
        return;
      default:
        return;
    }
    if (at + size > out.ip_end || !has(at, size)) return;
    if (kind == L4::tcp) {
      size = (byte_at(frame + at + 12) >> 4) * 4u;
      if (size < tcp_header || at + size > out.ip_end) return;
    }
    out.l4 = kind;
    out.l4_offset = static_cast<std::uint16_t>(at);
    out.payload_offset = static_cast<std::uint16_t>(at + size);
  }
};

/// UDP or TCP over IPv4 and nothing else: what most frames are. @return false when it is something else
bool parse_plain(Headers& out, const std::byte* frame, std::uint32_t available,
                 std::uint32_t frame_length) noexcept {
  constexpr std::uint32_t l3 = ethernet_header, l4 = l3 + ipv4_header;
  if (available < l4 + tcp_header) return false;
  if (load<std::uint16_t>(frame + 12) != prm::host_to_be(ethertype_ipv4)) return false;
  if (byte_at(frame + l3) != 0x45) return false;
  if ((load<std::uint16_t>(frame + l3 + 6) & prm::host_to_be(std::uint16_t{0x3fff})) != 0) return false;
  const std::uint32_t end = l3 + load_be<std::uint16_t>(frame + l3 + 2);
  const std::uint8_t protocol = byte_at(frame + l3 + 9);
  std::uint32_t size = udp_header;
  if (protocol == proto_tcp) {
    size = (byte_at(frame + l4 + 12) >> 4) * 4u;
    if (size < tcp_header) return false;
  } else if (protocol != proto_udp) {
    return false;
  }
  if (end > frame_length || end > furthest || l4 + size > end) return false;
  out = {};
  out.l3_offset = l3;
  out.l4_offset = l4;
  out.payload_offset = static_cast<std::uint16_t>(l4 + size);
  out.ip_end = static_cast<std::uint16_t>(end);
  out.ethertype = ethertype_ipv4;
  out.l3 = L3::ipv4;
  out.l4 = protocol == proto_udp ? L4::udp : L4::tcp;
  out.ip_protocol = protocol;
  out.ip_header = ipv4_header;
  out.ip_length_ok = true;
  return true;
}

}  // namespace

void parse(Headers& headers, const std::byte* frame, std::uint32_t available,
           std::uint32_t frame_length) noexcept {
  if (parse_plain(headers, frame, available, frame_length)) return;
  headers = {};
  Parser parser{frame, available, frame_length, headers};
  parser.l2(0);
}

void parse_inner(Headers& headers, const std::byte* frame, std::uint32_t available,
                 std::uint32_t frame_length, std::uint32_t at, std::uint16_t ethertype) noexcept {
  headers = {};
  Parser parser{frame, available, frame_length, headers};
  if (ethertype == 0) {
    parser.l2(at);
  } else {
    parser.l3(at, ethertype);
  }
}

}  // namespace chime::net
