// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <tl/expected.hpp>

/// @file
/// The one error type of lib/ and drivers/: what was tried, what was wrong, what would work.

namespace chime {

/// Why something failed. Plain data of fixed size, so that reporting "out of memory" needs none.
struct Error {
  int errnum = EINVAL;         ///< positive errno value for the caller's caller
  std::uint8_t status = 0;     ///< PRM command status, 0 when no command was refused
  std::uint32_t syndrome = 0;  ///< PRM command syndrome, 0 when no command was refused
  char text[248] = {};         ///< one sentence, NUL-terminated

  /// @param errnum positive errno value
  /// @param format printf format of the sentence; too long a text is cut
  [[gnu::format(printf, 2, 3)]] static Error make(int errnum, const char* format, ...) noexcept {
    Error error;
    error.errnum = errnum;
    std::va_list args;
    va_start(args, format);
    std::vsnprintf(error.text, sizeof error.text, format, args);
    va_end(args);
    return error;
  }

  /// Puts what the caller was doing in front: "start of port 0: CREATE_RQ: ...".
  [[gnu::format(printf, 2, 3)]] Error within(const char* format, ...) const noexcept {
    Error outer = *this;
    std::va_list args;
    va_start(args, format);
    int used = std::vsnprintf(outer.text, sizeof outer.text, format, args);
    va_end(args);
    if (used >= 0 && static_cast<std::size_t>(used) < sizeof outer.text) {
      int more =
          std::snprintf(outer.text + used, sizeof outer.text - static_cast<std::size_t>(used), ": %s", text);
      if (more < 0) outer.text[used] = '\0';
    }
    return outer;
  }
};

template <class T = void>
using Result = tl::expected<T, Error>;

/// `return fail(EINVAL, "queue size %u is not a power of two; 1024 would be", n);`
template <class... Args>
[[nodiscard]] tl::unexpected<Error> fail(int errnum, const char* format, Args... args) noexcept {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"
  return tl::unexpected<Error>(Error::make(errnum, format, args...));
#pragma GCC diagnostic pop
}

[[nodiscard]] inline tl::unexpected<Error> fail(const Error& error) noexcept {
  return tl::unexpected<Error>(error);
}

}  // namespace chime
