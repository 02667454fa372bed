// SPDX-License-Identifier: BSD-3-Clause
#include "model/pci/msix.h"

namespace chime::model::pci {

Msix::Msix(const ConfigSpace& config, MessageTarget& target, unsigned vectors) noexcept
    : config_(config), target_(target), vectors_(vectors < max_vectors ? vectors : max_vectors) {
  reset();
}

void Msix::raise(unsigned vector) noexcept {
  if (target_.keeps_table()) {
    ++(target_.signal(vector) ? delivered_ : lost_);
  } else if (vector >= vectors_ || !config_.msix_enabled()) {
    ++lost_;
  } else if (masked(vector)) {
    pending_[vector] = true;
  } else {
    deliver(vector);
  }
}

void Msix::deliver(unsigned vector) noexcept {
  const std::uint32_t* const entry = &table_[vector * words];
  const std::uint64_t address = std::uint64_t{entry[1]} << 32 | entry[0];
  pending_[vector] = false;
  if (address == 0 || !config_.bus_master()) {
    ++lost_;
    return;
  }
  ++delivered_;
  target_.write(address, entry[2]);
}

std::uint32_t Msix::read_table(std::uint32_t offset) const noexcept {
  const std::uint32_t word = offset / 4;
  return word < vectors_ * words ? table_[word] : 0;
}

void Msix::write_table(std::uint32_t offset, std::uint32_t value) noexcept {
  const std::uint32_t word = offset / 4;
  if (word >= vectors_ * words) return;
  const unsigned vector = word / words;
  table_[word] = word % words == control ? value & 1 : word % words == 0 ? value & ~3u : value;
  if (pending_[vector] && config_.msix_enabled() && !masked(vector)) deliver(vector);
}

std::uint32_t Msix::read_pending(std::uint32_t offset) const noexcept {
  std::uint32_t bits = 0;
  for (unsigned i = 0; i < 32; ++i) {
    const std::uint32_t vector = offset * 8 + i;
    if (vector < vectors_ && pending_[vector]) bits |= 1u << i;
  }
  return bits;
}

void Msix::config_changed() noexcept {
  if (!config_.msix_enabled()) return;
  for (unsigned vector = 0; vector < vectors_; ++vector) {
    if (pending_[vector] && !masked(vector)) deliver(vector);
  }
}

void Msix::reset() noexcept {
  table_ = {};
  pending_ = {};
  for (unsigned vector = 0; vector < max_vectors; ++vector) table_[vector * words + control] = 1;
}

}  // namespace chime::model::pci
