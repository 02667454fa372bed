// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>

#include "prm/enums.h"

namespace chime::hca::embedded {

/// Sets the *_umem_valid bits of a command that lays an object on memory: a user context has no page lists.
/// Commands without such bits stay as they are, as do keys over other keys (KLM, KSM).
void set_umem_form(prm::cmd_opcode opcode, std::span<std::byte> in) noexcept;

}  // namespace chime::hca::embedded
