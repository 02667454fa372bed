// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/array.h"
#include "base/error.h"
#include "hca/device.h"

namespace chime::hca::verbs {

/// Opens a card through rdma-core, its kernel driver staying bound.
/// @param ibdev RDMA device, PCI address or netdev name
Result<Owned<Device>> open(const char* ibdev) noexcept;

}  // namespace chime::hca::verbs
