// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/error.h"

/// @file
/// Where lib's Result turns into the C API's answers.

namespace chime::net {

/// Keeps the sentence for rte_pmd_chime_last_error() and sets rte_errno. @return the negative errno value
int refused(const Error& error) noexcept;

inline int answer(const Result<>& result) noexcept {
  return result ? 0 : refused(result.error());
}

}  // namespace chime::net
