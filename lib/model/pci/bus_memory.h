// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "model/host_memory.h"
#include "model/pci/config_space.h"

namespace chime::model::pci {

/// Host memory as a function reaches it: not at all until the host made it a bus master.
class BusMemory final : public HostMemory {
 public:
  BusMemory(HostMemory& memory, const ConfigSpace& config) noexcept : memory_(memory), config_(config) {}

  std::byte* map(std::uint64_t address, std::size_t length) noexcept override {
    return config_.bus_master() ? memory_.map(address, length) : nullptr;
  }
  std::uint64_t generation() const noexcept override { return memory_.generation() + changes_; }

  /// The configuration space changed: earlier answers may be wrong.
  void config_changed() noexcept { ++changes_; }

 private:
  HostMemory& memory_;
  const ConfigSpace& config_;
  std::uint64_t changes_ = 0;
};

}  // namespace chime::model::pci
