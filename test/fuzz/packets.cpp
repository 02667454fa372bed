// SPDX-License-Identifier: BSD-3-Clause
// Any frame, in any segments, as the receiving card sees it: headers, checksums, hash, match parameters; then
// through steering to buffers of any sizes. What must hold for every frame is checked, not only memory:
// that it does not matter how a frame is cut, that checksums which the card inserts it finds right, and that
// the buffers hold what came. The input: 6 bytes of options and sizes, then the frame.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "card.h"
#include "input.h"
#include "model/datapath/match_param.h"
#include "model/packet/checksum.h"
#include "model/packet/headers.h"
#include "model/packet/toeplitz.h"
#include "prm/cqe.h"
#include "prm/wqe.h"

namespace {

using namespace chime;
using fuzz::Input;
using fuzz::want;
namespace place = fuzz::place;

constexpr std::uint32_t longest = 2048;

/// Bytes in an allocation that is exactly as long.
std::vector<std::byte> copy_of(const std::byte* from, std::size_t length) {
  return {from, from + length};
}

bool same(const net::Headers& a, const net::Headers& b) {
  return a.l3_offset == b.l3_offset && a.l4_offset == b.l4_offset && a.payload_offset == b.payload_offset &&
         a.spi_offset == b.spi_offset && a.ip_end == b.ip_end && a.ethertype == b.ethertype &&
         std::ranges::equal(a.vlan_tci, b.vlan_tci) && std::ranges::equal(a.vlan_type, b.vlan_type) &&
         a.vlans == b.vlans && a.l3 == b.l3 && a.l4 == b.l4 && a.ip_protocol == b.ip_protocol &&
         a.ip_header == b.ip_header && a.fragment == b.fragment && a.ip_length_ok == b.ip_length_ok;
}

/// A frame cut into pieces, each an allocation of its own.
struct Cut {
  Cut(const std::vector<std::byte>& frame, unsigned first, unsigned others) {
    for (std::size_t at = 0; at < frame.size();) {
      const std::size_t wanted = std::max(1u, at == 0 ? first : others);
      const std::size_t part = std::min(wanted, frame.size() - at);
      pieces.push_back(copy_of(frame.data() + at, part));
      segments.push_back({pieces.back().data(), static_cast<std::uint32_t>(part)});
      at += part;
    }
  }
  std::vector<std::vector<std::byte>> pieces;
  std::vector<model::Segment> segments;
};

/// What is read of headers lies within what was parsed.
void read_headers(const std::byte* front, const net::Headers& headers) {
  model::MatchParam param;
  model::fill_match_param(param, front, headers);
  for (unsigned selected = 0; selected < 128; ++selected) {
    net::HashInput input;
    net::gather_hash_input(input,
                           {.fields = static_cast<std::uint8_t>(selected % 32),
                            .l3 = headers.l3,
                            .l4 = headers.l4,
                            .symmetric = selected >= 64},
                           front, headers);
    want(input.length <= net::largest_hash_input);
  }
}

void look_at(const std::vector<std::byte>& frame, const Cut& cut) {
  const auto length = static_cast<std::uint32_t>(frame.size());
  const net::Headers all = net::parse(frame.data(), length, length);
  want(all.l3_offset <= length && all.l4_offset <= length && all.payload_offset <= length &&
       all.ip_end <= length);
  const model::Segment whole{frame.data(), length};
  const net::ChecksumStatus status = net::check(frame.data(), all, {&whole, 1}, length);
  const net::ChecksumStatus cut_status = net::check(frame.data(), all, cut.segments, length);
  const auto zero = [](std::uint16_t sum) { return sum == 0 || sum == 0xffff; };  // both are
  want(status.complete == cut_status.complete || (zero(status.complete) && zero(cut_status.complete)));
  want(status.l3_ok == cut_status.l3_ok && status.l4_ok == cut_status.l4_ok);
  for (const std::uint32_t room :
       {14u, 18u, 34u, 38u, 42u, 54u, 58u, 62u, 128u, 512u, cut.segments[0].length}) {
    if (room < net::ethernet_header || room > length) continue;
    const std::vector<std::byte> front = copy_of(frame.data(), room);
    const net::Headers headers = net::parse(front.data(), room, length);
    want(headers.wants_more || same(headers, all));
    read_headers(front.data(), headers);
    net::check(front.data(), headers, cut.segments, length);
  }
}

/// Checksums that are inserted are right.
void insert(std::vector<std::byte> frame) {
  const auto length = static_cast<std::uint32_t>(frame.size());
  const net::Headers headers = net::parse(frame.data(), length, length);
  const model::Segment whole{frame.data(), length};
  net::insert_checksums(frame.data(), headers, {&whole, 1}, net::insert_l3 | net::insert_l4);
  const net::Headers after = net::parse(frame.data(), length, length);
  want(same(headers, after));
  const net::ChecksumStatus status = net::check(frame.data(), after, {&whole, 1}, length);
  if (after.l3 != net::L3::none && after.ip_length_ok) want(status.l3_ok);
  if (after.l4 == net::L4::tcp || after.l4 == net::L4::udp) want(status.l4_ok);
}

/// Through the card, twice in a burst.
void receive(const std::vector<std::byte>& frame, const Cut& cut, const fuzz::CardOptions& options,
             std::uint32_t buffer) {
  fuzz::Card card(options);
  const std::size_t stride = std::size_t{1} << options.log_rq_stride;
  const auto segments = static_cast<std::uint32_t>(stride / prm::wqe_unit);
  const std::uint32_t room = segments * buffer;
  const auto place_of = [&](unsigned request, std::uint32_t byte) {
    return place::data + std::uint64_t{request} * room + byte;
  };
  constexpr unsigned requests = 2;
  if (place_of(requests, 0) > fuzz::Memory::size) return;
  for (unsigned request = 0; request < requests; ++request) {
    for (std::uint32_t i = 0; i < segments; ++i) {
      const std::uint64_t at = place::rq + request * stride + i * prm::wqe_unit;
      card.write32(at, buffer);
      card.write32(at + 4, card.key);
      card.write32(at + 8, 0);
      card.write32(at + 12, static_cast<std::uint32_t>(place_of(request, i * buffer)));
    }
  }
  card.write32(place::rq_record, requests);
  const auto length = static_cast<std::uint32_t>(frame.size());
  const model::Frame one{cut.segments.data(), static_cast<std::uint32_t>(cut.segments.size()), length};
  const std::array<model::Frame, requests> burst{one, one};
  card.around.wire.deliver(burst);

  const net::Headers headers = net::parse(frame.data(), length, length);
  const bool strip = options.vlan_strip && headers.vlans != 0 && headers.vlan_type[0] == net::ethertype_cvlan;
  const std::uint32_t left = strip ? length - net::vlan_tag_size : length;
  constexpr std::uint32_t mtu = 1518;
  const bool arrives = length >= net::ethernet_header && length <= mtu && left <= room;
  for (unsigned request = 0; request < requests; ++request) {
    prm::Cqe cqe;
    for (std::size_t i = 0; i < sizeof cqe; ++i) {
      reinterpret_cast<std::byte*>(&cqe)[i] = card.around.memory.at(place::cq + request * sizeof cqe + i);
    }
    const bool there = prm::cqe_opcode_of(cqe.op_own) == prm::cqe_opcode::responder_send && cqe.byte_cnt != 0;
    want(there == arrives);
    if (!there) continue;
    want(cqe.byte_cnt == left);
    for (std::uint32_t i = 0; i < left; ++i) {
      constexpr std::uint32_t addresses = 12;
      const std::byte sent = frame[strip && i >= addresses ? i + net::vlan_tag_size : i];
      want(card.around.memory.at(place_of(request, i)) == sent);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  fuzz::CardOptions options;
  const unsigned flags = input.u8();
  options.memory_in_one_piece = (flags & 1) != 0;
  options.vlan_strip = (flags & 2) != 0;
  options.entries = (flags & 4) != 0;
  options.ipv6 = (flags & 8) != 0;
  options.udp = (flags & 16) != 0;
  options.hash_fields = static_cast<std::uint8_t>(input.u8() % 16);
  options.log_rq_stride = static_cast<std::uint8_t>(4 + flags / 32 % 6);
  const std::uint32_t buffer = 1 + 8 * input.u8();
  const unsigned first = input.u8(), others = input.u8(), repeated = input.u8();

  // The frame, and to make it long its last bytes again and again.
  const auto given = input.take(longest);
  std::vector<std::byte> frame(given.size());
  if (!given.empty()) std::memcpy(frame.data(), given.data(), given.size());
  if (frame.empty()) return 0;
  frame.resize(std::min<std::size_t>(longest, frame.size() + 8 * repeated), std::byte{frame.back()});
  frame.shrink_to_fit();

  const Cut cut(frame, first, others);
  if (frame.size() >= net::ethernet_header) {
    look_at(frame, cut);
    insert(frame);
  }
  receive(frame, cut, options, buffer);
  return 0;
}
