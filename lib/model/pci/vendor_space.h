// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>

namespace chime::model::pci {

/// The gateway of the vendor-specific capability: address spaces of the device behind configuration space
/// (Linux: mlx5_core/lib/pci_vsc.c, Mellanox mstflint: mtcr_ul). Drivers take its semaphore, choose a space,
/// and read or write one word at a time.
///
///     04 space [15:0], status [31:29] 0: there is no such space
///     08 a number that nobody read before          0c semaphore: 0 or its owner's number
///     10 address [29:0], flag [31]                 14 data
///
/// An address written with the flag set writes the data, and the flag falls; one written without reads, and
/// the flag rises. Of the spaces there is the one of semaphores that the functions of a card share: 0 or the
/// number of who has it.
class VendorSpace {
 public:
  static constexpr std::uint32_t size = 0x18;
  static constexpr std::uint16_t semaphore_space = 0x0a;
  static constexpr std::uint32_t software_reset = 0x20;  ///< semaphore that guards a reset by software

  /// @param offset in the capability, a multiple of 4 from 4 on
  std::uint32_t read(std::uint32_t offset) noexcept;
  void write(std::uint32_t offset, std::uint32_t value) noexcept;

 private:
  static constexpr std::uint32_t semaphores = 64;
  void transfer(std::uint32_t address) noexcept;

  std::uint16_t space_ = 0;
  std::uint32_t counter_ = 0;
  std::uint32_t owner_ = 0;
  std::uint32_t address_ = 0;
  std::uint32_t data_ = 0;
  std::array<std::uint32_t, semaphores> semaphore_{};
};

}  // namespace chime::model::pci
