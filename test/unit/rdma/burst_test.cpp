// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <rte_errno.h>

#include "ring.h"

/// @file
/// Bursts: posting builds runs of operations that look alike in one go. They must be what the same operations
/// are that are posted one at a time, wherever a run ends.

namespace chime::rdma::test {
namespace {

/// Plain atomics into the queue pair's own room, each with its own cookie and operand.
std::vector<Operation> plain(std::size_t count, Opcode opcode = Opcode::fetch_add) {
  std::vector<Operation> operations(count, atomic(opcode, 8));
  for (std::size_t i = 0; i < count; ++i) {
    operations[i].cookie = i;
    operations[i].local = 0;
    operations[i].operand[0].value = 0x0102030405060700 + i;
    operations[i].operand[1].value = 0x1112131415161700 + i;
  }
  return operations;
}

std::uint16_t post(Ring& ring, const std::vector<Operation>& operations) {
  return rdma::post(ring.qp, operations.data(), static_cast<std::uint16_t>(operations.size()));
}

/// The ring with its rooms' addresses as offsets, so that two rings can be compared.
std::vector<std::byte> requests(const Ring& ring) {
  std::vector<std::byte> bytes = ring.posted(0, ring.wqes.size() * sizeof(Line));
  const auto first = reinterpret_cast<std::uintptr_t>(ring.results.data());
  for (std::size_t at = 48; at < bytes.size(); at += sizeof(Line)) {
    auto& data = *reinterpret_cast<prm::WqeData*>(bytes.data() + at);
    if (data.lkey == 0x7777u) data.address = data.address - first;
  }
  return bytes;
}

const prm::WqeCtrl& control(const Ring& ring, std::size_t block) {
  return *reinterpret_cast<const prm::WqeCtrl*>(ring.wqes[block].bytes);
}

/// Posts all at once to a ring and one at a time to another; both begin at a basic block.
void expect_same(const std::vector<Operation>& operations, std::uint8_t flags, std::uint32_t begin) {
  Ring at_once(16, flags), singly(16, flags);
  for (Ring* ring : {&at_once, &singly}) {
    for (std::uint32_t i = 0; i < begin; ++i) {
      ASSERT_TRUE(ring->post(atomic(Opcode::write, 8)));
      ring->complete(static_cast<std::uint16_t>(i));
    }
    ASSERT_EQ(ring->poll().size(), begin);
  }
  ASSERT_EQ(post(at_once, operations), operations.size());
  for (const Operation& operation : operations) ASSERT_TRUE(singly.post(operation));
  EXPECT_EQ(hex(requests(at_once)), hex(requests(singly))) << "from block " << begin;
  EXPECT_EQ(at_once.record.send, singly.record.send);
  EXPECT_EQ(at_once.uar, singly.uar) << "one doorbell, of the last request";
  const std::uint32_t end = at_once.qp.produced;
  ASSERT_EQ(end, singly.qp.produced);
  for (std::uint32_t block = begin; block != end; ++block) {
    const SendSlot& one = at_once.slots[block & 15];
    const SendSlot& other = singly.slots[block & 15];
    EXPECT_EQ(one.cookie, other.cookie) << block;
    EXPECT_EQ(one.limit, other.limit) << block;
    EXPECT_EQ(one.kind, other.kind) << block;
    EXPECT_EQ(one.telling, other.telling) << block;
  }
}

TEST(Burst, IsWhatItsOperationsAreOneAtATimeAtEveryPlaceOfTheRing) {
  constexpr std::uint8_t host = qp_plain_atomics | qp_host_replies;
  for (std::uint32_t begin = 0; begin < 16; ++begin) {
    expect_same(plain(16), host, begin);
    expect_same(plain(16, Opcode::compare_swap), host, begin);
    expect_same(plain(16), qp_plain_atomics, begin);
    expect_same(plain(16), host | qp_locked, begin);
  }
}

TEST(Burst, ChangesItsShapeInTheMiddle) {
  constexpr std::uint8_t host = qp_plain_atomics | qp_host_replies;
  std::uint64_t room[16] = {};
  for (std::uint32_t begin : {0u, 9u, 15u}) {
    auto operations = plain(14);
    operations[3].opcode = Opcode::compare_swap;
    operations[4].opcode = Opcode::compare_swap;
    operations[5].flags = signaled | fenced;
    operations[6].flags = signaled | solicited;
    operations[7].local = reinterpret_cast<std::uintptr_t>(&room[7]);
    operations[8] = atomic(Opcode::write, 64);
    operations[9] = atomic(Opcode::masked_compare_swap, 8);  // two blocks
    operations[10] = atomic(Opcode::fetch_add, 4);
    operations[11].reserved = 1;  // tells apart, means nothing
    expect_same(operations, host, begin);
  }
}

TEST(Burst, StopsAtAMisalignedTargetWhereverItIs) {
  for (std::size_t bad = 0; bad < 6; ++bad) {
    Ring ring;
    auto operations = plain(6);
    operations[bad].remote += 4;
    rte_errno = 0;
    EXPECT_EQ(post(ring, operations), bad);
    EXPECT_EQ(ring.qp.refusal, Refusal::misaligned);
    EXPECT_EQ(rte_errno, EINVAL);
    EXPECT_EQ(ring.qp.produced, bad);
    EXPECT_EQ(ring.record.send, bad) << "those before it are on their way";
    EXPECT_EQ(control(ring, bad).qpn_ds, 0u) << "nothing is left of it in the ring";
  }
}

TEST(Burst, ARunWithoutCompletionsOverHalfTheRingHasOneThatMakesRoom) {
  // From each place: where the run begins must not matter.
  for (std::uint32_t begin = 0; begin < 16; ++begin) {
    Ring ring;
    for (std::uint32_t i = 0; i < begin; ++i) {
      ASSERT_TRUE(ring.post(atomic(Opcode::write, 8)));
      ring.complete(static_cast<std::uint16_t>(i));
    }
    ASSERT_EQ(ring.poll().size(), begin);
    auto operations = plain(17);
    for (Operation& operation : operations) operation.flags = 0;
    EXPECT_EQ(post(ring, operations), 16u) << "as many as there is room for";
    EXPECT_EQ(rte_errno, EAGAIN);
    unsigned signaled_ones = 0;
    for (std::uint32_t block = begin; block != begin + 16; ++block) {
      if (control(ring, block & 15).fm_ce_se == 0) continue;
      ++signaled_ones;
      ring.complete(static_cast<std::uint16_t>(block));
    }
    EXPECT_GE(signaled_ones, 1u) << "from block " << begin;
    EXPECT_LE(signaled_ones, 2u) << "from block " << begin;
    EXPECT_TRUE(ring.poll().empty()) << "nobody asked for them";
    EXPECT_GE(16 - ring.outstanding(), 8u) << "half of the ring is free again";
  }
}

TEST(Burst, SignalAllTellsOfEachOperation) {
  Ring ring(16, qp_plain_atomics | qp_host_replies | qp_signal_all);
  auto operations = plain(12);
  for (Operation& operation : operations) operation.flags = 0;
  ASSERT_EQ(post(ring, operations), 12u);
  for (std::uint16_t i = 0; i < 12; ++i) ring.complete(i);
  const auto done = ring.poll();
  ASSERT_EQ(done.size(), 12u);
  for (std::size_t i = 0; i < done.size(); ++i) EXPECT_EQ(done[i].cookie, i);
}

}  // namespace
}  // namespace chime::rdma::test
