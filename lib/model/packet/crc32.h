// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

namespace chime::net {

/// The CRC of Ethernet, bit-reflected (polynomial 0xedb88320), in pieces: begin with ~0, invert at the end.
std::uint32_t crc32(std::uint32_t state, const std::byte* data, std::size_t length) noexcept;

}  // namespace chime::net
