// SPDX-License-Identifier: BSD-3-Clause
#include "model/pci/vendor_space.h"

namespace chime::model::pci {
namespace {

constexpr std::uint32_t control = 0x04;
constexpr std::uint32_t counter = 0x08;
constexpr std::uint32_t semaphore = 0x0c;
constexpr std::uint32_t address_at = 0x10;
constexpr std::uint32_t data_at = 0x14;

constexpr std::uint32_t flag = 1u << 31;
constexpr std::uint32_t address_bits = (1u << 30) - 1;
constexpr std::uint32_t space_there = 1u << 29;

/// Who holds a semaphore keeps it until it writes 0.
void take(std::uint32_t& owner, std::uint32_t value) noexcept {
  if (owner == 0 || value == 0) owner = value;
}

}  // namespace

std::uint32_t VendorSpace::read(std::uint32_t offset) noexcept {
  switch (offset) {
    case control:
      return space_ | (space_ == semaphore_space ? space_there : 0);
    case counter:
      return ++counter_;
    case semaphore:
      return owner_;
    case address_at:
      return address_;
    case data_at:
      return data_;
    default:
      return 0;
  }
}

void VendorSpace::write(std::uint32_t offset, std::uint32_t value) noexcept {
  switch (offset) {
    case control:
      space_ = static_cast<std::uint16_t>(value);
      break;
    case semaphore:
      take(owner_, value);
      break;
    case address_at:
      transfer(value);
      break;
    case data_at:
      data_ = value;
      break;
    default:
      break;
  }
}

void VendorSpace::transfer(std::uint32_t address) noexcept {
  const std::uint32_t at = address & address_bits;
  const bool there = space_ == semaphore_space && at < semaphores;
  if (address & flag) {
    if (there) take(semaphore_[at], data_);
    address_ = at;
  } else {
    data_ = there ? semaphore_[at] : 0;
    address_ = at | flag;
  }
}

}  // namespace chime::model::pci
