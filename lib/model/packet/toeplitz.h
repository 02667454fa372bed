// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/array.h"
#include "base/error.h"
#include "model/packet/headers.h"

/// @file
/// Receive-side scaling: which bytes are hashed, and how.

namespace chime::net {

inline constexpr std::size_t toeplitz_key_size = 40;
/// Two IPv6 addresses, two ports, a security parameter index.
inline constexpr std::size_t largest_hash_input = 40;

/// A Toeplitz key, unrolled: for every half byte of the input what its bits contribute. Fixed size, 5 KiB.
class Toeplitz {
 public:
  static Result<Owned<Toeplitz>> create(std::span<const std::byte, toeplitz_key_size> key) noexcept;

  /// @param input at most largest_hash_input bytes
  std::uint32_t hash(const std::byte* input, std::size_t length) const noexcept {
    std::uint32_t hash = 0;
    for (std::size_t i = 0; i < length; ++i) {
      const auto byte = static_cast<unsigned>(input[i]);
      hash ^= contribution_[2 * i][byte >> 4] ^ contribution_[2 * i + 1][byte & 0xf];
    }
    return hash;
  }

 private:
  std::uint32_t contribution_[2 * largest_hash_input][16] = {};
};

/// rx_hash_field_select.selected_fields of a TIR.
enum HashField : std::uint8_t {
  hash_src_ip = 1,
  hash_dst_ip = 2,
  hash_src_port = 4,
  hash_dst_port = 8,
  hash_ipsec_spi = 16,
};

/// rx_hash_field_select and rx_hash_symmetric of a TIR.
struct HashSelection {
  std::uint8_t fields = 0;  ///< HashField bits
  L3 l3 = L3::ipv4;         ///< of packets with another L3 header nothing is hashed
  L4 l4 = L4::tcp;          ///< of packets with another L4 header no port is hashed
  /// Where both sides of a pair are selected, source OR destination stands for the source and source XOR
  /// destination for the destination, so that both directions hash alike.
  bool symmetric = false;
};

struct HashInput {
  std::byte bytes[largest_hash_input];
  std::uint8_t length = 0;
  std::uint8_t type = 0;  ///< CQE rss_hash_type: what of the frame is in `bytes`
};

/// Gathers the selected fields in the order source address, destination address, source port, destination
/// port, security parameter index.
void gather_hash_input(HashInput& input, const HashSelection& selection, const std::byte* front,
                       const Headers& headers) noexcept;

/// The other rx_hash_fn: all bytes of the input folded into one by XOR, inverted.
std::uint32_t inverted_xor8(const std::byte* input, std::size_t length) noexcept;

}  // namespace chime::net
