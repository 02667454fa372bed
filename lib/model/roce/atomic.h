// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

/// @file
/// What an atomic operation makes of a value. Pure functions; where the value comes from, and in which order
/// its bytes lie there, is the caller's.

namespace chime::model {

enum class AtomicKind : std::uint8_t { compare_swap, fetch_add, masked_compare_swap, masked_fetch_add };
const char* name(AtomicKind kind) noexcept;

inline constexpr unsigned largest_atomic = 256;  ///< bytes
inline constexpr unsigned largest_operands = 4 * largest_atomic;

constexpr unsigned operand_count(AtomicKind kind) noexcept {
  return kind == AtomicKind::masked_compare_swap ? 4 : 2;
}

/// Operands of an atomic in a WQE, and in the packet of an extended one: big-endian numbers of `size` bytes,
///
///     compare and swap          swap, compare
///     fetch and add             add, (not used)
///     masked compare and swap   swap, compare, swap mask, compare mask
///     masked fetch and add      add, field boundary
///
/// padded to 16 bytes in all.
constexpr unsigned operand_bytes(AtomicKind kind, unsigned size) noexcept {
  return (operand_count(kind) * size + 15) / 16 * 16;
}

/// Replaces a value by what the operation makes of it.
///
/// Masked compare and swap: if ((compare ^ old) & compare_mask) == 0, the bits of swap_mask become those of
/// swap. Masked fetch and add: a carry out of a bit that field_boundary has set is dropped.
/// @param value    big-endian number of `size` bytes
/// @param size     8 where the kind has no mask; else 4 to 256, a power of two
/// @param operands as above
void execute_atomic(AtomicKind kind, unsigned size, std::byte* value, const std::byte* operands) noexcept;

/// The same for 8 bytes and less, by number.
std::uint64_t masked_swap(std::uint64_t old, std::uint64_t swap, std::uint64_t compare,
                          std::uint64_t swap_mask, std::uint64_t compare_mask) noexcept;
/// @param carry in: into the lowest bit; out: out of the highest
std::uint64_t masked_add(std::uint64_t old, std::uint64_t add, std::uint64_t boundary, bool& carry) noexcept;

/// In which order the bytes of a value lie in the target's memory.
enum class AtomicOrder : std::uint8_t {
  host,   ///< one number of the host's order
  big,    ///< most significant byte first
  words,  ///< 8-byte words of the host's order, the most significant first
};

const char* name(AtomicOrder order) noexcept;

/// Brings a value from memory order to big-endian, or back.
void reorder_atomic(std::byte* value, unsigned size, AtomicOrder order) noexcept;

}  // namespace chime::model
