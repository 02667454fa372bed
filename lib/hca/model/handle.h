// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/error.h"
#include "prm/enums.h"

namespace chime::hca::embedded {

class Kernel;
class UarHandle;

/// What the kernel keeps of an object that a user context made: how to destroy it, and what it holds for it.
/// Resources are released by the destructor, after the card has let go.
class Handle {
 public:
  explicit Handle(prm::cmd_opcode created_by) noexcept : created_by_(created_by) {}
  virtual ~Handle() = default;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  /// Destroys the object on the card.
  virtual Result<> end(Kernel& kernel) noexcept;
  /// The card kept the object though its handle has gone: what must not be reached any more is taken away.
  virtual void abandon() noexcept {}

  prm::cmd_opcode created_by() const noexcept { return created_by_; }

  std::uint32_t number = 0;
  std::uint32_t uar_page = 0;     ///< of a CQ
  UarHandle* armed_on = nullptr;  ///< of a CQ that has a cell there
  bool abandoned = false;
  Handle* older = nullptr;  ///< in the list of the user context
  Handle* newer = nullptr;

  /// The destroy command, to be written: `size` bytes, at most 64.
  std::span<std::byte> prepare_destroy(std::size_t size) noexcept {
    destroy_size_ = size;
    return std::span(destroy_).first(size);
  }

 private:
  prm::cmd_opcode created_by_;
  std::size_t destroy_size_ = 0;
  alignas(8) std::array<std::byte, 64> destroy_{};
};

}  // namespace chime::hca::embedded
