// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>

#include "base/array.h"
#include "base/error.h"
#include "hca/device.h"
#include "steering/destination.h"

namespace chime::net {

using VlanSet = std::array<std::uint64_t, 64>;  ///< bit n % 64 of word n / 64 is VLAN n
inline constexpr std::uint32_t vlan_ids = 4096;

/// Lets in packets without a VLAN tag, and those whose outer tag (0x8100 or 0x88a8) has a listed ID.
///
///     entry 0        no tag                      mask cvlan_tag, svlan_tag
///     entry 1 + n    VLAN n                      mask first_vid
class VlanFilter {
  struct Token {};

 public:
  /// @param next where it lets packets in to; fixed
  static Result<Owned<VlanFilter>> create(hca::Device& device, std::uint8_t level, Destination next,
                                          const VlanSet& vlans) noexcept;
  VlanFilter(Token, hca::Device& device, Destination next) noexcept : device_(device), next_(next) {}

  /// Lets in these as well, or fails and changes nothing.
  Result<> extend(const VlanSet& vlans) noexcept;
  /// Shuts out all but these.
  void reduce(const VlanSet& vlans) noexcept;
  const VlanSet& listed() const noexcept { return vlans_; }

  Destination entrance() const noexcept { return to_table(table_.number()); }

 private:
  hca::Device& device_;
  Destination next_;
  // Users go first.
  hca::Object table_, no_tag_, by_id_;
  hca::Object untagged_;
  Array<hca::Object> entries_;  // by ID
  VlanSet vlans_{};
};

}  // namespace chime::net
