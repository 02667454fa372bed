// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "model/pci/function.h"
#include "model/pci/msix.h"

namespace chime::serve {

/// Delivers interrupts as VFIO does: each vector has an eventfd of QEMU's, which keeps the MSI-X table and
/// masks.
class VfioInterrupts final : public model::pci::MessageTarget {
 public:
  void write(std::uint64_t, std::uint32_t) noexcept override {}
  bool keeps_table() const noexcept override { return true; }
  bool signal(unsigned vector) noexcept override;

  /// From now on these are the vectors' from `start` on. @param events borrowed
  /// @return EINVAL: there are not so many vectors, or that are no eventfds; EMFILE
  Result<> assign(unsigned start, std::span<const int> events) noexcept;
  /// So many vectors have none any more. EINVAL: there are not so many
  Result<> take_away(unsigned start, unsigned count) noexcept;
  void take_all() noexcept;

 private:
  std::array<FileDescriptor, model::pci::Function::vectors> events_;
};

}  // namespace chime::serve
