// SPDX-License-Identifier: BSD-3-Clause
#include <random>

#include "cards.h"

/// @file
/// Atomics end to end, against plain arithmetic.

namespace chime::rdma::test {
namespace {

using Words = std::vector<std::uint64_t>;  // most significant first; of 4 and 8 bytes: one

/// What an operation makes of a value, bit by bit.
Words expected(Opcode opcode, std::uint32_t bytes, const Words& old, const std::vector<Words>& operands) {
  const std::size_t bits = bytes * 8;
  const auto bit = [&](const Words& words, std::size_t i) {  // 0 is the least significant
    return words[words.size() - 1 - i / 64] >> i % 64 & 1;
  };
  const auto set = [&](Words& words, std::size_t i, std::uint64_t value) {
    std::uint64_t& word = words[words.size() - 1 - i / 64];
    word = (word & ~(std::uint64_t{1} << i % 64)) | value << i % 64;
  };
  Words result = old;
  const auto add = [&](auto boundary) {
    std::uint64_t carry = 0;
    for (std::size_t i = 0; i < bits; ++i) {
      const std::uint64_t sum = bit(old, i) + bit(operands[0], i) + carry;
      set(result, i, sum & 1);
      carry = boundary(i) ? 0 : sum >> 1;
    }
  };
  switch (opcode) {
    case Opcode::fetch_add:
      add([](std::size_t) { return false; });
      break;
    case Opcode::masked_fetch_add:
      add([&](std::size_t i) { return bit(operands[1], i) != 0; });
      break;
    case Opcode::compare_swap:
      for (std::size_t i = 0; i < bits; ++i)
        if (bit(old, i) != bit(operands[1], i)) return old;
      for (std::size_t i = 0; i < bits; ++i) set(result, i, bit(operands[0], i));
      break;
    case Opcode::masked_compare_swap:
      for (std::size_t i = 0; i < bits; ++i)
        if (bit(operands[3], i) && bit(old, i) != bit(operands[1], i)) return old;
      for (std::size_t i = 0; i < bits; ++i)
        if (bit(operands[2], i)) set(result, i, bit(operands[0], i));
      break;
    case Opcode::fetch_and:
      for (std::size_t i = 0; i < bits; ++i) set(result, i, bit(old, i) & bit(operands[0], i));
      break;
    case Opcode::fetch_or:
      for (std::size_t i = 0; i < bits; ++i) set(result, i, bit(old, i) | bit(operands[0], i));
      break;
    case Opcode::fetch_xor:
      for (std::size_t i = 0; i < bits; ++i) set(result, i, bit(old, i) ^ bit(operands[0], i));
      break;
    default:
      for (std::size_t i = 0; i < bits; ++i) set(result, i, bit(operands[0], i));
  }
  return result;
}

class Atomics : public Cards {
 protected:
  /// Executes one on the value at 0. @return the original value
  Words execute(Opcode opcode, std::uint32_t bytes, const std::vector<Words>& operands) {
    Operation op = operation(opcode, bytes, 4096);
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (bytes > 8)
        op.operand[i].words = operands[i].data();
      else
        op.operand[i].value = operands[i][0];
    }
    const auto done = run(op);
    if (done.size() != 1 || done[0].status != 0) {
      ADD_FAILURE() << (done.empty() ? "nothing" : std::to_string(done[0].status));
      return Words(std::max<std::size_t>(1, bytes / 8));
    }
    if (bytes <= 8) return {done[0].original};
    const auto* first = &a.at<std::uint64_t>(4096);
    return {first, first + bytes / 8};
  }
  std::mt19937_64 random{20};
  Words value(std::uint32_t bytes) {
    Words words(std::max<std::size_t>(1, bytes / 8));
    for (auto& word : words) word = bytes == 4 ? random() & 0xffffffff : random();
    return words;
  }
};

TEST_F(Atomics, AThousandAdditionsAreReadBack) {
  connect();
  for (std::uint64_t i = 0; i < 1000; ++i) {
    Operation add = operation(Opcode::fetch_add, 8);
    add.local = 0;
    add.operand[0].value = 1;
    const auto done = run(add);
    ASSERT_EQ(done.size(), 1u);
    ASSERT_EQ(done[0].status, 0);
    ASSERT_EQ(done[0].original, i);
    ASSERT_EQ(done[0].cookie, 42u);
  }
  EXPECT_EQ(b.at<std::uint64_t>(0), 1000u);
  ASSERT_EQ(run(operation(Opcode::read, 8, 64)).size(), 1u);
  EXPECT_EQ(a.at<std::uint64_t>(64), 1000u);
}

TEST_F(Atomics, EveryOperationAtEverySizeIsPlainArithmetic) {
  connect();
  const AtomicSizes offered = a.session->capabilities().atomics();
  unsigned tried = 0;
  for (auto kind = static_cast<unsigned>(Opcode::fetch_add); kind < opcodes; ++kind) {
    const auto opcode = static_cast<Opcode>(kind);
    for (unsigned log = 2; log <= 8; ++log) {
      if (!(offered.sizes[kind] >> log & 1)) continue;
      const std::uint32_t bytes = 1u << log;
      Words now = value(bytes);
      execute(Opcode::swap, bytes, {now});
      for (int round = 0; round < 20; ++round) {
        std::vector<Words> operands = {value(bytes), value(bytes), value(bytes), value(bytes)};
        // Comparisons that hold, half of the time.
        if (round % 2 == 0) operands[1] = opcode == Opcode::masked_fetch_add ? operands[1] : now;
        ASSERT_EQ(execute(opcode, bytes, operands), now) << kind << " of " << bytes;
        now = expected(opcode, bytes, now, operands);
        ++tried;
      }
    }
  }
  EXPECT_GT(tried, 500u) << "the default card offers all";
}

TEST_F(Atomics, AllKindsOfFieldBoundaries) {
  connect();
  for (std::uint32_t bytes : {4u, 8u}) {
    Words now = value(bytes);
    execute(Opcode::swap, bytes, {now});
    for (int round = 0; round < 300; ++round) {
      // Sparse, dense and any.
      Words boundary = value(bytes);
      if (round % 3 == 0) boundary[0] &= value(bytes)[0] & value(bytes)[0];
      if (round % 3 == 1) boundary[0] |= value(bytes)[0] | value(bytes)[0];
      const std::vector<Words> operands = {value(bytes), boundary};
      ASSERT_EQ(execute(Opcode::masked_fetch_add, bytes, operands), now);
      now = expected(Opcode::masked_fetch_add, bytes, now, operands);
    }
    if (bytes == 8) {
      EXPECT_EQ(b.at<std::uint64_t>(0), now[0]) << "host order in the target's memory";
    }
  }
}

TEST_F(Atomics, TwoBlockRequestsGoOverTheRingsEndAtEveryOffset) {
  connect();
  Words now{0};
  for (int round = 0; round < 200; ++round) {
    if (round % 3 == 0) {
      ASSERT_EQ(run(operation(Opcode::write, 16, 128, 128)).size(), 1u);
    }
    const std::vector<Words> operands = {value(8), now, value(8), {~std::uint64_t{0}}};
    ASSERT_EQ(execute(Opcode::masked_compare_swap, 8, operands), now);
    now = expected(Opcode::masked_compare_swap, 8, now, operands);
  }
}

TEST_F(Atomics, ABurstIsExecutedInOrderUpToTheRingsSize) {
  connect();
  std::vector<Operation> burst(100, operation(Opcode::fetch_add, 8));
  for (auto& op : burst) {
    op.local = 0;
    op.operand[0].value = 3;
  }
  const std::uint16_t taken = post(a.fast(), burst.data(), 100);
  EXPECT_EQ(taken, 64);
  EXPECT_EQ(a.fast().refusal, Refusal::full);
  const auto done = wait(a, taken);
  for (std::size_t i = 0; i < done.size(); ++i) EXPECT_EQ(done[i].original, 3 * i);
  EXPECT_EQ(post(a.fast(), burst.data(), 36), 36);
  EXPECT_EQ(wait(a, 36).back().original, 3u * 99);
}

TEST_F(Atomics, TwoQueuePairsShareOneTarget) {
  connect();
  auto other_near = a.session->make_qp(*a.worker, usual_qp());
  auto other_far = b.session->make_qp(*b.worker, usual_qp());
  ASSERT_TRUE(other_near && other_far);
  ASSERT_TRUE((*other_near)->object->connect((*other_far)->object->local(), usual_path()));
  ASSERT_TRUE((*other_far)->object->connect((*other_near)->object->local(), usual_path()));
  std::vector<Operation> burst(30, operation(Opcode::fetch_add, 8));
  for (auto& op : burst) {
    op.local = 0;
    op.operand[0].value = 1;
  }
  EXPECT_EQ(post(a.fast(), burst.data(), 30), 30);
  EXPECT_EQ(post((*other_near)->object->fast(), burst.data(), 30), 30);
  std::vector<bool> seen(60);
  for (const Completion& c : wait(a, 60)) {
    ASSERT_EQ(c.status, 0);
    ASSERT_LT(c.original, 60u);
    EXPECT_FALSE(seen[c.original]) << "two got " << c.original;
    seen[c.original] = true;
  }
  EXPECT_EQ(b.at<std::uint64_t>(0), 60u);
  Session::free(*other_near);
  Session::free(*other_far);
}

}  // namespace
}  // namespace chime::rdma::test
