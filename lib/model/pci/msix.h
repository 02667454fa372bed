// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>

#include "model/interrupts.h"
#include "model/pci/config_space.h"

namespace chime::model::pci {

/// The way of a message-signalled interrupt to the host: a 4-byte write to a bus address.
class MessageTarget {
 public:
  virtual ~MessageTarget() = default;
  virtual void write(std::uint64_t address, std::uint32_t data) noexcept = 0;

  /// Whether the host has the MSI-X table itself and never writes the function's, as with VFIO: then it wants
  /// to hear of vectors, and masks them.
  virtual bool keeps_table() const noexcept { return false; }
  /// To one that keeps the table. @return false: nobody listens to this vector
  virtual bool signal(unsigned vector) noexcept { return static_cast<void>(vector), false; }
};

/// MSI-X table and pending bits (PCI Local Bus 3.0, 6.8.2). Delivers what the card raises, or holds it as
/// pending while the vector or the function is masked.
///
///     table entry  00 message address   08 message data   0c vector control: bit 0 masks
class Msix final : public Interrupts {
 public:
  static constexpr unsigned max_vectors = 128;
  static constexpr unsigned entry_size = 16;

  Msix(const ConfigSpace& config, MessageTarget& target, unsigned vectors) noexcept;

  void raise(unsigned vector) noexcept override;

  /// @param offset in the table; words of 4 bytes in the host's (little-endian) order
  std::uint32_t read_table(std::uint32_t offset) const noexcept;
  void write_table(std::uint32_t offset, std::uint32_t value) noexcept;
  std::uint32_t read_pending(std::uint32_t offset) const noexcept;

  /// The function was enabled or unmasked: delivers what has waited.
  void config_changed() noexcept;
  void reset() noexcept;

  std::uint64_t delivered() const noexcept { return delivered_; }
  /// Raised while MSI-X was off: lost, as there is no other interrupt.
  std::uint64_t lost() const noexcept { return lost_; }

 private:
  static constexpr unsigned words = entry_size / 4;
  static constexpr unsigned control = 3;

  bool masked(unsigned vector) const noexcept {
    return config_.msix_masked() || (table_[vector * words + control] & 1);
  }
  void deliver(unsigned vector) noexcept;

  const ConfigSpace& config_;
  MessageTarget& target_;
  const unsigned vectors_;
  std::array<std::uint32_t, max_vectors * words> table_{};
  std::array<bool, max_vectors> pending_{};
  std::uint64_t delivered_ = 0;
  std::uint64_t lost_ = 0;
};

}  // namespace chime::model::pci
