// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

/// @file
/// Messages between QEMU's x-pci-proxy-dev and the process that has the device (QEMU docs/devel,
/// "Multi-process QEMU"; hw/remote). All fields are little-endian; there is no alignment beyond what is
/// written out.
///
///     00 command   04 unused   08 bytes of payload   10 payload
///
/// File descriptors come as SCM_RIGHTS with the first byte.

namespace chime::serve {

enum class ProxyCommand : std::int32_t {
  sync_sysmem = 0,  ///< the guest's memory, whole; no answer
  ret = 1,          ///< the answer to all below
  config_write = 2,
  config_read = 3,
  bar_write = 4,
  bar_read = 5,
  set_irqfd = 6,  ///< INTx; no answer
  device_reset = 7,
};

struct ProxyHeader {
  std::int32_t command;
  std::uint32_t unused;
  std::uint64_t size;
};
static_assert(sizeof(ProxyHeader) == 16);

inline constexpr unsigned proxy_regions = 8;

struct ProxySysmem {
  std::uint64_t address[proxy_regions];  ///< guest-physical
  std::uint64_t size[proxy_regions];
  std::int64_t offset[proxy_regions];  ///< in the file of the descriptor at the same place
};
static_assert(sizeof(ProxySysmem) == 192);

struct ProxyConfigAccess {
  std::uint32_t offset;
  std::uint32_t value;
  std::int32_t length;
};
static_assert(sizeof(ProxyConfigAccess) == 12);

struct ProxyBarAccess {
  std::uint64_t address;  ///< guest-physical
  std::uint64_t value;
  std::uint32_t size;
  std::uint8_t memory;  ///< 0: an I/O port
  std::uint8_t unused[3];
};
static_assert(sizeof(ProxyBarAccess) == 24 && offsetof(ProxyBarAccess, memory) == 20);

inline constexpr std::size_t proxy_largest = sizeof(ProxySysmem);

}  // namespace chime::serve
