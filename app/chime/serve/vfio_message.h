// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <linux/vfio.h>

#include <cstddef>
#include <cstdint>

/// @file
/// Messages of the vfio-user protocol, version 0 ("vfio-user Protocol Specification"), between QEMU's
/// vfio-user-pci and the process that has the device. Most are a structure of linux/vfio.h behind a header.
/// All fields are in the host's order.
///
///     00 message id   02 command   04 bytes, header and all   08 flags   0c errno of a reply   10 payload
///
/// File descriptors come as SCM_RIGHTS with the message.

namespace chime::serve {

enum class VfioCommand : std::uint16_t {
  version = 1,
  dma_map = 2,
  dma_unmap = 3,
  device_get_info = 4,
  device_get_region_info = 5,
  device_get_region_io_fds = 6,
  device_get_irq_info = 7,
  device_set_irqs = 8,
  region_read = 9,
  region_write = 10,
  dma_read = 11,
  dma_write = 12,
  device_reset = 13,
  dirty_pages = 14,
  region_write_multi = 15,
  device_feature = 16,
  mig_data_read = 17,
  mig_data_write = 18,
};

struct VfioHeader {
  static constexpr std::uint32_t type = 0xf, request = 0, reply = 1;  ///< in flags
  static constexpr std::uint32_t no_reply = 0x10, error = 0x20;

  std::uint16_t id;
  std::uint16_t command;
  std::uint32_t size;
  std::uint32_t flags;
  std::uint32_t errnum;
};
static_assert(sizeof(VfioHeader) == 16);

/// Behind it: a JSON object with the member "capabilities", as a string that ends with 0.
struct VfioVersion {
  std::uint16_t major;
  std::uint16_t minor;
};
static_assert(sizeof(VfioVersion) == 4);

struct VfioDmaMap {
  std::uint32_t argsz;
  std::uint32_t flags;
  std::uint64_t offset;  ///< in the file of the descriptor
  std::uint64_t address;
  std::uint64_t size;
};
static_assert(sizeof(VfioDmaMap) == 32);

struct VfioDmaUnmap {
  std::uint32_t argsz;
  std::uint32_t flags;
  std::uint64_t address;
  std::uint64_t size;
};
static_assert(sizeof(VfioDmaUnmap) == 24);

struct VfioDeviceInfo {
  std::uint32_t argsz;
  std::uint32_t flags;
  std::uint32_t regions;
  std::uint32_t irqs;
};
static_assert(sizeof(VfioDeviceInfo) == 16);

/// vfio_irq_set without its open end.
struct VfioIrqSet {
  std::uint32_t argsz;
  std::uint32_t flags;
  std::uint32_t index;
  std::uint32_t start;
  std::uint32_t count;
};
static_assert(sizeof(VfioIrqSet) == sizeof(vfio_irq_set));

/// Behind it: the data of a write, or of the reply to a read.
struct VfioAccess {
  std::uint64_t offset;
  std::uint32_t region;
  std::uint32_t count;
};
static_assert(sizeof(VfioAccess) == 16);

/// One of several writes in a message, which begins with their number (64 bits), as the reply does.
struct VfioWrite {
  static constexpr std::uint64_t most = 200;

  VfioAccess access;
  std::uint8_t data[8];
};
static_assert(sizeof(VfioWrite) == 24);

inline constexpr std::size_t vfio_largest = 8192;
inline constexpr unsigned vfio_descriptors = 16;
static_assert(sizeof(VfioHeader) + sizeof(std::uint64_t) + VfioWrite::most * sizeof(VfioWrite) <=
              vfio_largest);

}  // namespace chime::serve
