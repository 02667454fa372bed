// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>

#include "base/array.h"
#include "base/error.h"
#include "hca/port.h"

/// @file
/// What the kernel driver tells of its netdev by the ethtool ioctl. `name` is the netdev's.

namespace chime::hca::verbs {

struct EthtoolLink {
  std::uint32_t speed_mbps;  ///< 0: unknown
  bool full_duplex;
  bool autoneg;
};
Result<EthtoolLink> ethtool_link(const char* name) noexcept;

/// As ethtool -i prints it.
Result<> ethtool_firmware_version(const char* name, std::span<char> text) noexcept;

/// A count of ethtool -S.
struct EthtoolCount {
  const char* name;
  std::uint64_t* value;  ///< where it goes; 0 when the driver has no such count
};
/// Looks up the places of counts once, as there are hundreds.
class EthtoolCounts {
 public:
  Result<> read(const char* netdev, std::span<const EthtoolCount> wanted) noexcept;

 private:
  Result<> find(int socket, const char* netdev, std::span<const EthtoolCount> wanted,
                std::uint32_t count) noexcept;

  std::uint32_t count_ = 0;      ///< that the driver had when they were looked up
  Array<std::uint32_t> places_;  ///< of the wanted ones; count_: not there
};

}  // namespace chime::hca::verbs
