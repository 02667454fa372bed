// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>

#include "base/array.h"
#include "base/error.h"
#include "hca/port.h"
#include "steering/destination.h"
#include "steering/index_pool.h"

namespace chime::net {

/// Lets in packets by destination address: broadcast, listed addresses, or every group address.
///
///     entry 0 ..     one for each address        mask ff:ff:ff:ff:ff:ff
///     last entry     every group address         mask 01:00:00:00:00:00
class MacFilter {
  struct Token {};

 public:
  static constexpr std::uint32_t max_addresses = (1u << 14) - 1;

  /// @param next where it lets packets in to; fixed
  static Result<Owned<MacFilter>> create(hca::Device& device, std::uint8_t level, Destination next,
                                         std::span<const hca::MacAddress> unicast,
                                         std::span<const hca::MacAddress> multicast,
                                         bool all_multicast) noexcept;
  MacFilter(Token, hca::Device& device, Destination next) noexcept : device_(device), next_(next) {}

  /// Adds what is new and then removes what is not there any more; after an error all is as before.
  Result<> update(std::span<const hca::MacAddress> unicast, std::span<const hca::MacAddress> multicast,
                  bool all_multicast) noexcept;

  /// A filter of the same addresses that leads elsewhere.
  Result<Owned<MacFilter>> copy(std::uint8_t level, Destination next) const noexcept;

  Destination entrance() const noexcept { return to_table(table_.number()); }

 private:
  struct Entry {
    std::uint64_t address = 0;
    std::uint32_t index = 0;
    hca::Object object;
  };

  static Result<Owned<MacFilter>> make_empty(hca::Device& device, std::uint8_t level,
                                             Destination next) noexcept;
  /// @param addresses sorted, each once
  Result<> set(std::span<const std::uint64_t> addresses, bool all_multicast) noexcept;
  Entry* find(std::uint64_t address) noexcept;
  Result<hca::Object> make_entry(std::uint32_t group, std::uint32_t index, std::uint64_t address) noexcept;
  Result<> add_missing(Array<Entry>& wanted) noexcept;

  hca::Device& device_;
  Destination next_;
  // Users go first.
  hca::Object table_, exact_, group_addresses_;
  IndexPool indices_;
  Array<Entry> entries_;  // by address
  hca::Object all_multicast_;
};

}  // namespace chime::net
