// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "base/error.h"
#include "prm/enums.h"

namespace chime::hca {

/// The Error of a command that the card refused, with the errno that the kernel would make of the status.
/// @param words what the card says of it, may be empty
Error refusal(prm::cmd_opcode opcode, prm::cmd_status status, std::uint32_t syndrome,
              const char* words) noexcept;

}  // namespace chime::hca
