// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "model/packet/headers.h"
#include "model/wire.h"

/// @file
/// The Internet checksum (RFC 1071). Sums are of 16-bit words as they lie in memory, so that they can be
/// stored back as they are; they are kept wide and folded at the end.

namespace chime::net {

/// A partial sum; any number of them may be added before fold() up to 2^32 bytes in all.
using Sum = std::uint64_t;

/// Sum of `length` bytes; an odd last byte counts as the first of a word.
Sum sum_bytes(const std::byte* data, std::size_t length) noexcept;

constexpr std::uint16_t fold(Sum sum) noexcept {
  // A word and its halves swapped add up to the folded sum, carry included, in the upper half.
  const auto half = static_cast<std::uint32_t>((sum + std::rotl(sum, 32)) >> 32);
  return static_cast<std::uint16_t>((half + std::rotl(half, 16)) >> 16);
}

/// What `sum` counts for when its bytes begin at an odd place of the whole.
constexpr Sum at_odd_place(Sum sum) noexcept {
  return __builtin_bswap16(fold(sum));
}

/// Sum of bytes [from, to) of a frame's segments; the byte at `from` is the first of a word.
Sum sum_frame(std::span<const model::Segment> segments, std::uint32_t from, std::uint32_t to) noexcept;

/// Pseudo header of the IP header at `l3` for `length` bytes of L4.
Sum pseudo_header(const std::byte* l3, L3 kind, std::uint8_t protocol, std::uint32_t length) noexcept;

/// What the receive side finds out about a frame.
struct ChecksumStatus {
  std::uint16_t complete = 0;  ///< ones'-complement sum from l3_offset to the frame's end, as in memory
  std::uint16_t padding = 0;   ///< of `complete`, what lies behind the IP packet
  bool l3_ok = false;          ///< IPv4: header checksum right; IPv6: header whole
  bool l4_ok = false;          ///< TCP, UDP: checksum right, or UDP over IPv4 without one
};

/// @param front    the frame's first bytes, as parse() saw them: all headers are within
/// @param segments the whole frame
ChecksumStatus check(const std::byte* front, const Headers& headers, std::span<const model::Segment> segments,
                     std::uint32_t frame_length) noexcept;

enum InsertChecksum : unsigned { insert_l3 = 1, insert_l4 = 2 };

/// Writes checksums as a sending card does: L3 into an IPv4 header, L4 into TCP, UDP or ICMP of a datagram
/// that is no fragment. What the headers do not have is left alone.
/// @param front  the frame's first bytes, writable, up to and with all headers; they are segment 0
/// @param which  InsertChecksum bits
void insert_checksums(std::byte* front, const Headers& headers, std::span<const model::Segment> segments,
                      unsigned which) noexcept;

}  // namespace chime::net
