// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

/// @file
/// What a completion's error means, and what to do: one table for rte_pmd_chime_strerror() and
/// `chime explain`.

namespace chime::rdma {

struct Explanation {
  std::uint8_t syndrome;
  const char* name;    ///< "remote access error"
  const char* causes;  ///< likely ones
  const char* remedy;
  const char* sentence;  ///< all in one
};
/// By syndrome, ascending.
std::span<const Explanation> explanations() noexcept;
/// nullptr for a syndrome that the manual does not have.
const Explanation* find_explanation(std::uint8_t syndrome) noexcept;

/// The five classic traps.
struct Trap {
  const char* name;  ///< "doorbell-before-record"
  const char* symptom;
  const char* cause;
  const char* remedy;
};
std::span<const Trap> traps() noexcept;
const Trap* find_trap(std::string_view name) noexcept;

/// A sentence that lives as long as the program, for any status.
const char* sentence_of(std::uint8_t status) noexcept;

}  // namespace chime::rdma
