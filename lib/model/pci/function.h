// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "base/array.h"
#include "base/error.h"
#include "model/hca.h"
#include "model/pci/config_space.h"
#include "model/pci/msix.h"

namespace chime::model::pci {

/// What surrounds the function. All of it must outlive it.
struct Bus {
  HostMemory& memory;       ///< of the machine that the function is in
  MessageTarget& messages;  ///< its interrupt controller
  Wire& wire;
  Clock& clock;
  Diagnostics& diagnostics;
};

/// Health syndromes that the firmware may show (PRM, "Health Buffer").
enum class Health : std::uint8_t {
  ok = 0x00,
  firmware_assert = 0x01,
  irisc_error = 0x07,
  hardware_unrecoverable = 0x08,
  firmware_crc = 0x09,
  memory_uncorrectable = 0x0a,
  pci_parity = 0x0b,
  eq_error = 0x0d,
  eq_invalid = 0x0e,
  internal_error = 0x0f,
  high_temperature = 0x10,
};

/// The card as a PCI function: configuration space, and BAR 0 over the same Hca that serves a process.
///
///     BAR 0   00000 initialization segment (PRM): command queue, health, timers
///             08000 MSI-X table          09000 pending bits
///             10000 UAR pages of 4096 bytes: page n at n * 4096
///
/// Not thread-safe: one thread at a time, that which steps it.
class Function {
 public:
  static constexpr std::uint64_t bar_size = std::uint64_t{1} << 25;
  static constexpr unsigned vectors = 64;

  /// @param profile must outlive the function: a reset makes the card anew
  static Result<Owned<Function>> create(const Profile& profile, const Bus& bus) noexcept;
  ~Function();
  Function(const Function&) = delete;
  Function& operator=(const Function&) = delete;

  /// Configuration space; values in the host's order. @param length 1, 2 or 4
  std::uint32_t read_config(std::uint32_t offset, unsigned length) noexcept;
  void write_config(std::uint32_t offset, std::uint32_t value, unsigned length) noexcept;

  /// BAR 0. @param offset bytes from its beginning; @param size 1, 2, 4 or 8; values are little-endian
  /// numbers
  std::uint64_t read_bar(std::uint64_t offset, unsigned size) noexcept;
  void write_bar(std::uint64_t offset, std::uint64_t value, unsigned size) noexcept;
  /// Where BAR 0 lies now, 0: nowhere.
  std::uint64_t bar_address() const noexcept;

  /// Conventional reset (bus reset, power-on): configuration space too.
  void reset() noexcept;
  /// Does some of what is to do. @return units of work done
  unsigned step() noexcept;

  /// From now on the health buffer shows this; a fatal one also stops the commands. A reset mends it.
  void set_health(Health health, bool fatal) noexcept;

  /// The card behind it; none when memory ran out at the last reset.
  Hca* hca() noexcept;
  const Msix& interrupts() const noexcept;

 private:
  struct State;
  explicit Function(Owned<State> state) noexcept;
  Owned<State> state_;
};

}  // namespace chime::model::pci
