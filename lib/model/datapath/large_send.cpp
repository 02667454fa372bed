// SPDX-License-Identifier: BSD-3-Clause
#include "model/datapath/large_send.h"

#include <algorithm>
#include <cstring>

#include "model/packet/bytes.h"
#include "model/packet/checksum.h"
#include "prm/wqe.h"

namespace chime::model {
namespace {

constexpr std::uint32_t ipv4_length = 2, ipv4_identification = 4, ipv6_length = 4, ipv6_header = 40;
constexpr std::uint32_t tcp_sequence = 4, tcp_flags = 13, udp_length = 4;
constexpr std::uint8_t fin_and_psh = 0x09, cwr = 0x80;

}  // namespace

bool LargeSend::begin(std::span<const std::byte> header, std::uint32_t mss, std::uint32_t cs_flags,
                      std::span<const Segment> payload) noexcept {
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
  checksums_ = 0;
  if ((cs_flags & (prm::eth_l3_csum | prm::eth_l3_inner_csum)) != 0) checksums_ |= net::insert_l3;
  if ((cs_flags & (prm::eth_l4_csum | prm::eth_l4_inner_csum)) != 0) checksums_ |= net::insert_l4;

  // The lengths in the request's headers are the whole's, or 0: with those of one frame they can be parsed.
  const std::uint32_t first = std::min(mss, left_);
  headers_ = net::parse(header_.data(), header_size_, header_size_ + first);
  if (headers_.l3 == net::L3::none) return false;
  write_lengths(header_.data(), first);
  headers_ = net::parse(header_.data(), header_size_, header_size_ + first);
  return (headers_.l4 == net::L4::tcp || headers_.l4 == net::L4::udp) &&
         headers_.payload_offset == header_size_;
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
  if (checksums_ != 0) {
    net::Headers headers = headers_;
    headers.ip_end = static_cast<std::uint16_t>(frame.length);
    net::insert_checksums(front, headers, {frame.segments, frame.segment_count}, checksums_);
  }
  if (frame.length < smallest_frame) {
    batch.segments[batch.segment_count++] = {padding, smallest_frame - frame.length};
    ++frame.segment_count;
    frame.length = smallest_frame;
  }
  batch.frames[batch.frame_count++] = frame;
  ++sent_;
  return true;
}

void LargeSend::write_lengths(std::byte* front, std::uint32_t payload) const noexcept {
  const auto ip = static_cast<std::uint16_t>(header_size_ - headers_.l3_offset + payload);
  std::byte* const l3 = front + headers_.l3_offset;
  if (headers_.l3 == net::L3::ipv4) {
    net::store_be(l3 + ipv4_length, ip);
  } else {
    net::store_be(l3 + ipv6_length, static_cast<std::uint16_t>(ip - ipv6_header));
  }
  if (headers_.l4 == net::L4::udp) {
    net::store_be(front + headers_.l4_offset + udp_length,
                  static_cast<std::uint16_t>(header_size_ - headers_.l4_offset + payload));
  }
}

void LargeSend::write_header(std::byte* front, std::uint32_t payload) noexcept {
  std::memcpy(front, header_.data(), header_size_);
  write_lengths(front, payload);
  if (headers_.l3 == net::L3::ipv4) {
    std::byte* const at = front + headers_.l3_offset + ipv4_identification;
    net::store_be(at, static_cast<std::uint16_t>(net::load_be<std::uint16_t>(at) + sent_));
  }
  if (headers_.l4 != net::L4::tcp) return;
  std::byte* const tcp = front + headers_.l4_offset;
  net::store_be(tcp + tcp_sequence, net::load_be<std::uint32_t>(tcp + tcp_sequence) + sent_ * mss_);
  std::uint8_t flags = net::byte_at(tcp + tcp_flags);
  if (sent_ != 0) flags = static_cast<std::uint8_t>(flags & ~cwr);
  if (left_ != 0) flags = static_cast<std::uint8_t>(flags & ~fin_and_psh);
  tcp[tcp_flags] = static_cast<std::byte>(flags);
}

}  // namespace chime::model
