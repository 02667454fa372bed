// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>

#include "base/array.h"
#include "base/error.h"
#include "hca/port.h"

namespace chime::hca::verbs {

/// Destination addresses: those that have `address` in the bits of `mask`. Numbers, first byte highest.
struct AddressMatch {
  std::uint64_t address;
  std::uint64_t mask;
  auto operator<=>(const AddressMatch&) const noexcept = default;
};

inline constexpr std::uint64_t exact_address = 0xffffffffffff;
inline constexpr std::uint64_t group_bit = 0x010000000000;

/// What the port lets in, as it was asked for.
struct Admitted {
  MacAddress mac;
  std::span<const MacAddress> unicast;
  std::span<const MacAddress> multicast;
  bool promiscuous = false;
  bool all_multicast = false;
};

/// The same as matches, sorted, each once: one of everything when promiscuous; else the port's addresses,
/// broadcast, and the groups asked for or every group.
Result<Array<AddressMatch>> matches_of(const Admitted& admitted) noexcept;

}  // namespace chime::hca::verbs
