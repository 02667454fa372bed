// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "base/error.h"
#include "hca/gid_address.h"
#include "hca/model/kernel.h"
#include "hca/port.h"

/// @file
/// The kernel's part in RoCE: it keeps the card's table of the port's addresses.

namespace chime::hca::embedded {

/// fe80::/64 and the EUI-64 of a MAC address.
GidBytes link_local_gid(const MacAddress& mac) noexcept;

/// Turns RoCE on and sets the link-local address of `mac`. Does nothing where the card has no RoCE.
Result<> enable_roce(Kernel& kernel, const MacAddress& mac) noexcept;

Result<unsigned> count_gids(Kernel& kernel) noexcept;
/// EINVAL: there is no such place; ENODATA: nothing is there.
Result<GidEntry> read_gid(Kernel& kernel, unsigned index) noexcept;
/// In the first empty place, unless it is in the table. @return its place
Result<unsigned> add_gid(Kernel& kernel, const GidEntry& entry) noexcept;
/// The port's MAC changed: its addresses follow it.
Result<> move_gids(Kernel& kernel, const MacAddress& from, const MacAddress& to) noexcept;

}  // namespace chime::hca::embedded
