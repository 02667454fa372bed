// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "base/error.h"

namespace chime::hca {

class Device;

/// An object of the HCA. It lives as long as this handle: there is no destroy command for a user context, the
/// end of the handle is the end of the object. Ending one that others still use is a programming error: order
/// members so that users go first. Process-local, for control threads. Must not outlive its Device.
class Object {
 public:
  Object() noexcept = default;
  Object(Object&& other) noexcept { swap(other); }
  Object& operator=(Object&& other) noexcept {
    Object(std::move(other)).swap(*this);
    return *this;
  }
  ~Object();

  explicit operator bool() const noexcept { return device_ != nullptr; }
  /// The number that the create command returned.
  std::uint32_t number() const noexcept { return number_; }
  Device& device() const noexcept { return *device_; }
  std::uint64_t handle() const noexcept { return handle_; }

  /// MODIFY_* and QUERY_* of this object; raw commands (the typed forms are in hca/command.h).
  Result<> modify(std::span<const std::byte> in, std::span<std::byte> out) noexcept;
  Result<> query(std::span<const std::byte> in, std::span<std::byte> out) const noexcept;

 private:
  friend class Device;
  Object(Device& device, std::uint64_t handle, std::uint32_t number) noexcept
      : device_(&device), handle_(handle), number_(number) {}
  void swap(Object& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(handle_, other.handle_);
    std::swap(number_, other.number_);
  }

  Device* device_ = nullptr;
  std::uint64_t handle_ = 0;  ///< the backend's: an mlx5dv_devx_obj*, or an index
  std::uint32_t number_ = 0;
};

}  // namespace chime::hca
