// SPDX-License-Identifier: BSD-3-Clause
#include "model/roce/atomic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "../packet/frames.h"

namespace chime {
namespace {

using model::AtomicKind;
using model::AtomicOrder;
using test::Bytes;

/// A number as its bits, the least significant first: arithmetic as it is done by hand.
using Bits = std::vector<bool>;

Bits bits_of(const Bytes& big) {
  Bits bits;
  for (auto byte = big.rbegin(); byte != big.rend(); ++byte) {
    for (unsigned i = 0; i < 8; ++i) bits.push_back((static_cast<unsigned>(*byte) >> i & 1) != 0);
  }
  return bits;
}

Bytes bytes_of(const Bits& bits) {
  Bytes big(bits.size() / 8);
  for (std::size_t i = 0; i < bits.size(); ++i) {
    if (bits[i]) big[big.size() - 1 - i / 8] |= static_cast<std::byte>(1u << i % 8);
  }
  return big;
}

Bytes add_by_hand(const Bytes& old, const Bytes& add, const Bytes& boundary) {
  const Bits a = bits_of(old), b = bits_of(add), end = bits_of(boundary);
  Bits sum(a.size());
  int carry = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const int column = int{a[i]} + int{b[i]} + carry;
    sum[i] = (column & 1) != 0;
    carry = end[i] ? 0 : column >> 1;
  }
  return bytes_of(sum);
}

Bytes swap_by_hand(const Bytes& old, const Bytes& swap, const Bytes& compare, const Bytes& swap_mask,
                   const Bytes& compare_mask) {
  Bytes result = old;
  for (std::size_t i = 0; i < old.size(); ++i) {
    if (((compare[i] ^ old[i]) & compare_mask[i]) != std::byte{0}) return old;
    result[i] = (old[i] & ~swap_mask[i]) | (swap[i] & swap_mask[i]);
  }
  return result;
}

struct Random {
  std::mt19937_64 engine{20240611};

