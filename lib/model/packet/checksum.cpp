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
    const auto a = load<std::uint64_t>(data), b = load<std::uint64_t>(data + 8);
    sum += (a & 0xffffffff) + (a >> 32) + (b & 0xffffffff) + (b >> 32);
    data += 16;
  }
  if (length & 8) {
    const auto a = load<std::uint64_t>(data);
    sum += (a & 0xffffffff) + (a >> 32);
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
  const Sum addresses = kind == L3::ipv4 ? sum_bytes(l3 + 12, 8) : sum_bytes(l3 + 8, 32);
  return addresses + prm::host_to_be(std::uint32_t{length}) + prm::host_to_be(std::uint32_t{protocol});
}

ChecksumStatus check(const std::byte* front, const Headers& headers, std::span<const model::Segment> segments,
                     std::uint32_t frame_length) noexcept {
  ChecksumStatus status;
  const Sum all = sum_frame(segments, headers.l3_offset, frame_length);
  status.complete = fold(all);
  if (headers.l3 == L3::none || !headers.ip_length_ok) return status;

  const std::byte* l3 = front + headers.l3_offset;
  if (headers.l3 == L3::ipv4) {
    status.l3_ok = fold(sum_bytes(l3, headers.ip_header)) == 0xffff;
  } else {
    status.l3_ok = true;
  }
  if (headers.l4 != L4::tcp && headers.l4 != L4::udp) return status;

  const std::byte* l4 = front + headers.l4_offset;
  if (headers.l4 == L4::udp && load<std::uint16_t>(l4 + udp_checksum) == 0) {
    status.l4_ok = headers.l3 == L3::ipv4;
    return status;
  }
  // The whole, less the IP header with its extensions, less the padding, is the L4 datagram. Taking away is
  // adding the complement; the lengths of IP headers are even, the padding may begin at an odd place.
  Sum sum = all;
  sum += static_cast<std::uint16_t>(~fold(sum_bytes(l3, headers.l4_offset - headers.l3_offset)));
  if (headers.ip_end < frame_length) {
    Sum padding = sum_frame(segments, headers.ip_end, frame_length);
    if ((headers.ip_end - headers.l3_offset) & 1) padding = at_odd_place(padding);
    sum += static_cast<std::uint16_t>(~fold(padding));
  }
  sum +=
      pseudo_header(l3, headers.l3, headers.ip_protocol, std::uint32_t{headers.ip_end} - headers.l4_offset);
  status.l4_ok = fold(sum) == 0xffff;
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
