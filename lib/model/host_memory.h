// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

namespace chime::model {

/// The memory on the other side of the bus. The card reaches nothing else of the host: in process these are
/// the ranges that were registered, behind PCI the guest's memory. Called by the thread that steps the Hca
/// only.
class HostMemory {
 public:
  virtual ~HostMemory() = default;

  /// @param address bus address
  /// @param length  bytes, not 0
  /// @return where [address, address + length) lies in this process, or nullptr when any of it is not there
  /// or
  ///         it does not lie in one piece.
  virtual std::byte* map(std::uint64_t address, std::size_t length) noexcept = 0;

  /// Changes whenever an earlier answer of map() may have become wrong.
  virtual std::uint64_t generation() const noexcept = 0;
};

}  // namespace chime::model
