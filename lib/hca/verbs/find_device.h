// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <net/if.h>

#include <array>
#include <cstddef>

#include "base/error.h"
#include "hca/verbs/rdma_core.h"

namespace chime::hca::verbs {

/// An RDMA device that is there, and what belongs to it.
struct FoundDevice {
  DeviceList list;     ///< owns `device`
  ibv_device* device;  ///< one of mlx5's
  std::array<char, 32> pci_address;
  unsigned netdev;  ///< index of its netdev
};

/// @param name an RDMA device ("mlx5_0"), a PCI address ("0000:03:00.0" or "03:00.0") or a netdev
/// @return ENODEV with the devices there are, or with why there are none and what would bring one
Result<FoundDevice> find_device(const char* name) noexcept;

}  // namespace chime::hca::verbs
