// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/array.h"
#include "base/error.h"
#include "hca/model/handle.h"
#include "hca/model/kernel.h"
#include "hca/user_commands.h"

namespace chime::hca::embedded {

/// A user context as the kernel keeps it: what it may ask for, and the objects it made. Commands get its uid
/// and the umem form that the kernel gives them. Used by the thread that steps the HCA.
class UserContext {
 public:
  explicit UserContext(Kernel& kernel) noexcept : kernel_(kernel) {}
  ~UserContext() { close(); }
  UserContext(const UserContext&) = delete;
  UserContext& operator=(const UserContext&) = delete;

  Result<> command(std::span<const std::byte> in, std::span<std::byte> out) noexcept;
  /// @return the new object's handle, owned by the context until destroy()
  Result<Handle*> create(std::span<const std::byte> in, std::span<std::byte> out) noexcept;
  Result<> modify(const Handle& handle, std::span<const std::byte> in, std::span<std::byte> out) noexcept;
  Result<> query(const Handle& handle, std::span<const std::byte> in, std::span<std::byte> out) noexcept;

  /// Takes the handle of an object that the kernel made for the context.
  Handle* adopt(Owned<Handle> handle) noexcept;
  /// Ends an object. One that the card refuses to destroy is reported, and tried again at close().
  void destroy(Handle& handle) noexcept;
  /// Ends all objects, users before what they use.
  void close() noexcept;

  /// Handles of objects of one kind with this number, for what belongs to another object.
  Handle* find(prm::cmd_opcode created_by, std::uint32_t number) noexcept;
  /// Objects that the card refused to destroy; they are reported as they come.
  std::uint32_t refused_destroys() const noexcept { return refused_destroys_; }

 private:
  Result<Array<std::byte>> stamped(std::span<const std::byte> in) noexcept;
  Result<> access(const Result<const Accessor*>& permitted, std::span<const std::byte> in,
                  std::span<std::byte> out) noexcept;
  bool end(Handle& handle) noexcept;
  void unlink(Handle& handle) noexcept;

  Kernel& kernel_;
  Handle* newest_ = nullptr;
  std::uint32_t refused_destroys_ = 0;
};

}  // namespace chime::hca::embedded
