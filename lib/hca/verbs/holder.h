// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/error.h"

namespace chime::hca::verbs {

/// Two DPDK drivers on one port would both take its packets. EBUSY when net_mlx5 or Chime has the card open
/// in this process, or in another that can be seen here; how to start or end what. To be asked before the
/// card is opened. Other RDMA programs are welcome.
/// @param uverbs its file in /dev/infiniband; @param device RDMA device; @param proc where /proc is
Result<> check_unheld(const char* uverbs, const char* device, const char* pci_address,
                      const char* proc = "/proc") noexcept;

}  // namespace chime::hca::verbs