  Bytes number(std::size_t size) {
    Bytes bytes(size);
    for (std::byte& b : bytes) b = static_cast<std::byte>(engine());
    return bytes;
  }
  /// Numbers that are all alike in long stretches, so that carries go far.
  Bytes runs(std::size_t size) {
    Bytes bytes(size);
    for (std::byte& b : bytes) {
      b = std::array{std::byte{0x00}, std::byte{0xff}, std::byte{0x80}, std::byte{0x7f},
                     static_cast<std::byte>(engine())}[engine() % 5];
    }
    return bytes;
  }
};

Bytes run(AtomicKind kind, const Bytes& value, std::initializer_list<Bytes> operands) {
  Bytes all;
  for (const Bytes& o : operands) all.insert(all.end(), o.begin(), o.end());
  all.resize(std::max<std::size_t>(all.size(), 16));
  Bytes result = value;
  model::execute_atomic(kind, static_cast<unsigned>(value.size()), result.data(), all.data());
  return result;
}

constexpr std::size_t sizes[] = {4, 8, 16, 32, 64, 128, 256};

TEST(Atomic, MaskedAddAtEverySize) {
  Random random;
  for (std::size_t size : sizes) {
    for (int i = 0; i < 500; ++i) {
      const Bytes old = i % 2 ? random.number(size) : random.runs(size);
      const Bytes add = i % 3 ? random.runs(size) : random.number(size);
      const Bytes boundary = i % 5 ? random.runs(size) : random.number(size);
      ASSERT_EQ(run(AtomicKind::masked_fetch_add, old, {add, boundary}), add_by_hand(old, add, boundary))
          << size;
    }
  }
}

/// Sparse, dense and regular patterns of boundaries: every single bit, every pair, every field width.
TEST(Atomic, BoundaryPatterns) {
  Random random;
  for (std::size_t size : {std::size_t{4}, std::size_t{8}}) {
    const std::size_t bits = size * 8;
    const auto check = [&](const Bits& pattern) {
      const Bytes boundary = bytes_of(pattern);
      for (int i = 0; i < 3; ++i) {
        const Bytes old = i ? random.runs(size) : Bytes(size, std::byte{0xff}), add = random.runs(size);
        ASSERT_EQ(run(AtomicKind::masked_fetch_add, old, {add, boundary}), add_by_hand(old, add, boundary));
      }
    };
    for (std::size_t a = 0; a < bits; ++a) {
      for (std::size_t b = a; b < bits; ++b) {
        Bits pattern(bits);
        pattern[a] = pattern[b] = true;
        check(pattern);
      }
    }
    for (std::size_t width = 1; width <= bits; ++width) {
      Bits pattern(bits);
      for (std::size_t i = width - 1; i < bits; i += width) pattern[i] = true;
      check(pattern);
    }
    for (int i = 0; i < 3000; ++i) check(bits_of(random.number(size)));
  }
}

TEST(Atomic, NoBoundaryIsOneAdditionAndAllAreXor) {
  Random random;
  for (std::size_t size : sizes) {
    const Bytes old = random.number(size), add = random.number(size);
    Bytes xored = old;
    for (std::size_t i = 0; i < size; ++i) xored[i] ^= add[i];
    EXPECT_EQ(run(AtomicKind::masked_fetch_add, old, {add, Bytes(size, std::byte{0xff})}), xored);
    Bytes one(size), all(size, std::byte{0xff});
    one.back() = std::byte{1};
    EXPECT_EQ(run(AtomicKind::masked_fetch_add, all, {one, Bytes(size)}), Bytes(size)) << size;
  }
}

TEST(Atomic, MaskedSwapAtEverySize) {
  Random random;
  for (std::size_t size : sizes) {
    int swapped = 0;
    for (int i = 0; i < 500; ++i) {
      const Bytes old = random.number(size), swap = random.number(size);
      const Bytes swap_mask = random.runs(size);
      Bytes compare = i % 2 ? old : random.number(size), compare_mask = random.runs(size);
      if (i % 4 == 0) compare_mask = Bytes(size);
      if (i % 8 == 1) compare[random.engine() % size] ^= std::byte{0x10};
      const Bytes expected = swap_by_hand(old, swap, compare, swap_mask, compare_mask);
      ASSERT_EQ(run(AtomicKind::masked_compare_swap, old, {swap, compare, swap_mask, compare_mask}), expected)
          << size;
      swapped += expected != old;
    }
    EXPECT_GT(swapped, 100);
    EXPECT_LT(swapped, 500);
  }
}

TEST(Atomic, PlainOnes) {
  Random random;
  for (int i = 0; i < 1000; ++i) {
    const Bytes old = random.runs(8), operand = random.runs(8), other = i % 2 ? old : random.number(8);
    EXPECT_EQ(run(AtomicKind::fetch_add, old, {operand, other}), add_by_hand(old, operand, Bytes(8)));
    EXPECT_EQ(run(AtomicKind::compare_swap, old, {operand, other}), other == old ? operand : old);
  }
}

TEST(Atomic, OrdersOfMemory) {
  const auto number = [](std::initializer_list<int> list) {
    Bytes bytes;
    for (int i : list) bytes.push_back(static_cast<std::byte>(i));
    return bytes;
  };
  const Bytes big = number({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16});
  const auto ordered = [&](AtomicOrder order) {
    Bytes bytes = big;
    model::reorder_atomic(bytes.data(), 16, order);
    return bytes;
  };
  EXPECT_EQ(ordered(AtomicOrder::big), big);
  EXPECT_EQ(ordered(AtomicOrder::host), Bytes(big.rbegin(), big.rend()));
  EXPECT_EQ(ordered(AtomicOrder::words), number({8, 7, 6, 5, 4, 3, 2, 1, 16, 15, 14, 13, 12, 11, 10, 9}));
}

TEST(Atomic, OperandBlocks) {
  EXPECT_EQ(model::operand_bytes(AtomicKind::fetch_add, 8), 16u);
  EXPECT_EQ(model::operand_bytes(AtomicKind::masked_fetch_add, 4), 16u);
  EXPECT_EQ(model::operand_bytes(AtomicKind::masked_compare_swap, 4), 16u);
  EXPECT_EQ(model::operand_bytes(AtomicKind::masked_compare_swap, 8), 32u);
  EXPECT_EQ(model::operand_bytes(AtomicKind::masked_compare_swap, 256), 1024u);
}

}  // namespace
}  // namespace chime
