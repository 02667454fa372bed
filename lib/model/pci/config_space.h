// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace chime::model::pci {

/// What the function says of itself in its configuration space.
struct ConfigIdentity {
  std::uint16_t vendor_id;
  std::uint16_t device_id;
  std::uint16_t subsystem_id;
  std::uint64_t bar_size;    ///< bytes of BAR 0, a power of two
  unsigned vectors;          ///< MSI-X vectors, 1 to 2048
  std::uint32_t msix_table;  ///< byte offsets in BAR 0
  std::uint32_t msix_pending;
};

/// The first 256 bytes of the configuration space (PCI Local Bus 3.0, PCI Express 3.0): a type 0 header with
/// one 32-bit memory BAR, and a chain of capabilities.
///
///     00 header        34 -> 40 power management -> 60 PCI Express -> 9c MSI-X -> c0 vendor-specific
///
/// Registers change only where the specification lets software write.
class ConfigSpace {
 public:
  static constexpr std::size_t size = 256;
  static constexpr std::uint32_t vendor = 0xc0;  ///< registers behind its header: VendorSpace

  explicit ConfigSpace(const ConfigIdentity& identity) noexcept;

  /// @param length 1, 2 or 4 bytes; what lies outside reads as ones
  std::uint32_t read(std::uint32_t offset, unsigned length) const noexcept;

  /// What a write asked the function to do.
  enum class Effect : std::uint8_t { none, changed, reset };
  Effect write(std::uint32_t offset, std::uint32_t value, unsigned length) noexcept;

  bool memory_enabled() const noexcept { return (bytes_[command] & 2) != 0; }
  bool bus_master() const noexcept { return (bytes_[command] & 4) != 0; }
  bool msix_enabled() const noexcept { return (bytes_[msix + 3] & 0x80) != 0; }
  bool msix_masked() const noexcept { return (bytes_[msix + 3] & 0x40) != 0; }
  std::uint64_t bar() const noexcept;

 private:
  static constexpr std::uint32_t command = 0x04;
  static constexpr std::uint32_t bar0 = 0x10;
  static constexpr std::uint32_t power = 0x40;
  static constexpr std::uint32_t express = 0x60;
  static constexpr std::uint32_t msix = 0x9c;

  void put(std::uint32_t offset, std::uint32_t value, unsigned length) noexcept;
  void writable(std::uint32_t offset, std::uint32_t mask, unsigned length) noexcept;

  std::array<std::uint8_t, size> bytes_{};
  std::array<std::uint8_t, size> writable_{};  ///< bits that software sets and clears
  std::array<std::uint8_t, size> clearing_{};  ///< bits that a written 1 clears
};

}  // namespace chime::model::pci
