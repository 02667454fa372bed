// SPDX-License-Identifier: BSD-3-Clause
#include "model/packet/crc32.h"

#include <array>

#include "model/packet/bytes.h"

namespace chime::net {
namespace {

constexpr std::uint32_t polynomial = 0xedb88320;
constexpr unsigned slices = 8;

/// Row n: what a byte counts for when n more follow it.
constexpr auto make_tables() noexcept {
  std::array<std::array<std::uint32_t, 256>, slices> tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? polynomial : 0);
    tables[0][byte] = crc;
  }
  for (unsigned n = 1; n < slices; ++n) {
    for (unsigned byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = tables[n - 1][byte];
      tables[n][byte] = (before >> 8) ^ tables[0][before & 0xff];
    }
  }
  return tables;
}

constexpr auto tables = make_tables();

std::uint32_t little(std::uint32_t value) noexcept {
  return std::endian::native == std::endian::little ? value : prm::swap_bytes(value);
}

}  // namespace

std::uint32_t crc32(std::uint32_t state, const std::byte* data, std::size_t length) noexcept {
  while (length >= 8) {
    const std::uint32_t low = little(load<std::uint32_t>(data)) ^ state;
    const std::uint32_t high = little(load<std::uint32_t>(data + 4));
    state = tables[7][low & 0xff] ^ tables[6][low >> 8 & 0xff] ^ tables[5][low >> 16 & 0xff] ^
            tables[4][low >> 24] ^ tables[3][high & 0xff] ^ tables[2][high >> 8 & 0xff] ^
            tables[1][high >> 16 & 0xff] ^ tables[0][high >> 24];
    data += 8;
    length -= 8;
  }
  for (; length != 0; --length, ++data) state = (state >> 8) ^ tables[0][(state ^ byte_at(data)) & 0xff];
  return state;
}

}  // namespace chime::net
