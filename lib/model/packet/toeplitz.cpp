// SPDX-License-Identifier: BSD-3-Clause
#include "model/packet/toeplitz.h"

#include "model/packet/bytes.h"

namespace chime::net {
namespace {

/// Codes of CQE rss_hash_type, for source in the lower and destination in the upper two bits of each half.
constexpr unsigned type_ipv4 = 1, type_ipv6 = 2, type_tcp = 1, type_udp = 2, type_spi = 3;

/// Appends one pair of fields, each `Size` bytes, `source` directly before `destination` in the frame.
template <std::size_t Size>
std::size_t append(std::byte* to, const std::byte* source, bool with_source, bool with_destination,
                   bool symmetric) noexcept {
  const std::byte* destination = source + Size;
  if (symmetric && with_source && with_destination) {
    for (std::size_t i = 0; i < Size; ++i) {
      to[i] = source[i] | destination[i];
      to[Size + i] = source[i] ^ destination[i];
    }
    return 2 * Size;
  }
  std::size_t length = 0;
  if (with_source) {
    std::memcpy(to, source, Size);
    length = Size;
  }
  if (with_destination) {
    std::memcpy(to + length, destination, Size);
    length += Size;
  }
  return length;
}

constexpr unsigned sides(bool source, bool destination, unsigned code) noexcept {
  return (source ? code : 0) | (destination ? code << 2 : 0);
}

}  // namespace

Result<Owned<Toeplitz>> Toeplitz::create(std::span<const std::byte, toeplitz_key_size> key) noexcept {
  auto made = make_owned<Toeplitz>("a Toeplitz key");
  if (!made) return made;
  for (std::size_t bit = 0; bit < 8 * largest_hash_input; ++bit) {
    // The 32 key bits that begin at `bit`; the key is long enough for the last.
    std::uint64_t window = 0;
    for (std::size_t i = 0; i < 5; ++i) {
      const std::size_t at = bit / 8 + i;
      window = window << 8 | (at < key.size() ? static_cast<std::uint64_t>(key[at]) : 0);
    }
    const auto word = static_cast<std::uint32_t>(window >> (8 - bit % 8));
    auto& row = (*made)->contribution_[bit / 4];
    for (unsigned value = 0; value < 16; ++value) {
      if (value & (8u >> bit % 4)) row[value] ^= word;
    }
  }
  return made;
}

void gather_hash_input(HashInput& input, const HashSelection& selection, const std::byte* front,
                       const Headers& headers) noexcept {
  input.length = 0;
  input.type = 0;
  if (headers.l3 == L3::none || headers.l3 != selection.l3) return;
  const unsigned fields = selection.fields;
  const bool src = (fields & hash_src_ip) != 0, dst = (fields & hash_dst_ip) != 0;
  const std::byte* l3 = front + headers.l3_offset;
  std::size_t length = 0;
  unsigned type = 0;
  if (headers.l3 == L3::ipv4) {
    length = append<4>(input.bytes, l3 + 12, src, dst, selection.symmetric);
    type = sides(src, dst, type_ipv4);
  } else {
    length = append<16>(input.bytes, l3 + 8, src, dst, selection.symmetric);
    type = sides(src, dst, type_ipv6);
  }
  if (headers.l4 != L4::none && headers.l4 == selection.l4) {
    const bool sport = (fields & hash_src_port) != 0, dport = (fields & hash_dst_port) != 0;
    length += append<2>(input.bytes + length, front + headers.l4_offset, sport, dport, selection.symmetric);
    type |= sides(sport, dport, headers.l4 == L4::tcp ? type_tcp : type_udp) << 4;
  }
  if ((fields & hash_ipsec_spi) != 0 && headers.spi_offset != 0) {
    std::memcpy(input.bytes + length, front + headers.spi_offset, 4);
    length += 4;
    type |= sides(true, true, type_spi) << 4;
  }
  input.length = static_cast<std::uint8_t>(length);
  input.type = static_cast<std::uint8_t>(type);
}

std::uint32_t inverted_xor8(const std::byte* input, std::size_t length) noexcept {
  std::byte folded{};
  for (std::size_t i = 0; i < length; ++i) folded ^= input[i];
  return static_cast<std::uint8_t>(~folded);
}

}  // namespace chime::net
