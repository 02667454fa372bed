// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>

#include "base/error.h"
#include "hca/port.h"
#include "hca/verbs/rdma_core.h"

/// @file
/// The port's table of RDMA addresses, which the kernel keeps: the netdev's addresses.

namespace chime::hca::verbs {

unsigned count_gids(ibv_context& context) noexcept;
Result<GidEntry> read_gid(ibv_context& context, unsigned index) noexcept;
/// @param address 4 bytes of IPv4 or 16 of IPv6
/// @return its RoCE v2 place; ENOTSUP: the netdev does not have it, and how it gets it
Result<unsigned> find_gid(ibv_context& context, std::span<const std::uint8_t> address,
                          const char* netdev) noexcept;

}  // namespace chime::hca::verbs
