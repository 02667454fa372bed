// SPDX-License-Identifier: BSD-3-Clause
#include "hca/object.h"

#include "hca/device.h"

namespace chime::hca {

Object::~Object() {
  if (device_) device_->destroy(handle_);
}

Result<> Object::modify(std::span<const std::byte> in, std::span<std::byte> out) noexcept {
  if (!device_) return fail(EINVAL, "no object to modify: the handle is empty");
  return device_->modify(handle_, in, out);
}

Result<> Object::query(std::span<const std::byte> in, std::span<std::byte> out) const noexcept {
  if (!device_) return fail(EINVAL, "no object to query: the handle is empty");
  return device_->query(handle_, in, out);
}

}  // namespace chime::hca
