// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "base/array.h"
#include "base/error.h"
#include "devargs.h"
#include "device_limits.h"
#include "hca/device.h"
#include "hca/memory.h"
#include "hca/runtime.h"

namespace chime::net {

/// The opened HCA of a port, and the objects that all its queues share.
struct PortHca {
  // Users go first: in reverse order.
  Owned<hca::Device> device;
  Limits limits{};
  hca::Object pd;
  hca::Object transport_domain;
  hca::Object tis;
  hca::Object q_counter;  ///< of all receive queues
  hca::Uar cq_uar;        ///< of completion queues that are never armed
  Owned<hca::MemoryMap> memory;

  /// @param name of the port; @param port_id makes the embedded HCA's address
  static Result<Owned<PortHca>> open(hca::Runtime& runtime, const DevArgs& args, const char* name,
                                     std::uint16_t port_id) noexcept;
};

}  // namespace chime::net
