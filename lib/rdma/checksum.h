// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

namespace chime::rdma {

/// CRC-32 (IEEE 802.3) of some bytes, bit by bit: for short descriptors.
inline std::uint32_t checksum(const void* data, std::size_t size) noexcept {
  std::uint32_t crc = 0xffffffff;
  const auto* byte = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < size; ++i) {
    crc ^= byte[i];
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0u);
  }
  return ~crc;
}

}  // namespace chime::rdma
