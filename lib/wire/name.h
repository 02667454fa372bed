// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstring>

namespace chime::wire {

/// The name of a port or cable, as long as ethdev lets it be.
class Name {
 public:
  static constexpr std::size_t capacity = 64;  ///< RTE_ETH_NAME_MAX_LEN

  static bool fits(const char* text) noexcept { return std::strlen(text) < capacity; }

  Name() noexcept = default;
  Name& operator=(const char* text) noexcept {
    std::size_t length = strnlen(text, capacity - 1);
    std::memcpy(text_.data(), text, length);
    text_[length] = '\0';
    return *this;
  }
  const char* text() const noexcept { return text_.data(); }
  bool empty() const noexcept { return text_[0] == '\0'; }
  bool operator==(const char* text) const noexcept { return std::strcmp(text_.data(), text) == 0; }

 private:
  std::array<char, capacity> text_{};
};

}  // namespace chime::wire
