// SPDX-License-Identifier: BSD-3-Clause
#include "model/datapath/send_request.h"

#include "model/datapath/checksum_flags.h"
#include "model/datapath/gather.h"
#include "model/packet/bytes.h"
#include "model/packet/checksum.h"
#include "prm/wqe.h"

namespace chime::model {
namespace {

constexpr std::uint32_t segments_at = sizeof(prm::WqeCtrl);
constexpr std::uint32_t inline_header_at = segments_at + offsetof(prm::WqeEth, inline_start);
constexpr std::uint32_t first_data_at = segments_at + sizeof(prm::WqeEth);

constexpr std::uint32_t longest_frame = 0xffff;        ///< of any port there is
constexpr std::uint32_t longest_large_send = 1 << 18;  ///< payload; max_lso_cap of the profiles

constexpr std::uint32_t insert_vlan = prm::eth_insert_vlan >> 16;
constexpr std::uint32_t insert_svlan = prm::eth_insert_svlan >> 16;

constexpr std::uint32_t align_unit(std::uint32_t bytes) noexcept {
  return (bytes + prm::wqe_unit - 1) & ~static_cast<std::uint32_t>(prm::wqe_unit - 1);
}

/// min_wqe_inline_mode
enum InlineMode : std::uint8_t { inline_none = 0, inline_l2 = 1, inline_ip = 2, inline_l4 = 3 };

}  // namespace

SendOutcome SendRequest::execute(Sq& sq, const std::byte* wqe, std::uint32_t ds) noexcept {
  const auto* eth = reinterpret_cast<const prm::WqeEth*>(wqe + segments_at);
  const std::uint32_t end = ds * static_cast<std::uint32_t>(prm::wqe_unit);
  const std::uint32_t inline_word = eth->inline_hdr_sz;
  if (eth->swp_flags != 0) [[unlikely]]
    return {Fault::wqe_software_parser, eth->swp_flags};

  // One slot is kept free in front, for a header that is changed.
  Segment* const slot = &batch_.segments[batch_.segment_count];
  const unsigned first = ++batch_.segment_count;
  std::uint32_t length = 0, at = first_data_at, inline_size = 0, tag = 0;
  if ((inline_word & insert_vlan) != 0) {
    if ((inline_word & ~(insert_vlan | insert_svlan)) != 0) return {Fault::wqe_vlan_insertion, inline_word};
    const std::uint32_t type = inline_word & insert_svlan ? net::ethertype_svlan : net::ethertype_cvlan;
    tag = type << 16 | net::load_be<std::uint16_t>(wqe + inline_header_at);
  } else if (inline_word != 0) {
    inline_size = inline_word & prm::eth_inline_size_mask;
    if (inline_header_at + inline_size > end) return {Fault::wqe_inline_header, inline_size};
    if (inline_size != 0) {
      batch_.segments[batch_.segment_count++] = {wqe + inline_header_at, inline_size};
      length = inline_size;
      at = std::max(first_data_at, align_unit(inline_header_at + inline_size));
    }
  }
  if (const SendOutcome outcome = gather_segments(sq, wqe, at, end, length, longest_frame);
      outcome.fault != Fault::none) [[unlikely]] {
    return outcome;
  }
  return add_frame(sq, slot, first, length, inline_size, eth->cs_flags, tag);
}

SendOutcome SendRequest::next_packet(Sq& sq, const std::byte* wqe, PacketPlace& place,
                                     std::uint32_t end) noexcept {
  const auto* eth = reinterpret_cast<const prm::WqeEth*>(wqe + segments_at);
  std::uint32_t& at = place.at;
  if (at == 0) {
    if (eth->swp_flags != 0) return {Fault::wqe_software_parser, eth->swp_flags};
    at = first_data_at;
  }
  std::uint32_t tag = 0;
  if (const std::uint32_t inline_word = eth->inline_hdr_sz; inline_word != 0) {
    if ((inline_word & insert_vlan) == 0) return {Fault::wqe_inline_header, inline_word};
    if ((inline_word & ~(insert_vlan | insert_svlan)) != 0) return {Fault::wqe_vlan_insertion, inline_word};
    const std::uint32_t type = inline_word & insert_svlan ? net::ethertype_svlan : net::ethertype_cvlan;
    tag = type << 16 | net::load_be<std::uint16_t>(wqe + inline_header_at);
  }
  const std::uint32_t count = reinterpret_cast<const prm::WqeData*>(wqe + at)->byte_count;
  const std::uint32_t size = (count & prm::data_seg_inline) == 0
                                 ? static_cast<std::uint32_t>(sizeof(prm::WqeData))
                                 : align_unit(static_cast<std::uint32_t>(sizeof(prm::Be32)) +
                                              std::min(count & ~prm::data_seg_inline, longest_frame));
  if (size > end - at) return {Fault::wqe_inline_data, size};
  Segment* const slot = &batch_.segments[batch_.segment_count];
  const unsigned first = ++batch_.segment_count;
  std::uint32_t length = 0;
  if (const SendOutcome outcome = gather_segments(sq, wqe, at, at + size, length, longest_frame);
      outcome.fault != Fault::none) {
    return outcome;
  }
  at += size;
  return add_frame(sq, slot, first, length, 0, eth->cs_flags, tag);
}

SendOutcome SendRequest::next_equal_packet(Sq& sq, const std::byte* wqe, PacketPlace& place,
                                           std::uint32_t end) noexcept {
  const auto* eth = reinterpret_cast<const prm::WqeEth*>(wqe + segments_at);
  if (place.at == 0) {
    if (eth->swp_flags != 0) return {Fault::wqe_software_parser, eth->swp_flags};
    place.at = first_data_at;
  }
  if (const std::uint32_t inline_word = eth->inline_hdr_sz; inline_word != 0) {
    return {Fault::wqe_inline_header, inline_word};
  }
  const std::uint32_t each = eth->mss;
  const std::uint32_t count = reinterpret_cast<const prm::WqeData*>(wqe + place.at)->byte_count;
  Segment* const slot = &batch_.segments[batch_.segment_count];
  const unsigned first = ++batch_.segment_count;
  std::uint32_t length = 0;
  if ((count & prm::data_seg_inline) == 0) {
    if (count != each) return {Fault::wqe_unequal_packets, count};
    const std::uint32_t at = place.at;
    place.at += static_cast<std::uint32_t>(sizeof(prm::WqeData));
    if (const SendOutcome outcome = gather_segments(sq, wqe, at, place.at, length, longest_frame);
        outcome.fault != Fault::none) {
      return outcome;
    }
  } else {
    constexpr std::uint32_t header = sizeof(prm::Be32);
    const std::uint32_t size = count & ~prm::data_seg_inline;
    if (size > end - place.at - header) return {Fault::wqe_inline_data, size};
    if (each == 0 || each > size - place.within) return {Fault::wqe_unequal_packets, size};
    batch_.segments[batch_.segment_count++] = {wqe + place.at + header + place.within, each};
    length = each;
    place.within += each;
    if (place.within == size) place = {.at = place.at + align_unit(header + size), .within = 0};
  }
  return add_frame(sq, slot, first, length, 0, eth->cs_flags, 0);
}

/// Ends a frame whose segments begin at `first`.
SendOutcome SendRequest::add_frame(Sq& sq, Segment* slot, unsigned first, std::uint32_t length,
                                   std::uint32_t inline_size, std::uint32_t cs_flags,
                                   std::uint32_t tag) noexcept {
  if (length < net::ethernet_header) [[unlikely]]
    return {Fault::wqe_too_short, length};
  Frame frame{&batch_.segments[first], batch_.segment_count - first, length};
  if (!enough_inline(sq, frame, inline_size)) [[unlikely]]
    return {Fault::wqe_inline_mode, inline_size};
  if (length < smallest_frame && tag == 0) {
    batch_.segments[batch_.segment_count++] = {padding, smallest_frame - length};
    ++frame.segment_count;
    frame.length = smallest_frame;
  }
  if ((cs_flags | tag) != 0) rewrite(frame, slot, cs_flags, tag);
  batch_.frames[batch_.frame_count++] = frame;
  return {};
}

SendOutcome SendRequest::begin_large(Sq& sq, const std::byte* wqe, std::uint32_t ds,
                                     LargeSend& large) noexcept {
  const auto* eth = reinterpret_cast<const prm::WqeEth*>(wqe + segments_at);
  const std::uint32_t end = ds * static_cast<std::uint32_t>(prm::wqe_unit);
  if (eth->swp_flags != 0) return {Fault::wqe_software_parser, eth->swp_flags};
  const std::uint32_t inline_word = eth->inline_hdr_sz;
  if ((inline_word & insert_vlan) != 0) return {Fault::wqe_vlan_insertion, inline_word};
  const std::uint32_t header = inline_word & prm::eth_inline_size_mask;
  if (inline_header_at + header > end) return {Fault::wqe_inline_header, header};
  const std::uint32_t at = std::max(first_data_at, align_unit(inline_header_at + header));
  std::uint32_t length = 0;
  if (const SendOutcome outcome = gather_segments(sq, wqe, at, end, length, longest_large_send);
      outcome.fault != Fault::none) {
    return outcome;
  }
  const std::span<const Segment> payload(batch_.segments.data(), batch_.segment_count);
  batch_.segment_count = 0;
  if (length == 0 ||
      !large.begin({wqe + inline_header_at, header}, eth->mss, eth->cs_flags, payload, vxlan_)) {
    return {Fault::wqe_large_send, eth->mss};
  }
  return {};
}

SendOutcome SendRequest::gather_segments(Sq& sq, const std::byte* wqe, std::uint32_t at, std::uint32_t end,
                                         std::uint32_t& frame_length, std::uint32_t longest) noexcept {
  Segment* to = &batch_.segments[batch_.segment_count];
  std::uint32_t length = frame_length;
  while (at < end) {
    const auto* data = reinterpret_cast<const prm::WqeData*>(wqe + at);
    const std::uint32_t count = data->byte_count;
    if ((count & prm::data_seg_inline) != 0) {
      const std::uint32_t size = count & ~prm::data_seg_inline;
      constexpr std::uint32_t header = sizeof data->byte_count;
      if (size > end - at - header) return {Fault::wqe_inline_data, size};
      if (size > longest - length) return {Fault::wqe_too_long, size};
      if (size != 0) *to++ = {wqe + at + header, size};
      length += size;
      at += align_unit(header + size);
      continue;
    }
    at += sizeof(prm::WqeData);
    if (count == 0) return {Fault::wqe_empty_segment, 0};
    if (count > longest - length) return {Fault::wqe_too_long, count};
    length += count;
    if (std::byte* here = keys_.quick(data->lkey, sq.pd.get(), data->address, count, local_read)) [[likely]] {
      *to++ = {here, count};
      __builtin_prefetch(here);
      continue;
    }
    if (const SendOutcome outcome = pieces(sq, *data, count, to); outcome.fault != Fault::none)
      return outcome;
  }
  batch_.segment_count = static_cast<unsigned>(to - batch_.segments.data());
  frame_length = length;
  return {};
}

SendOutcome SendRequest::pieces(Sq& sq, const prm::WqeData& data, std::uint32_t left, Segment*& to) noexcept {
  // The last slot is kept for padding.
  const Segment* const last = &batch_.segments[SendBatch::max_segments - 1];
  const std::uint32_t key = data.lkey;
  std::uint64_t address = data.address;
  while (left != 0) {
    Fault fault = Fault::none;
    const Chunk chunk =
        keys_.reach(key, sq.pd.get(), sq.number, sq.reserved_lkey, address, left, local_read, fault);
    if (!chunk.data) return {fault, key};
    if (to == last) return {Fault::wqe_too_long, left};
    const auto part = static_cast<std::uint32_t>(chunk.length);
    *to++ = {chunk.data, part};
    address += part;
    left -= part;
  }
  return {};
}

bool SendRequest::enough_inline(const Sq& sq, const Frame& frame, std::uint32_t inline_size) const noexcept {
  if (sq.min_inline_mode == inline_none || inline_size >= frame.length) return true;
  if (inline_size < net::ethernet_header) return false;
  if (sq.min_inline_mode == inline_l2) return true;
  std::byte front[net::usual_header_room];
  const std::uint32_t here = std::min(frame.length, net::usual_header_room);
  gather(front, {frame.segments, frame.segment_count}, here);
  const net::Headers headers = net::parse(front, here, frame.length);
  if (headers.l3 == net::L3::none) return inline_size >= headers.l3_offset;
  if (sq.min_inline_mode == inline_ip || headers.l4 == net::L4::none) {
    return inline_size >= std::uint32_t{headers.l3_offset} + headers.ip_header;
  }
  return inline_size >= headers.payload_offset;
}

void SendRequest::rewrite(Frame& frame, Segment* slot, std::uint32_t cs_flags, std::uint32_t tag) noexcept {
  std::byte* const front = batch_.headers[batch_.frame_count].data();
  const std::span<const Segment> original{frame.segments, frame.segment_count};
  const std::uint32_t added = tag == 0 ? 0 : net::vlan_tag_size;
  std::uint32_t length = frame.length + added;
  if (length < smallest_frame) {
    batch_.segments[batch_.segment_count++] = {padding, smallest_frame - length};
    ++frame.segment_count;
    frame.length = smallest_frame - added;
    length = smallest_frame;
  }

  std::uint32_t taken = 0;  // of the original frame
  net::Headers headers, inner;
  const bool asks_inner = (cs_flags & (prm::eth_l3_inner_csum | prm::eth_l4_inner_csum)) != 0;
  bool tunnelled = false;
  for (const std::uint32_t room : {net::usual_header_room, net::largest_header_room}) {
    taken = std::min(frame.length, room);
    constexpr std::uint32_t addresses = 12;
    if (tag == 0) {
      gather(front, {frame.segments, frame.segment_count}, taken);
    } else {
      gather(front + added, {frame.segments, frame.segment_count}, taken);
      std::memmove(front, front + added, addresses);
      net::store_be(front + addresses, tag);
    }
    headers = net::parse(front, taken + added, length);
    tunnelled = asks_inner && net::parse_tunnelled(inner, front, taken + added, headers, vxlan_);
    if (!headers.wants_more && !inner.wants_more) break;
  }

  // The front replaces what was taken.
  Segment* rest = slot + 1;
  std::uint32_t skip = taken, left = frame.segment_count;
  while (left != 0 && skip >= rest->length) {
    skip -= rest->length;
    ++rest;
    --left;
  }
  if (skip != 0) {
    rest->data += skip;
    rest->length -= skip;
  }
  Segment* const begin = left == 0 ? slot : rest - 1;
  *begin = {front, taken + added};
  frame = {begin, left + 1, length};

  const ChecksumFlags which = checksum_flags(cs_flags, tunnelled);
  const std::span<const Segment> whole{frame.segments, frame.segment_count};
  // The outer ones cover the inner.
  if (which.inner != 0) net::insert_checksums(front, tunnelled ? inner : headers, whole, which.inner);
  if (which.outer != 0) net::insert_checksums(front, headers, whole, which.outer);
}

}  // namespace chime::model
