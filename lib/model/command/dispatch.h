// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>

#include "model/hca.h"

namespace chime::model {

/// Executes one command on the card; see Hca::command.
void execute(Hca::Card& card, std::span<const std::byte> in, std::span<std::byte> out) noexcept;

}  // namespace chime::model
