// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>

#include "base/array.h"
#include "prm/be.h"

namespace chime::model {

/// Host pages that MANAGE_PAGES gave to the card. A real one keeps its state in them; the model remembers
/// their addresses, so that the host gets them back.
class PageStore {
 public:
  std::uint32_t count() const noexcept { return count_; }

  /// @param list at least `count` addresses, 8 bytes each as in the command
  /// Takes all or, when it fails (ENOMEM), none.
  Result<> give(std::span<const std::byte> list, std::uint32_t count) noexcept;
  /// @param list room for at least `count` addresses. @return as many as there were, at most `count`
  std::uint32_t take(std::span<std::byte> list, std::uint32_t count) noexcept;

 private:
  Array<prm::Be64> pages_;
  std::uint32_t count_ = 0;
};

}  // namespace chime::model
