// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "model/clock.h"
#include "model/profile.h"
#include "prm/layouts.h"
#include "prm/view.h"

namespace chime::model::pci {

/// Kind of driver that has the function ("nic_interface").
enum class NicInterface : std::uint8_t {
  full_driver = 0,
  disabled = 1,
  no_dram_nic = 2,
  software_reset = 7,  ///< asks for a reset of the firmware; then it shows "disabled"
};

/// The initialization segment: big-endian words of 4 bytes at the beginning of BAR 0.
class InitSegment {
 public:
  static constexpr std::uint32_t size = 0x4010;

  InitSegment(const Identity& identity, Clock& clock) noexcept;

  /// @param offset a multiple of 4. @return the word's value
  std::uint32_t read(std::uint32_t offset) noexcept;

  /// What a write asks for.
  enum class Effect : std::uint8_t { none, doorbell, interface, reset };
  Effect write(std::uint32_t offset, std::uint32_t value) noexcept;

  std::uint64_t command_queue() const noexcept { return queue_; }  ///< bus address, 0: none
  std::uint32_t doorbell() const noexcept { return doorbell_; }    ///< the vector last written
  NicInterface interface() const noexcept { return interface_; }

  void set_health(std::uint8_t syndrome, bool fatal) noexcept;
  bool failed() const noexcept { return fatal_; }

 private:
  Clock* clock_;
  prm::Box<prm::initial_seg> registers_;
  std::uint64_t queue_ = 0;
  std::uint32_t doorbell_ = 0;
  NicInterface interface_ = NicInterface::full_driver;
  bool fatal_ = false;
};

}  // namespace chime::model::pci
