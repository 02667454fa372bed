// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <rte_flow.h>

#include <tl/expected.hpp>

#include "base/error.h"

namespace chime::net {

/// Why a rule is refused: an Error, and which part of what the application passed is to blame.
struct FlowError {
  rte_flow_error_type type;
  const void* cause;
  Error error;
};

template <class T = void>
using FlowResult = tl::expected<T, FlowError>;

template <class... Args>
[[nodiscard]] tl::unexpected<FlowError> flow_fail(rte_flow_error_type type, const void* cause, int errnum,
                                                  const char* format, Args... args) noexcept {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"
  return tl::unexpected<FlowError>(FlowError{type, cause, Error::make(errnum, format, args...)});
#pragma GCC diagnostic pop
}

[[nodiscard]] inline tl::unexpected<FlowError> flow_fail(const FlowError& error) noexcept {
  return tl::unexpected<FlowError>(error);
}

/// What the card or memory refused: nothing of the rule is to blame.
[[nodiscard]] inline tl::unexpected<FlowError> flow_fail(const Error& error) noexcept {
  return tl::unexpected<FlowError>(FlowError{RTE_FLOW_ERROR_TYPE_UNSPECIFIED, nullptr, error});
}

}  // namespace chime::net
