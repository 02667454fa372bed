// SPDX-License-Identifier: BSD-3-Clause
#include "rdma/worker.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "rdma/polling.h"

namespace chime::rdma {
namespace {

constexpr std::uint32_t first_table = 16;

}  // namespace

Result<Owned<WorkerControl>> WorkerControl::create(hca::Device& device, const Capabilities& capabilities,
                                                   const KeyBook& keys, const Config& config) noexcept {
  const std::uint32_t most = 1u << std::min<unsigned>(capabilities.log_max_completions, 22);
  if (!std::has_single_bit(config.completions) || config.completions > most) {
    return fail(EINVAL, "a worker with room for %u completions; a power of two up to %u is possible",
                config.completions, most);
  }
  auto made = make_owned<WorkerControl>("an RDMA worker");
  if (!made) return made;
  WorkerControl& w = **made;
  auto fast = make_eal_array<Worker>(1, config.socket, "chime_worker");
  if (!fast) return fail(fast.error());
  w.worker_ = std::move(*fast);
  auto nothing = make_eal_array<prm::Cqe>(1, config.socket, "chime_worker");
  if (!nothing) return fail(nothing.error());
  w.nothing_ = std::move(*nothing);
  w.nothing_[0].op_own = prm::cqe_op_own(prm::cqe_opcode::invalid, prm::cqe_owner);
  auto uar = device.alloc_uar();
  if (!uar) return fail(uar.error());
  w.uar_ = std::move(*uar);
  auto eqn = device.query_eqn(0);
  if (!eqn) return fail(eqn.error());
  const auto log_size = static_cast<std::uint8_t>(std::countr_zero(config.completions));
  auto cq = hca::CompletionQueue::create(
      device, {.log_size = log_size, .uar_page = w.uar_.page_id(), .eqn = *eqn, .socket = config.socket});
  if (!cq) return fail(cq.error());
  w.cq_ = std::move(*cq);
  w.room_ = config.completions;
  w.socket_ = config.socket;
  w.checked_ = config.checked;

  Worker& worker = w.fast();
  worker.doorbell = w.uar_.send;
  rte_spinlock_init(&worker.lock);
  worker.atomics = capabilities.atomics();
  worker.record = &w.cq_.record()->consumer.raw;
  worker.locked = config.thread_safe;
  start_polling(worker, w.cq_.ring(), config.completions);
  worker.keys = &keys;
  if (Result<> done = w.grow(); !done) return fail(done.error());
  return made;
}

/// The table is at most half full, so that a search ends.
Result<> WorkerControl::grow() noexcept {
  Worker& worker = fast();
  const std::uint32_t size = table_ ? 2 * (worker.table_mask + 1) : first_table;
  auto grown = make_eal_array<Qp*>(size, socket_, "chime_worker");
  if (!grown) return fail(grown.error());
  EalArray<Qp*> old = std::exchange(table_, std::move(*grown));
  const std::uint32_t old_size = old ? worker.table_mask + 1 : 0;
  worker.table = table_.get();
  worker.table_mask = size - 1;
  for (std::uint32_t i = 0; i < old_size; ++i)
    if (old[i] != nullptr) put(*old[i]);
  return {};
}

void WorkerControl::put(Qp& qp) noexcept {
  const std::uint32_t mask = fast().table_mask;
  std::uint32_t at = qp.qpn() & mask;
  while (table_[at] != nullptr) at = (at + 1) & mask;
  table_[at] = &qp;
}

Result<> WorkerControl::add(Qp& qp, std::uint32_t completions) noexcept {
  Worker& worker = fast();
  if (completions > room_) {
    return fail(ENOSPC,
                "a queue pair with room for %u requests on a worker whose completion queue has room for %u "
                "more; make it with more completions",
                completions, room_);
  }
  const MaybeLocked locked(worker.lock, worker.locked);
  if (2 * (count_ + 1) > worker.table_mask + 1)
    if (Result<> done = grow(); !done) return done;
  put(qp);
  ++count_;
  room_ -= completions;
  return {};
}

void WorkerControl::remove(Qp& qp, std::uint32_t completions) noexcept {
  Worker& worker = fast();
  const MaybeLocked locked(worker.lock, worker.locked);
  drop_completions(worker, qp.qpn());
  const std::uint32_t mask = worker.table_mask;
  std::uint32_t at = qp.qpn() & mask;
  while (table_[at] != &qp) at = (at + 1) & mask;
  table_[at] = nullptr;
  // Those behind it, up to a free place, may have gone around it.
  for (std::uint32_t next = (at + 1) & mask; table_[next] != nullptr; next = (next + 1) & mask)
    put(*std::exchange(table_[next], nullptr));
  expect(worker, nullptr);
  --count_;
  room_ += completions;
}

void WorkerControl::detach() noexcept {
  Worker& worker = fast();
  const MaybeLocked locked(worker.lock, worker.locked);
  worker.record = &nothing_[0].srqn.raw;  // somewhere that nobody reads
  start_polling(worker, nothing_.get(), 1);
  worker.keys = nullptr;
  cq_ = {};
  uar_ = {};
}

}  // namespace chime::rdma
