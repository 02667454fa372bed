// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "model/packet/checksum.h"
#include "prm/wqe.h"

namespace chime::model {

/// What a request's cs_flags ask for, as net::InsertChecksum bits.
struct ChecksumFlags {
  unsigned outer = 0;
  unsigned inner = 0;  ///< of the datagram in a tunnel; without one, of the only datagram
};

/// Without a tunnel both kinds of bits mean the headers there are.
constexpr ChecksumFlags checksum_flags(std::uint32_t cs_flags, bool tunnelled) noexcept {
  const auto when = [&](std::uint32_t bit, unsigned which) { return (cs_flags & bit) != 0 ? which : 0u; };
  ChecksumFlags flags{
      when(prm::eth_l3_csum, net::insert_l3) | when(prm::eth_l4_csum, net::insert_l4),
      when(prm::eth_l3_inner_csum, net::insert_l3) | when(prm::eth_l4_inner_csum, net::insert_l4)};
  if (!tunnelled) flags = {0, flags.outer | flags.inner};
  return flags;
}

}  // namespace chime::model
