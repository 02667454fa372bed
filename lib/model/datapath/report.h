// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <bit>
#include <cstdint>

#include "model/card.h"
#include "model/datapath/faults.h"

namespace chime::model {

/// One sentence of Diagnostics, under the fault's rule and severity.
template <class... Args>
void report(Hca::Card& card, Fault fault, std::uint32_t object, const char* format, Args... args) noexcept {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"
  card.find(info(fault).rule, info(fault).severity, object, format, args...);
#pragma GCC diagnostic pop
}

/// Whether the `count`-th event of one kind is worth a sentence: the 1st, 2nd, 4th, 8th ...
constexpr bool worth_a_word(std::uint64_t count) noexcept {
  return std::has_single_bit(count);
}

}  // namespace chime::model
