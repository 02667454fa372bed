// SPDX-License-Identifier: BSD-3-Clause
#include "model/datapath/large_send.h"

#include <algorithm>
#include <cstring>

#include "model/datapath/checksum_flags.h"
#include "model/packet/bytes.h"
#include "model/packet/checksum.h"

namespace chime::model {
namespace {

constexpr std::uint32_t ipv4_length = 2, ipv4_identification = 4, ipv6_length = 4, ipv6_header = 40;
constexpr std::uint32_t tcp_sequence = 4, tcp_flags = 13, tcp_checksum = 16, udp_length = 4;
constexpr std::uint8_t tcp_protocol = 6;
constexpr std::uint8_t fin_and_psh = 0x09, cwr = 0x80;

}  // namespace

bool LargeSend::begin(std::span<const std::byte> header, std::uint32_t mss, std::uint32_t cs_flags,
                      std::span<const Segment> payload, const net::VxlanPorts& vxlan) noexcept {
  if (header.size() > header_.size() || payload.size() > payload_.size() || mss == 0) return false;
  header_size_ = static_cast<std::uint32_t>(header.size());
  std::copy(header.begin(), header.end(), header_.begin());
  std::copy(payload.begin(), payload.end(), payload_.begin());
  segments_ = static_cast<unsigned>(payload.size());
  segment_ = 0;
  in_segment_ = 0;
  sent_ = 0;
  mss_ = mss;
  left_ = 0;
  for (const Segment& segment : payload) left_ += segment.length;
  // The lengths in the request's headers are the whole's, or 0: with those of one frame they can be parsed.
  const std::uint32_t first = std::min(mss, left_), frame = header_size_ + first;
  outer_ = {};
  headers_ = net::parse(header_.data(), header_size_, frame);
  if (headers_.l3 == net::L3::none) return false;
  write_lengths(header_.data(), headers_, first);
  headers_ = net::parse(header_.data(), header_size_, frame);
  if (net::Headers inner; headers_.payload_offset != header_size_ &&
                          net::parse_tunnelled(inner, header_.data(), header_size_, headers_, vxlan)) {
    write_lengths(header_.data(), inner, first);
    outer_ = headers_;
    net::parse_tunnelled(headers_, header_.data(), header_size_, outer_, vxlan);
  }
  const ChecksumFlags flags = checksum_flags(cs_flags, outer_.l3 != net::L3::none);
  checksums_ = flags.inner;
  outer_checksums_ = flags.outer;
  return (headers_.l4 == net::L4::tcp || headers_.l4 == net::L4::udp) &&
         headers_.payload_offset == header_size_;
}

bool LargeSend::whole(SendBatch& batch) noexcept {
  constexpr std::uint32_t longest_datagram = 65535;
  const std::uint32_t length = header_size_ + left_;
  const unsigned both = net::insert_l4 | (headers_.l3 == net::L3::ipv4 ? net::insert_l3 : 0u);
  if (headers_.l4 != net::L4::tcp || outer_.l3 != net::L3::none || (checksums_ & both) != both ||
      length - headers_.l3_offset > longest_datagram || left_ <= mss_) {
    return false;
  }
  std::byte* const front = batch.headers[batch.frame_count].data();
  std::memcpy(front, header_.data(), header_size_);
  write_lengths(front, headers_, left_);
  Segment* const segments = &batch.segments[batch.segment_count];
  segments[0] = {front, header_size_};
  std::copy_n(payload_.begin(), segments_, segments + 1);
  batch.segment_count += 1 + segments_;
  const std::span<const Segment> all{segments, 1 + segments_};
  net::Headers headers = headers_;
  headers.ip_end = static_cast<std::uint16_t>(length);
  net::insert_checksums(front, headers, all, net::insert_l3);
  const std::uint32_t tcp_length = length - headers_.l4_offset;
  net::store(
      front + headers_.l4_offset + tcp_checksum,
      net::fold(net::pseudo_header(front + headers_.l3_offset, headers_.l3, tcp_protocol, tcp_length)));
  batch.frames[batch.frame_count++] = {.segments = segments,
                                       .segment_count = 1 + segments_,
                                       .length = length,
                                       .cut = {.payload = static_cast<std::uint16_t>(mss_),
                                               .headers = static_cast<std::uint16_t>(header_size_),
                                               .tcp = static_cast<std::uint16_t>(headers_.l4_offset),
                                               .ipv6 = headers_.l3 == net::L3::ipv6}};
  left_ = 0;
  return true;
}

bool LargeSend::next(SendBatch& batch) noexcept {
  if (left_ == 0) return false;
  const std::uint32_t bytes = std::min(mss_, left_);
  std::byte* const front = batch.headers[batch.frame_count].data();
  const unsigned first = batch.segment_count;
  batch.segments[batch.segment_count++] = {front, header_size_};
  for (std::uint32_t wanted = bytes; wanted != 0;) {
    const Segment& from = payload_[segment_];
    const std::uint32_t part = std::min(wanted, from.length - in_segment_);
    batch.segments[batch.segment_count++] = {from.data + in_segment_, part};
    wanted -= part;
    in_segment_ += part;
    if (in_segment_ == from.length) {
      ++segment_;
      in_segment_ = 0;
    }
  }
  left_ -= bytes;
  Frame frame{&batch.segments[first], batch.segment_count - first, header_size_ + bytes};
  write_header(front, bytes);
  headers_.ip_end = outer_.ip_end = static_cast<std::uint16_t>(frame.length);
  const std::span<const Segment> whole{frame.segments, frame.segment_count};
  if (checksums_ != 0) net::insert_checksums(front, headers_, whole, checksums_);
  // After the inner ones, which it covers.
  if (outer_checksums_ != 0) net::insert_checksums(front, outer_, whole, outer_checksums_);
  if (frame.length < smallest_frame) {
    batch.segments[batch.segment_count++] = {padding, smallest_frame - frame.length};
    ++frame.segment_count;
    frame.length = smallest_frame;
  }
  batch.frames[batch.frame_count++] = frame;
  ++sent_;
  return true;
}

void LargeSend::write_lengths(std::byte* front, const net::Headers& headers,
                              std::uint32_t payload) const noexcept {
  const auto ip = static_cast<std::uint16_t>(header_size_ - headers.l3_offset + payload);
  std::byte* const l3 = front + headers.l3_offset;
  if (headers.l3 == net::L3::ipv4) {
    net::store_be(l3 + ipv4_length, ip);
  } else {
    net::store_be(l3 + ipv6_length, static_cast<std::uint16_t>(ip - ipv6_header));
  }
  if (headers.l4 == net::L4::udp) {
    net::store_be(front + headers.l4_offset + udp_length,
                  static_cast<std::uint16_t>(header_size_ - headers.l4_offset + payload));
  }
}

void LargeSend::write_identification(std::byte* front, const net::Headers& headers) const noexcept {
  if (headers.l3 != net::L3::ipv4) return;
  std::byte* const at = front + headers.l3_offset + ipv4_identification;
  net::store_be(at, static_cast<std::uint16_t>(net::load_be<std::uint16_t>(at) + sent_));
}

void LargeSend::write_header(std::byte* front, std::uint32_t payload) noexcept {
  std::memcpy(front, header_.data(), header_size_);
  if (outer_.l3 != net::L3::none) {
    write_lengths(front, outer_, payload);
    write_identification(front, outer_);
  }
  write_lengths(front, headers_, payload);
  write_identification(front, headers_);
  if (headers_.l4 != net::L4::tcp) return;
  std::byte* const tcp = front + headers_.l4_offset;
  net::store_be(tcp + tcp_sequence, net::load_be<std::uint32_t>(tcp + tcp_sequence) + sent_ * mss_);
  std::uint8_t flags = net::byte_at(tcp + tcp_flags);
  if (sent_ != 0) flags = static_cast<std::uint8_t>(flags & ~cwr);
  if (left_ != 0) flags = static_cast<std::uint8_t>(flags & ~fin_and_psh);
  tcp[tcp_flags] = static_cast<std::byte>(flags);
}

}  // namespace chime::model
