// SPDX-License-Identifier: BSD-3-Clause
#include "model/pci/config_space.h"

#include "model/pci/vendor_space.h"

namespace chime::model::pci {

ConfigSpace::ConfigSpace(const ConfigIdentity& identity) noexcept {
  put(0x00, identity.vendor_id, 2);
  put(0x02, identity.device_id, 2);
  // Memory space, bus master, parity, SERR#, interrupt disable.
  writable(command, 0x0546, 2);
  put(0x06, 0x0010, 2);      // status: a list of capabilities
  put(0x08, 0x02000000, 4);  // class: Ethernet controller, revision 0
  writable(0x0c, 0xff, 1);   // cache line size
  writable(bar0, static_cast<std::uint32_t>(~(identity.bar_size - 1)), 4);
  put(0x2c, identity.vendor_id, 2);
  put(0x2e, identity.subsystem_id, 2);
  put(0x34, power, 1);
  writable(0x3c, 0xff, 1);  // interrupt line
  put(0x3d, 1, 1);          // interrupt pin: INTA#, which is never raised

  put(power, 0x01 | express << 8, 2);
  put(power + 2, 0x0003, 2);  // version 3, no D1, D2 or PME
  put(power + 4, 0x0008, 2);  // no soft reset
  writable(power + 4, 0x0003, 2);

  put(express, 0x10 | msix << 8, 2);
  put(express + 0x02, 0x0002, 2);      // version 2, an endpoint
  put(express + 0x04, 0x10008002, 4);  // function-level reset, role-based errors, payloads of 512 bytes
  put(express + 0x08, 0x2810, 2);      // relaxed ordering, no snoop, reads of 512 bytes
  writable(express + 0x08, 0x7fff, 2);
  clearing_[express + 0x0a] = 0x0f;
  put(express + 0x0c, 0x00000103, 4);  // 8 GT/s, 16 lanes
  writable(express + 0x10, 0x01c3, 2);
  put(express + 0x12, 0x0103, 2);
  put(express + 0x24, 0x0000001f, 4);  // completion timeouts can be set and disabled
  writable(express + 0x28, 0x001f, 2);
  put(express + 0x2c, 0x0000000e, 4);  // 2.5, 5 and 8 GT/s
  put(express + 0x30, 0x0003, 2);

  put(msix, 0x11 | vendor << 8, 2);
  put(msix + 2, identity.vectors - 1, 2);
  writable(msix + 2, 0xc000, 2);
  put(msix + 4, identity.msix_table, 4);
  put(msix + 8, identity.msix_pending, 4);

  put(vendor, 0x09, 2);
  put(vendor + 2, VendorSpace::size, 1);
}

std::uint32_t ConfigSpace::read(std::uint32_t offset, unsigned length) const noexcept {
  std::uint32_t value = 0;
  for (unsigned i = 0; i < length && i < 4; ++i) {
    const std::uint32_t byte = offset < size && offset + i < size ? bytes_[offset + i] : 0xffu;
    value |= byte << i * 8;
  }
  return value;
}

ConfigSpace::Effect ConfigSpace::write(std::uint32_t offset, std::uint32_t value, unsigned length) noexcept {
  constexpr std::uint32_t reset_byte = express + 0x09;
  constexpr std::uint8_t initiate_reset = 0x80;
  Effect effect = Effect::none;
  for (unsigned i = 0; i < length && i < 4; ++i) {
    if (offset >= size || offset + i >= size) break;
    const std::uint32_t at = offset + i;
    const auto byte = static_cast<std::uint8_t>(value >> i * 8);
    if (at == reset_byte && (byte & initiate_reset)) return Effect::reset;
    const auto next = static_cast<std::uint8_t>(((bytes_[at] & ~writable_[at]) | (byte & writable_[at])) &
                                                ~(byte & clearing_[at]));
    if (next != bytes_[at]) effect = Effect::changed;
    bytes_[at] = next;
  }
  return effect;
}

std::uint64_t ConfigSpace::bar() const noexcept {
  return read(bar0, 4) & ~0xfu;
}

void ConfigSpace::put(std::uint32_t offset, std::uint32_t value, unsigned length) noexcept {
  for (unsigned i = 0; i < length; ++i) bytes_[offset + i] = static_cast<std::uint8_t>(value >> i * 8);
}

void ConfigSpace::writable(std::uint32_t offset, std::uint32_t mask, unsigned length) noexcept {
  for (unsigned i = 0; i < length; ++i) writable_[offset + i] = static_cast<std::uint8_t>(mask >> i * 8);
}

}  // namespace chime::model::pci
