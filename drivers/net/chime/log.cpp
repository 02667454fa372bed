// SPDX-License-Identifier: BSD-3-Clause
#include "log.h"

#include <cstdarg>
#include <cstdio>

RTE_LOG_REGISTER(chime_logtype, pmd.net.chime, NOTICE)

namespace chime::net {

void log(LogLevel level, const char* port, const char* format, ...) noexcept {
  if (!rte_log_can_log(static_cast<std::uint32_t>(chime_logtype), static_cast<std::uint32_t>(level))) return;
  char text[512];
  std::va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof text, format, args);
  va_end(args);
  rte_log(static_cast<std::uint32_t>(level), static_cast<std::uint32_t>(chime_logtype), "%s: %s\n", port,
          text);
}

int report(const char* port, const Error& error) noexcept {
  log(LogLevel::error, port, "%s", error.text);
  return -error.errnum;
}

}  // namespace chime::net
