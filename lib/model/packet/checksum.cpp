// SPDX-License-Identifier: BSD-3-Clause
#include "model/packet/checksum.h"

#include "model/packet/bytes.h"

namespace chime::net {
namespace {

using Words4 [[gnu::vector_size(16)]] = std::uint32_t;
using Words2 [[gnu::vector_size(16)]] = std::uint64_t;

constexpr std::uint32_t tcp_checksum = 16, udp_checksum = 6, icmp_checksum = 2;
constexpr std::uint8_t proto_icmp = 1;

/// Offset of the L4 header's checksum field, or -1.
int checksum_field(const Headers& headers) noexcept {
  switch (headers.l4) {
    case L4::tcp:
      return tcp_checksum;
    case L4::udp:
      return udp_checksum;
    case L4::icmp:
      return icmp_checksum;
    case L4::none:
      break;
  }
  return -1;
}

constexpr Sum halves(std::uint64_t word) noexcept {
  return (word & 0xffffffff) + (word >> 32);
}

/// An IPv4 header without options.
Sum sum_20_bytes(const std::byte* data) noexcept {
  return halves(load<std::uint64_t>(data)) + halves(load<std::uint64_t>(data + 8)) +
         load<std::uint32_t>(data + 16);
}

}  // namespace

Sum sum_bytes(const std::byte* data, std::size_t length) noexcept {
  Sum sum = 0;
  if (length >= 32) {
    Words2 even{}, odd{};
    const Words2 low = {0xffffffff, 0xffffffff};
    do {
      const auto a = load<Words2>(data), b = load<Words2>(data + 16);
      even += (a & low) + (b & low);
      odd += (a >> 32) + (b >> 32);
      data += 32;
      length -= 32;
    } while (length >= 32);
    even += odd;
    sum = even[0] + even[1];
  }
  if (length & 16) {
    sum += halves(load<std::uint64_t>(data)) + halves(load<std::uint64_t>(data + 8));
    data += 16;
  }
  if (length & 8) {
    sum += halves(load<std::uint64_t>(data));
    data += 8;
  }
  if (length & 4) {
    sum += load<std::uint32_t>(data);
    data += 4;
  }
  if (length & 2) {
    sum += load<std::uint16_t>(data);
    data += 2;
  }
  if (length & 1) {
    std::uint16_t last = 0;
    std::memcpy(&last, data, 1);
    sum += last;
  }
  return sum;
}

Sum sum_frame(std::span<const model::Segment> segments, std::uint32_t from, std::uint32_t to) noexcept {
  Sum sum = 0;
  std::uint32_t begin = 0;  // of this segment in the frame
  bool odd = false;         // the next byte is the second of a word
  for (const model::Segment& segment : segments) {
    if (begin >= to) break;
    const std::uint32_t end = begin + segment.length;
    if (end > from) {
      const std::uint32_t first = from > begin ? from - begin : 0;
      const std::uint32_t last = to < end ? to - begin : segment.length;
      const Sum part = sum_bytes(segment.data + first, last - first);
      sum += odd ? at_odd_place(part) : part;
      odd ^= ((last - first) & 1) != 0;
    }
    begin = end;
  }
  return sum;
}

Sum pseudo_header(const std::byte* l3, L3 kind, std::uint8_t protocol, std::uint32_t length) noexcept {
  const Sum addresses = kind == L3::ipv4 ? Sum{load<std::uint32_t>(l3 + 12)} + load<std::uint32_t>(l3 + 16)
                                         : sum_bytes(l3 + 8, 32);
  return addresses + prm::host_to_be(std::uint32_t{length}) + prm::host_to_be(std::uint32_t{protocol});
}

ChecksumStatus check(const std::byte* front, const Headers& headers, std::span<const model::Segment> segments,
                     std::uint32_t frame_length) noexcept {
  const auto sum = [&](std::uint32_t from, std::uint32_t to) {
    return segments.size() == 1 ? sum_bytes(segments[0].data + from, to - from)
                                : sum_frame(segments, from, to);
  };
  ChecksumStatus status;
  if (headers.l3 == L3::none || !headers.ip_length_ok) {
    status.complete = fold(sum(headers.l3_offset, frame_length));
    return status;
  }
  // In parts: the IP header, its extensions, the datagram, padding. All but the last are of even length, or
  // the last.
  const std::byte* l3 = front + headers.l3_offset;
  const std::uint32_t behind_ip = std::uint32_t{headers.l3_offset} + headers.ip_header;
  const Sum ip = headers.ip_header == 20 ? sum_20_bytes(l3) : sum_bytes(l3, headers.ip_header);
  status.l3_ok = headers.l3 == L3::ipv6 || fold(ip) == 0xffff;
  if (headers.ip_end < frame_length) {
    const Sum padding = sum(headers.ip_end, frame_length);
    status.padding = fold((headers.ip_end - headers.l3_offset) & 1 ? at_odd_place(padding) : padding);
  }
  if (headers.l4 != L4::tcp && headers.l4 != L4::udp) {
    status.complete = fold(ip + sum(behind_ip, frame_length));
    return status;
  }
  const Sum datagram = sum(headers.l4_offset, headers.ip_end);
  Sum others = ip + status.padding;
  if (headers.l4_offset != behind_ip)
    others += sum_bytes(l3 + headers.ip_header, headers.l4_offset - behind_ip);
  status.complete = fold(datagram + others);

  if (headers.l4 == L4::udp && load<std::uint16_t>(front + headers.l4_offset + udp_checksum) == 0) {
    status.l4_ok = headers.l3 == L3::ipv4;
    return status;
  }
  const std::uint32_t length = std::uint32_t{headers.ip_end} - headers.l4_offset;
  status.l4_ok = fold(datagram + pseudo_header(l3, headers.l3, headers.ip_protocol, length)) == 0xffff;
  return status;
}

void insert_checksums(std::byte* front, const Headers& headers, std::span<const model::Segment> segments,
                      unsigned which) noexcept {
  std::byte* l3 = front + headers.l3_offset;
  if ((which & insert_l3) != 0 && headers.l3 == L3::ipv4) {
    store<std::uint16_t>(l3 + 10, 0);
    store(l3 + 10, static_cast<std::uint16_t>(~fold(sum_bytes(l3, headers.ip_header))));
  }
  const int field = checksum_field(headers);
  if ((which & insert_l4) == 0 || field < 0) return;

  std::byte* checksum = front + headers.l4_offset + field;
  store<std::uint16_t>(checksum, 0);
  Sum sum = sum_frame(segments, headers.l4_offset, headers.ip_end);
  if (headers.ip_protocol != proto_icmp) {  // ICMP has no pseudo header, ICMPv6 has
    sum +=
        pseudo_header(l3, headers.l3, headers.ip_protocol, std::uint32_t{headers.ip_end} - headers.l4_offset);
  }
  const auto value = static_cast<std::uint16_t>(~fold(sum));
  // A UDP checksum of 0 would say that there is none.
  store(checksum, value == 0 && headers.l4 == L4::udp ? std::uint16_t{0xffff} : value);
}

}  // namespace chime::net
