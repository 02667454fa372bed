// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <rte_errno.h>

#include <array>

#include "ring.h"

namespace chime::rdma::test {
namespace {

TEST(Polling, GivesCookiesAndOriginals) {
  Ring ring;
  Operation add = atomic(Opcode::fetch_add, 8);
  add.local = 0;
  for (std::uint64_t i = 0; i < 4; ++i) {
    add.cookie = 100 + i;
    ASSERT_TRUE(ring.post(add));
    ring.results[i] = 0x1000 + i;
    ring.complete(static_cast<std::uint16_t>(i));
  }
  const auto done = ring.poll(3);
  ASSERT_EQ(done.size(), 3u) << "as many as asked for";
  EXPECT_EQ(ring.cq_record.consumer, 3u);
  for (std::size_t i = 0; i < done.size(); ++i) {
    EXPECT_EQ(done[i].cookie, 100 + i);
    EXPECT_EQ(done[i].original, 0x1000 + i);
    EXPECT_EQ(done[i].length, 8u);
    EXPECT_EQ(done[i].kind, static_cast<int>(Opcode::fetch_add));
    EXPECT_EQ(done[i].status, 0);
    EXPECT_EQ(done[i].qpn, Ring::qpn);
  }
  EXPECT_EQ(ring.poll().size(), 1u);
  EXPECT_TRUE(ring.poll().empty());
  EXPECT_EQ(ring.cq_record.consumer, 4u);
}

/// The first completion of a queue pair is the unusual one, and a usual one waits behind it.
TEST(Polling, NeverGivesMoreThanThereIsRoomFor) {
  Ring ring;
  for (std::uint64_t i = 0; i < 8; ++i) {
    Operation add = atomic(Opcode::fetch_add, 8);
    add.local = 0;
    add.cookie = i;
    ASSERT_TRUE(ring.post(add));
    ring.complete(static_cast<std::uint16_t>(i));
  }
  for (std::uint64_t i = 0; i < 8; ++i) {
    std::array<Completion, 2> completions{};
    completions[1].cookie = 77;
    expect(ring.worker, nullptr);
    ASSERT_EQ(rdma::poll(ring.worker, completions.data(), 1), 1);
    EXPECT_EQ(completions[0].cookie, i);
    EXPECT_EQ(completions[1].cookie, 77u) << "no room of the caller's";
  }
  // A write has no original value, which is unusual.
  Operation write = atomic(Opcode::write, 8);
  for (unsigned i = 8; i < 12; ++i) {
    Operation add = atomic(Opcode::fetch_add, 8);
    add.local = 0;
    ASSERT_TRUE(ring.post(i % 2 == 0 ? write : add));
    ring.complete(static_cast<std::uint16_t>(i));
  }
  std::array<Completion, 4> completions{};
  completions[1].cookie = completions[3].cookie = 77;
  ASSERT_EQ(rdma::poll(ring.worker, completions.data(), 1), 1);
  EXPECT_EQ(completions[1].cookie, 77u);
  ASSERT_EQ(rdma::poll(ring.worker, completions.data(), 3), 3);
  EXPECT_EQ(completions[3].cookie, 77u);
}

TEST(Polling, BigEndianOriginalsComeInHostOrder) {
  Ring ring(16, qp_plain_atomics);
  alignas(16) std::uint8_t memory[64] = {};
  const std::uint64_t words[8] = {};
  const auto run = [&](Opcode opcode, std::uint32_t bytes) {
    Operation operation = atomic(opcode, bytes);
    if (bytes > 8) operation.operand[0].words = words;
    operation.local = reinterpret_cast<std::uintptr_t>(memory);
    const auto at = static_cast<std::uint16_t>(ring.qp.produced);
    EXPECT_TRUE(ring.post(operation));
    for (std::size_t i = 0; i < sizeof memory; ++i) memory[i] = static_cast<std::uint8_t>(i + 1);
    ring.complete(at);
    const auto done = ring.poll();
    EXPECT_EQ(done.size(), 1u);
    return done.empty() ? 0 : done[0].original;
  };
  EXPECT_EQ(run(Opcode::fetch_add, 8), 0x0102030405060708u);
  EXPECT_EQ(run(Opcode::swap, 4), 0x01020304u);
  std::uint32_t narrow;
  std::memcpy(&narrow, memory, 4);
  EXPECT_EQ(narrow, 0x01020304u) << "in memory, too";
  EXPECT_EQ(memory[4], 5) << "and no byte more";
  run(Opcode::fetch_add, 32);
  std::uint64_t wide[4];
  std::memcpy(wide, memory, sizeof wide);
  EXPECT_EQ(wide[0], 0x0102030405060708u);
  EXPECT_EQ(wide[3], 0x191a1b1c1d1e1f20u);
  EXPECT_EQ(memory[32], 33);
}

TEST(Polling, RequestsWithoutACompletionMakeRoomNowAndThen) {
  Ring ring;
  Operation quiet = atomic(Opcode::fetch_add, 8);
  quiet.flags = 0;
  unsigned posted = 0;
  while (ring.post(quiet)) ++posted;
  EXPECT_EQ(posted, 16u);
  EXPECT_EQ(rte_errno, EAGAIN);
  unsigned signaled_ones = 0;
  for (std::uint16_t i = 0; i < 16; ++i) {
    const auto& control = *reinterpret_cast<const prm::WqeCtrl*>(ring.wqes[i].bytes);
    if (control.fm_ce_se == 0x08) {
      ++signaled_ones;
      ring.complete(i);
    }
  }
  EXPECT_EQ(signaled_ones, 1u);
  EXPECT_TRUE(ring.poll().empty()) << "nobody asked for it";
  EXPECT_TRUE(ring.post(quiet)) << "there is room again";
}

TEST(Polling, GoesRoundTheRingsAtEveryOffset) {
  Ring ring(16, qp_plain_atomics | qp_host_replies, 4);
  Operation swap = atomic(Opcode::masked_compare_swap, 8);  // two blocks
  swap.local = 0;
  for (std::uint32_t round = 0; round < 200; ++round) {
    // An odd one out shifts the two-block requests by one.
    if (round % 9 == 0) {
      const auto at = static_cast<std::uint16_t>(ring.qp.produced);
      ASSERT_TRUE(ring.post(atomic(Opcode::write, 8)));
      ring.complete(at);
    }
    const auto at = static_cast<std::uint16_t>(ring.qp.produced);
    swap.cookie = round;
    ASSERT_TRUE(ring.post(swap));
    ring.results[at & 15] = round * 3;
    ring.complete(at);
    const auto done = ring.poll();
    ASSERT_EQ(done.size(), round % 9 == 0 ? 2u : 1u);
    EXPECT_EQ(done.back().cookie, round);
    EXPECT_EQ(done.back().original, round * 3);
    ASSERT_EQ(ring.outstanding(), 0u);
  }
}

TEST(Polling, CountersWrapAt65536) {
  Ring ring;
  ring.qp.produced = ring.qp.signaled_at = 0xfffe;
  ring.qp.limit = 0xfffe + 16;
  ring.record.send = 0xfffe;
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(ring.post(atomic(Opcode::write, 8)));
  EXPECT_EQ(ring.record.send, 2u);
  for (std::uint32_t i = 0xfffe; i < 0x10002; ++i) ring.complete(static_cast<std::uint16_t>(i));
  EXPECT_EQ(ring.poll().size(), 4u);
  EXPECT_EQ(ring.outstanding(), 0u);
}

TEST(Polling, ErrorsSayWhatFailedAndTheRestIsFlushed) {
  Ring ring;
  Operation add = atomic(Opcode::fetch_add, 8);
  add.flags = 0;
  ASSERT_TRUE(ring.post(add));
  add.cookie = 7;
  ASSERT_TRUE(ring.post(add));
  add.cookie = 8;
  ASSERT_TRUE(ring.post(add));
  ring.fail(1, 0x13);
  ring.fail(2, 0x05);
  const auto done = ring.poll();
  ASSERT_EQ(done.size(), 2u);
  EXPECT_EQ(done[0].cookie, 7u);
  EXPECT_EQ(done[0].status, 0x13);
  EXPECT_EQ(done[0].vendor_syndrome, 0x99);
  EXPECT_EQ(done[1].cookie, 8u);
  EXPECT_EQ(done[1].status, 0x05);
  EXPECT_EQ(ring.outstanding(), 0u);
  EXPECT_EQ(ring.qp.failure.status, 0x13) << "the first one, not the flushes";
  EXPECT_EQ(ring.qp.failure.rkey, 0x11223344u);
  EXPECT_EQ(ring.qp.failure.remote, 0x123456789a00u);
  EXPECT_EQ(ring.qp.failure.lkey, 0xaabbccddu);
  EXPECT_EQ(ring.qp.failure.local, 0x7f0011223344u);
}

TEST(Polling, ReceivesComeWithLengthAndImmediate) {
  Ring ring;
  Receive receives[9];
  for (std::uint64_t i = 0; i < 9; ++i)
    receives[i] = {.cookie = i, .local = 0x1000 * i, .length = 256, .lkey = 5};
  receives[2].length = 0;
  EXPECT_EQ(post_receives(ring.qp, receives, 9), 8);
  EXPECT_EQ(rte_errno, EAGAIN);
  EXPECT_EQ(ring.record.receive, 8u);
  EXPECT_EQ(ring.receive_wqes[1].byte_count, 256u);
  EXPECT_EQ(ring.receive_wqes[1].address, 0x1000u);
  EXPECT_EQ(ring.receive_wqes[2].lkey, prm::invalid_lkey) << "nothing to write to";

  const prm::cqe_opcode kinds[] = {prm::cqe_opcode::responder_send, prm::cqe_opcode::responder_send_imm,
                                   prm::cqe_opcode::responder_rdma_write_imm};
  for (std::uint16_t i = 0; i < 3; ++i) {
    prm::Cqe& cqe = ring.cqe(ring.written);
    cqe.sop_drop_qpn = Ring::qpn;
    cqe.wqe_counter = i;
    cqe.byte_cnt = 10u + i;
    cqe.imm_inval_pkey = 0xfeed0000u + i;
    cqe.op_own = prm::cqe_op_own(kinds[i], ring.owner(ring.written));
    ++ring.written;
  }
  ring.fail(3, 0x05, 0, prm::cqe_opcode::responder_error);
  const auto done = ring.poll();
  ASSERT_EQ(done.size(), 4u);
  EXPECT_EQ(done[0].kind, receive_send);
  EXPECT_EQ(done[0].imm, 0u);
  EXPECT_EQ(done[1].kind, receive_send_imm);
  EXPECT_EQ(done[1].imm, 0xfeed0001u);
  EXPECT_EQ(done[2].kind, receive_write_imm);
  EXPECT_EQ(done[2].length, 12u);
  EXPECT_EQ(done[2].cookie, 2u);
  EXPECT_EQ(done[3].status, 0x05);
  EXPECT_EQ(done[3].cookie, 3u);
  EXPECT_EQ(post_receives(ring.qp, receives, 9), 4);
}

TEST(Polling, PassesOverDroppedAndForeignCompletions) {
  Ring ring;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(ring.post(atomic(Opcode::write, 8)));
  ring.complete(0, 0x800456);
  ring.complete(0);
  ring.complete(1);
  EXPECT_EQ(drop_completions(ring.worker, Ring::qpn), 2u);
  ring.complete(2);
  const auto done = ring.poll();
  EXPECT_EQ(done.size(), 1u);
  EXPECT_EQ(ring.cq_record.consumer, 4u);
}

}  // namespace
}  // namespace chime::rdma::test
