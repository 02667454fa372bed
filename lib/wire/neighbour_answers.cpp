// SPDX-License-Identifier: BSD-3-Clause
#include "wire/neighbour_answers.h"

#include <algorithm>
#include <cstring>

#include "wire/frame_store.h"

namespace chime::wire {
namespace {

constexpr std::size_t ether = 14, type_at = 12;
constexpr std::size_t shortest_frame = 60;  ///< without FCS

// ARP for Ethernet and IPv4 (RFC 826).
constexpr std::array<std::uint8_t, 8> arp_request = {0, 1, 8, 0, 6, 4, 0, 1};
constexpr std::size_t arp_sender_mac = ether + 8, arp_sender_ip = ether + 14, arp_target_mac = ether + 18,
                      arp_target_ip = ether + 24, arp_end = ether + 28;

// Neighbour discovery (RFC 4861).
constexpr std::size_t ip6 = ether, ip6_source = ip6 + 8, ip6_destination = ip6 + 24, icmp = ip6 + 40,
                      target_at = icmp + 8, options_at = icmp + 24;
constexpr std::uint8_t icmp6 = 58, nd_hop_limit = 255;
constexpr std::uint8_t solicit = 135, advertise = 136;
constexpr std::uint8_t source_option = 1, target_option = 2;
constexpr std::uint8_t solicited_flag = 0x40, override_flag = 0x20;
constexpr std::array<std::uint8_t, 16> all_nodes = {0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
constexpr std::array<std::uint8_t, 6> all_nodes_mac = {0x33, 0x33, 0, 0, 0, 1};

constexpr std::size_t longest_question = 256;

std::uint16_t load16(const std::uint8_t* at) noexcept {
  return static_cast<std::uint16_t>(at[0] << 8 | at[1]);
}

/// Ones' complement sum over the ICMPv6 message and its pseudo header; 0xffff where its checksum is right.
std::uint16_t sum_of(std::span<const std::uint8_t> frame, std::size_t length) noexcept {
  std::uint32_t sum = static_cast<std::uint32_t>(length) + icmp6;
  for (std::size_t i = ip6_source; i < icmp; i += 2) sum += load16(frame.data() + i);
  for (std::size_t i = 0; i < length; i += 2) {
    const std::uint8_t low = i + 1 < length ? frame[icmp + i + 1] : std::uint8_t{0};
    sum += static_cast<std::uint32_t>(frame[icmp + i] << 8 | low);
  }
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(sum);
}

}  // namespace

Result<> NeighbourAnswers::set(std::span<const OwnAddress> addresses) noexcept {
  if (addresses.size() != addresses_.size()) {
    auto room = Array<OwnAddress>::make(addresses.size(), "addresses that a wire answers for");
    if (!room) return fail(room.error());
    addresses_ = std::move(*room);
  }
  std::ranges::copy(addresses, addresses_.begin());
  return {};
}

const OwnAddress* NeighbourAnswers::find(std::span<const std::uint8_t, 16> ip) const noexcept {
  const auto is_zero = [](std::uint8_t byte) { return byte == 0; };
  if (std::ranges::all_of(ip, is_zero)) return nullptr;
  const auto own =
      std::ranges::find_if(addresses_, [&](const OwnAddress& a) { return std::ranges::equal(a.ip, ip); });
  return own == addresses_.end() ? nullptr : &*own;
}

bool NeighbourAnswers::take(const model::Frame& frame) noexcept {
  if (frame.length < arp_end || frame.length > longest_question) return false;
  std::array<std::byte, longest_question> bytes;
  gather(frame, bytes.data());
  const std::span<const std::uint8_t> all(reinterpret_cast<const std::uint8_t*>(bytes.data()), frame.length);
  switch (load16(all.data() + type_at)) {
    case 0x0806:
      return arp(all);
    case 0x86dd:
      return solicitation(all);
    default:
      return false;
  }
}

bool NeighbourAnswers::arp(std::span<const std::uint8_t> frame) noexcept {
  if (!std::equal(arp_request.begin(), arp_request.end(), frame.begin() + ether)) return false;
  std::array<std::uint8_t, 16> ip{};
  ip[10] = ip[11] = 0xff;
  std::copy_n(frame.begin() + arp_target_ip, 4, ip.begin() + 12);
  const OwnAddress* const own = find(ip);
  if (own == nullptr) return false;
  std::uint8_t* const to = add(shortest_frame);
  if (to == nullptr) return true;
  std::memcpy(to, frame.data() + arp_sender_mac, 6);
  std::memcpy(to + 6, own->mac.data(), 6);
  std::memcpy(to + type_at, frame.data() + type_at, 2 + arp_request.size());
  to[ether + 7] = 2;  // reply
  std::memcpy(to + arp_sender_mac, own->mac.data(), 6);
  std::memcpy(to + arp_sender_ip, frame.data() + arp_target_ip, 4);
  std::memcpy(to + arp_target_mac, frame.data() + arp_sender_mac, 6 + 4);
  return true;
}

bool NeighbourAnswers::solicitation(std::span<const std::uint8_t> frame) noexcept {
  if (frame.size() < options_at || frame[ip6 + 6] != icmp6 || frame[ip6 + 7] != nd_hop_limit ||
      frame[icmp] != solicit || frame[icmp + 1] != 0) {
    return false;
  }
  const std::size_t length = load16(frame.data() + ip6 + 4);
  if (length < options_at - icmp || length > frame.size() - icmp) return false;
  const OwnAddress* const own = find(frame.subspan<target_at, 16>());
  if (own == nullptr || sum_of(frame, length) != 0xffff) return false;

  const auto source = frame.subspan(ip6_source, 16);
  const bool nobody = std::ranges::all_of(source, [](std::uint8_t byte) { return byte == 0; });
  const std::uint8_t* mac = nobody ? all_nodes_mac.data() : frame.data() + 6;
  for (std::size_t at = options_at; !nobody && at + 8 <= icmp + length && frame[at + 1] != 0;
       at += 8u * frame[at + 1]) {
    if (frame[at] == source_option) mac = frame.data() + at + 2;
  }
  std::uint8_t* const to = add(longest);
  if (to == nullptr) return true;
  std::memcpy(to, mac, 6);
  std::memcpy(to + 6, own->mac.data(), 6);
  std::memcpy(to + type_at, frame.data() + type_at, 2);
  to[ip6] = 0x60;
  to[ip6 + 5] = longest - icmp;
  to[ip6 + 6] = icmp6;
  to[ip6 + 7] = nd_hop_limit;
  std::memcpy(to + ip6_source, own->ip.data(), 16);
  std::memcpy(to + ip6_destination, nobody ? all_nodes.data() : source.data(), 16);
  to[icmp] = advertise;
  to[icmp + 4] = static_cast<std::uint8_t>(override_flag | (nobody ? 0 : solicited_flag));
  std::memcpy(to + target_at, own->ip.data(), 16);
  to[options_at] = target_option;
  to[options_at + 1] = 1;  // 8 bytes
  std::memcpy(to + options_at + 2, own->mac.data(), 6);
  const auto checksum = static_cast<std::uint16_t>(~sum_of({to, longest}, longest - icmp));
  to[icmp + 2] = static_cast<std::uint8_t>(checksum >> 8);
  to[icmp + 3] = static_cast<std::uint8_t>(checksum);
  return true;
}

std::uint8_t* NeighbourAnswers::add(std::uint32_t length) noexcept {
  if (count_ == answers_.size()) return nullptr;
  Answer& answer = answers_[count_++];
  answer.bytes = {};
  answer.length = length;
  return reinterpret_cast<std::uint8_t*>(answer.bytes.data());
}

}  // namespace chime::wire
