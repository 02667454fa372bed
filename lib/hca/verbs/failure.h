// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>

#include "base/error.h"
#include "prm/enums.h"

namespace chime::hca::verbs {

/// The Error of a command that did not succeed: what the card said, when it was asked, or else the kernel's
/// errno.
/// @param errnum as a call of rdma-core returned or set it, of either sign
Error command_failure(prm::cmd_opcode opcode, int errnum, std::span<const std::byte> out) noexcept;

/// The Error of another call of rdma-core or the kernel: "ibv_reg_mr of 4096 bytes: Cannot allocate memory",
/// and what would mend it where that is known.
Error call_failure(const char* call, int errnum) noexcept;

}  // namespace chime::hca::verbs
