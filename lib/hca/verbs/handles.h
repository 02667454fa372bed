// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <mutex>

#include "base/array.h"
#include "hca/verbs/handle.h"

namespace chime::hca::verbs {

/// The handles that a device gave out. Thread-safe; a handle is used by whoever has its object.
class Handles {
 public:
  Handles() noexcept = default;
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;

  /// Takes it, until end().
  Handle& adopt(Owned<Handle> handle) noexcept;
  void end(Handle& handle) noexcept;
  /// An object of one kind by its number; nullptr when this device has none.
  const Handle* find(prm::cmd_opcode created_by, std::uint32_t number) noexcept;

 private:
  std::mutex mutex_;
  Handle* newest_ = nullptr;
};

}  // namespace chime::hca::verbs
