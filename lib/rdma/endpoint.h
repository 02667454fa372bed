// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/error.h"
#include "rdma/memory.h"

/// @file
/// What one end of a connection must know of the other: as a struct, and as one line of text for any means of
/// exchange.
///
///     chime-qp-1,qpn=800100,psn=3f2a10,gid=00000000000000000000ffffc0a80001,mac=020000000001,mtu=4096,depth=16,check=1c291ca3
///     chime-mem-1,address=7f0012345000,length=4096,rkey=1234,rights=f,check=0b1c8f22
///
/// Numbers are hexadecimal without a prefix, but for mtu, depth and length; check is the CRC-32 of the text
/// before ",check".

namespace chime::rdma {

struct Endpoint {
  std::uint32_t qpn;                 ///< 24 bits
  std::uint32_t psn;                 ///< 24 bits: its first packet's
  std::array<std::uint8_t, 16> gid;  ///< an IPv4 address is ::ffff:a.b.c.d
  std::array<std::uint8_t, 6> mac;
  std::uint16_t mtu;    ///< bytes of the largest packet's payload: 256, 512, 1024, 2048, 4096
  std::uint16_t depth;  ///< reads and atomics that it answers at once, 1 to 128
  std::uint16_t reserved;
  std::uint32_t check;  ///< CRC-32 of everything before
};
static_assert(sizeof(Endpoint) == 40 && offsetof(Endpoint, check) == 36);

/// Bytes that any line of text fits in, its NUL included.
inline constexpr std::size_t endpoint_text_size = 160;

/// Sets `check`.
void seal(Endpoint& endpoint) noexcept;
/// Whether the endpoint is whole and possible; an error names the field.
Result<> check(const Endpoint& endpoint) noexcept;

/// @return the length without NUL; `text` must have endpoint_text_size bytes
std::size_t format(const Endpoint& endpoint, std::span<char> text) noexcept;
Result<Endpoint> parse_endpoint(std::string_view text) noexcept;

std::size_t format(const MemoryDescriptor& descriptor, std::span<char> text) noexcept;
Result<MemoryDescriptor> parse_memory(std::string_view text) noexcept;

}  // namespace chime::rdma
