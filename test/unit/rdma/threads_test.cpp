// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "prm/wqe_atomic.h"
#include "ring.h"

/// @file
/// Posting and polling on one thread and a card on another, for ThreadSanitizer: what either reads must have
/// been handed over by the other, through the doorbell record and the last word of a CQE.

namespace chime::rdma::test {
namespace {

constexpr std::uint32_t requests = 20'000;
constexpr std::uint32_t blocks = 64;

/// Executes fetch-and-adds of 8 bytes as their requests say, one word for all of them.
void serve(Ring& ring, std::uint64_t& word, std::uint32_t count) {
  for (std::uint32_t done = 0; done != count;) {
    const std::uint32_t record = std::atomic_ref(ring.record.send.raw).load(std::memory_order_acquire);
    if (static_cast<std::uint16_t>(prm::host_to_be(record)) == static_cast<std::uint16_t>(done)) {
      std::this_thread::yield();
      continue;
    }
    const std::byte* wqe = ring.wqes[done % blocks].bytes;
    const auto& control = *reinterpret_cast<const prm::WqeCtrl*>(wqe);
    const auto& add = *reinterpret_cast<const prm::WqeAtomic*>(wqe + 32);
    const auto& data = *reinterpret_cast<const prm::WqeData*>(wqe + 48);
    EXPECT_EQ(control.opmod_idx_opcode,
              prm::wqe_opmod_idx_opcode(0, static_cast<std::uint16_t>(done), prm::wqe_opcode::atomic_fa));
    *reinterpret_cast<std::uint64_t*>(std::uint64_t{data.address}) = word;
    word += add.swap_or_add;
    const std::uint64_t last = std::uint64_t{0x12} << 56 | std::uint64_t{Ring::qpn} << 32 |
                               std::uint64_t{done & 0xffff} << 16 |
                               prm::cqe_op_own(prm::cqe_opcode::requester, ring.owner(done));
    __atomic_store_n(reinterpret_cast<std::uint64_t*>(&ring.cqe(done).sop_drop_qpn), prm::host_to_be(last),
                     __ATOMIC_RELEASE);
    ++done;
  }
}

/// Posts and polls until `count` came.
void use(Ring& ring, std::uint32_t count, std::uint32_t burst, std::atomic<std::uint64_t>& sum) {
  std::vector<Operation> operations(burst, atomic(Opcode::fetch_add, 8));
  for (Operation& operation : operations) {
    operation.local = 0;
    operation.operand[0].value = 1;
  }
  std::vector<Completion> completions(burst);
  std::uint32_t posted = 0, polled = 0;
  while (polled < count) {
    if (posted < count)
      posted +=
          rdma::post(ring.qp, operations.data(), static_cast<std::uint16_t>(std::min(burst, count - posted)));
    const std::uint16_t got = rdma::poll(ring.worker, completions.data(),
                                         static_cast<std::uint16_t>(std::min(burst, count - polled)));
    for (std::uint16_t i = 0; i < got; ++i) sum += completions[i].original;
    polled += got;
    if (got == 0) std::this_thread::yield();
  }
}

constexpr std::uint64_t sum_below(std::uint64_t n) {
  return n * (n - 1) / 2;
}

TEST(Threads, ACardBesideTheLcore) {
  for (const std::uint32_t burst : {1u, 7u, 32u}) {
    Ring ring(blocks, qp_plain_atomics | qp_host_replies, 6);
    std::uint64_t word = 0;
    std::atomic<std::uint64_t> sum = 0;
    std::thread card([&] { serve(ring, word, requests); });
    use(ring, requests, burst, sum);
    card.join();
    EXPECT_EQ(word, requests);
    EXPECT_EQ(sum, sum_below(requests));
  }
}

TEST(Threads, TwoThreadsOnAWorkerWithALock) {
  Ring ring(blocks, qp_plain_atomics | qp_host_replies | qp_locked, 6);
  ring.worker.locked = true;
  start_polling(ring.worker, reinterpret_cast<prm::Cqe*>(ring.cqes.data()), 64);
  std::uint64_t word = 0;
  std::atomic<std::uint64_t> sum = 0;
  std::thread card([&] { serve(ring, word, requests); });
  // Either takes completions of the other's requests: as many in all.
  std::thread other([&] { use(ring, requests / 2, 5, sum); });
  use(ring, requests / 2, 3, sum);
  other.join();
  card.join();
  EXPECT_EQ(word, requests);
  EXPECT_EQ(sum, sum_below(requests));
}

}  // namespace
}  // namespace chime::rdma::test
