// SPDX-License-Identifier: BSD-3-Clause
#include "model/roce/atomic.h"

#include <algorithm>

#include "model/packet/bytes.h"

namespace chime::model {
namespace {

using net::load_be;
using net::store_be;
constexpr unsigned word = 8;

/// Larger numbers: words from the least significant, which comes last.
void swap_words(unsigned size, std::byte* value, const std::byte* operands) noexcept {
  const std::byte *swap = operands, *compare = swap + size, *swap_mask = compare + size,
                  *compare_mask = swap_mask + size;
  for (unsigned at = 0; at < size; at += word) {
    const std::uint64_t old = load_be<std::uint64_t>(value + at);
    if (((load_be<std::uint64_t>(compare + at) ^ old) & load_be<std::uint64_t>(compare_mask + at)) != 0) {
      return;
    }
  }
  for (unsigned at = 0; at < size; at += word) {
    const std::uint64_t old = load_be<std::uint64_t>(value + at);
    store_be(value + at, masked_swap(old, load_be<std::uint64_t>(swap + at), old,
                                     load_be<std::uint64_t>(swap_mask + at), 0));
  }
}

void add_words(unsigned size, std::byte* value, const std::byte* operands) noexcept {
  const std::byte *add = operands, *boundary = operands + size;
  bool carry = false;
  for (unsigned at = size; at != 0;) {
    at -= word;
    store_be(value + at, masked_add(load_be<std::uint64_t>(value + at), load_be<std::uint64_t>(add + at),
                                    load_be<std::uint64_t>(boundary + at), carry));
  }
}

template <class T>
void execute(AtomicKind kind, std::byte* value, const std::byte* operands) noexcept {
  const auto operand = [&](unsigned i) { return std::uint64_t{load_be<T>(operands + i * sizeof(T))}; };
  const std::uint64_t old = load_be<T>(value);
  std::uint64_t result = old;
  bool carry = false;
  switch (kind) {
    case AtomicKind::compare_swap:
      result = masked_swap(old, operand(0), operand(1), ~std::uint64_t{0}, ~std::uint64_t{0});
      break;
    case AtomicKind::fetch_add:
      result = old + operand(0);
      break;
    case AtomicKind::masked_compare_swap:
      result = masked_swap(old, operand(0), operand(1), operand(2), operand(3));
      break;
    case AtomicKind::masked_fetch_add:
      result = masked_add(old, operand(0), operand(1), carry);
      break;
  }
  store_be(value, static_cast<T>(result));
}

}  // namespace

const char* name(AtomicKind kind) noexcept {
  switch (kind) {
    case AtomicKind::compare_swap:
      return "compare and swap";
    case AtomicKind::fetch_add:
      return "fetch and add";
    case AtomicKind::masked_compare_swap:
      return "masked compare and swap";
    case AtomicKind::masked_fetch_add:
      return "masked fetch and add";
  }
  return "?";
}

const char* name(AtomicOrder order) noexcept {
  switch (order) {
    case AtomicOrder::host:
      return "host";
    case AtomicOrder::big:
      return "big";
    case AtomicOrder::words:
      return "words";
  }
  return "?";
}

std::uint64_t masked_swap(std::uint64_t old, std::uint64_t swap, std::uint64_t compare,
                          std::uint64_t swap_mask, std::uint64_t compare_mask) noexcept {
  if (((compare ^ old) & compare_mask) != 0) return old;
  return (old & ~swap_mask) | (swap & swap_mask);
}

std::uint64_t masked_add(std::uint64_t old, std::uint64_t add, std::uint64_t boundary, bool& carry) noexcept {
  // Without the fields' highest bits nothing is carried across a boundary; they are added without carry.
  constexpr unsigned last_bit = 63;
  const std::uint64_t low = (old & ~boundary) + (add & ~boundary);
  const std::uint64_t sum = low + (carry ? 1 : 0);
  const std::uint64_t result = sum ^ ((old ^ add) & boundary);
  const bool overflow = low < (add & ~boundary) || sum < low;
  carry = overflow && (boundary >> last_bit & 1) == 0;
  return result;
}

void execute_atomic(AtomicKind kind, unsigned size, std::byte* value, const std::byte* operands) noexcept {
  if (size == 4) return execute<std::uint32_t>(kind, value, operands);
  if (size == 8) return execute<std::uint64_t>(kind, value, operands);
  if (kind == AtomicKind::masked_compare_swap) return swap_words(size, value, operands);
  add_words(size, value, operands);
}

void reorder_atomic(std::byte* value, unsigned size, AtomicOrder order) noexcept {
  if (order == AtomicOrder::big || std::endian::native == std::endian::big) return;
  const unsigned unit = order == AtomicOrder::words ? std::min(size, word) : size;
  for (std::byte* at = value; at != value + size; at += unit) std::reverse(at, at + unit);
}

}  // namespace chime::model
