// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/error.h"

/// @file
/// GIDs and IP addresses. An IPv4 address is mapped into IPv6 (RFC 4291, 2.5.5.2).

namespace chime::hca {

using GidBytes = std::array<std::uint8_t, 16>;

bool is_ipv4_mapped(const GidBytes& gid) noexcept;
/// IPv6 as it is, IPv4 mapped. EINVAL for other lengths, and for what is nobody's own address.
Result<> gid_of_address(std::span<const std::uint8_t> address, GidBytes& gid) noexcept;

}  // namespace chime::hca
