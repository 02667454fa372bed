// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "model/card.h"
#include "model/datapath/faults.h"

namespace chime::model {

/// What may be behind a key that gave no access, for the end of a sentence; empty when there is nothing to
/// say.
struct KeyAdvice {
  char text[112] = {};
};

/// @param address that was to be accessed
KeyAdvice key_advice(const Hca::Card& card, Fault fault, std::uint32_t key, std::uint64_t address) noexcept;

}  // namespace chime::model
