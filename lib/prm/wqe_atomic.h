// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "prm/be.h"
#include "prm/wqe.h"

/// @file
/// Atomic work requests: what lies between the remote-address segment and the data segment that takes the
/// original value. Operands are big-endian; those of 16 bytes and more are 8-byte words, each big-endian, in
/// the order of the target's addresses.
///
///     8-byte compare-and-swap or fetch-and-add     masked compare-and-swap of 8 bytes
///     +-------------------------------+            +-------------------------------+
///  00 | control segment, opmod 0      |         00 | control segment, opmod 9      |
///     +-------------------------------+            +-------------------------------+
///  10 | remote address                |         10 | remote address                |
///  18 | rkey          | 0             |         18 | rkey          | 0             |
///     +-------------------------------+            +-------------------------------+
///  20 | swap, or add                  |         20 | swap                          |
///  28 | compare, or 0                 |         28 | compare                       |
///     +-------------------------------+         30 | swap mask                     |
///  30 | 8             | lkey          |         38 | compare mask                  |
///  38 | address of the original value |            +-------------------------------+ second basic block
///     +-------------------------------+         40 | 8             | lkey          |
///     ds 4: one basic block                     48 | address of the original value |
///                                                  +-------------------------------+ ds 5

namespace chime::prm {

/// Compare-and-swap and fetch-and-add of 8 bytes.
struct WqeAtomic {
  Be64 swap_or_add;
  Be64 compare;
};
static_assert(sizeof(WqeAtomic) == 16 && offsetof(WqeAtomic, compare) == 8);

struct WqeMaskedFetchAdd4 {
  Be32 add;
  Be32 field_boundary;  ///< a set bit is the most significant one of a field: no carry leaves it
  Be64 reserved;
};
static_assert(sizeof(WqeMaskedFetchAdd4) == 16 && offsetof(WqeMaskedFetchAdd4, field_boundary) == 4);

struct WqeMaskedFetchAdd8 {
  Be64 add;
  Be64 field_boundary;
};
static_assert(sizeof(WqeMaskedFetchAdd8) == 16 && offsetof(WqeMaskedFetchAdd8, field_boundary) == 8);

struct WqeMaskedCompareSwap4 {
  Be32 swap;
  Be32 compare;
  Be32 swap_mask;
  Be32 compare_mask;
};
static_assert(sizeof(WqeMaskedCompareSwap4) == 16 && offsetof(WqeMaskedCompareSwap4, compare_mask) == 12);

struct WqeMaskedCompareSwap8 {
  Be64 swap;
  Be64 compare;
  Be64 swap_mask;
  Be64 compare_mask;
};
static_assert(sizeof(WqeMaskedCompareSwap8) == 32 && offsetof(WqeMaskedCompareSwap8, compare_mask) == 24);

/// The control segment's opmod of masked operations ("extended atomics") on 2^log_bytes bytes, 4 to 256.
constexpr std::uint8_t wqe_opmod_extended_atomic(unsigned log_bytes) noexcept {
  return static_cast<std::uint8_t>(0x8 | (log_bytes - 2));
}
/// The low three bits of an extended atomic's opmod, when the operands lie behind a data segment.
inline constexpr std::uint8_t wqe_opmod_atomic_pointer = 0xf;

static_assert(wqe_opmod_extended_atomic(2) == 0x8 && wqe_opmod_extended_atomic(3) == 0x9);
static_assert(wqe_opmod_extended_atomic(6) == 0xc && wqe_opmod_extended_atomic(8) == 0xe);

inline constexpr unsigned masked_fetch_add_operands = 2;     ///< add, field boundary
inline constexpr unsigned masked_compare_swap_operands = 4;  ///< swap, compare, swap mask, compare mask

/// 16-byte units of so many operands of 2^log_bytes bytes each.
constexpr std::uint32_t wqe_operand_units(unsigned operands, unsigned log_bytes) noexcept {
  return ((operands << log_bytes) + 15) / 16;
}
/// `ds` of an atomic: control, remote address, operands, where the original value goes.
constexpr std::uint32_t wqe_atomic_ds(unsigned operands, unsigned log_bytes) noexcept {
  return 3 + wqe_operand_units(operands, log_bytes);
}
static_assert(wqe_atomic_ds(masked_fetch_add_operands, 2) == 4);
static_assert(wqe_atomic_ds(masked_fetch_add_operands, 3) == 4);
static_assert(wqe_atomic_ds(masked_compare_swap_operands, 2) == 4);
static_assert(wqe_atomic_ds(masked_compare_swap_operands, 3) == 5);
static_assert(wqe_atomic_ds(masked_compare_swap_operands, 7) == 35);

}  // namespace chime::prm
