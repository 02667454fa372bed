// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/array.h"
#include "model/object/port.h"

/// @file
/// The port's own RoCE addresses: SET_ROCE_ADDRESS.

namespace chime::model {

/// As it is on the wire; an IPv4 address in its IPv6-mapped form.
using GidBytes = std::array<std::uint8_t, 16>;

inline bool is_ipv4_mapped(const GidBytes& gid) noexcept {
  constexpr std::array<std::uint8_t, 12> prefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::equal(prefix.begin(), prefix.end(), gid.begin());
}
/// Whether it is that of a multicast group: ff00::/8, or 224.0.0.0/4 in IPv6-mapped form.
inline bool is_multicast(const GidBytes& gid) noexcept {
  return gid[0] == 0xff || (is_ipv4_mapped(gid) && gid[12] >> 4 == 0xe);
}

struct RoceAddress {
  enum class Version : std::uint8_t { v1 = 0, v2 = 2 };
  enum class L3 : std::uint8_t { ipv4 = 0, ipv6 = 1 };

  GidBytes gid{};  ///< all zero: the place is empty
  Mac mac{};
  bool vlan_valid = false;
  std::uint16_t vlan = 0;
  Version version = Version::v2;
  L3 l3 = L3::ipv6;

  bool empty() const noexcept { return gid == GidBytes{}; }
  bool operator==(const RoceAddress&) const noexcept = default;
};

/// By index; as long as the capability roce_address_table_size says.
using RoceAddressTable = Array<RoceAddress>;

}  // namespace chime::model
