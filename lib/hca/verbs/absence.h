// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/error.h"

namespace chime::hca::verbs {

/// Why rdma-core has no device of this name, and the command that mends it: no card there, no
/// /dev/infiniband, a module that is missing, another driver on the card (vfio-pci).
/// @param name   as given to ibdev
/// @param errnum of ibv_get_device_list, 0 when it answered
/// @param root   where /sys and /dev are
/// @return ENODEV when nothing is known but that it is not there
Error why_absent(const char* name, int errnum, const char* root = "") noexcept;

/// The RDMA device is there, and its netdev is not in this network namespace.
Error no_netdev(const char* device, const char* pci_address) noexcept;

}  // namespace chime::hca::verbs
