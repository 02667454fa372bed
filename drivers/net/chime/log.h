// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <rte_log.h>

#include "base/error.h"

/// @file
/// Log type pmd.net.chime (`--log-level=pmd.net.chime:debug`). Control path only; thread-safe.

namespace chime::net {

enum class LogLevel : std::uint32_t {
  error = RTE_LOG_ERR,
  warning = RTE_LOG_WARNING,
  notice = RTE_LOG_NOTICE,
  debug = RTE_LOG_DEBUG,
};

/// @param port name of the port that speaks
/// @param format printf format, without a line's end
[[gnu::format(printf, 3, 4)]] void log(LogLevel level, const char* port, const char* format, ...) noexcept;

/// Logs an error, once, where lib's Result turns into the errno that DPDK wants.
/// @return the negative errno value
int report(const char* port, const Error& error) noexcept;

}  // namespace chime::net
