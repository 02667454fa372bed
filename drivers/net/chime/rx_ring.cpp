// SPDX-License-Identifier: BSD-3-Clause
#include <rte_mempool.h>

#include <algorithm>
#include <cerrno>

#include "cqe_ring.h"
#include "rx_burst.h"
#include "rx_recovery.h"
#include "rx_refill.h"

namespace chime::net {
namespace {

prm::WqeData* wqe_at(const RxQueue& q, std::uint32_t index) noexcept {
  return reinterpret_cast<prm::WqeData*>(q.wqes) + (std::size_t{index} << q.log_slots);
}

/// What no refill writes again: lengths, the one key, and the end of each list.
void format(RxQueue& q) noexcept {
  for (std::uint32_t index = 0; index < q.size(); ++index) {
    prm::WqeData* slot = wqe_at(q, index);
    for (std::uint32_t s = 0; s < 1u << q.log_slots; ++s) {
      const bool used = s < q.segments;
      slot[s].byte_count = used ? q.buffer_size : 0;
      slot[s].lkey = used ? prm::Be32::from_raw(q.lkey) : prm::Be32(prm::invalid_lkey);
      slot[s].address = 0;
    }
  }
}

void drain(RxQueue& q) noexcept {
  q.cq_consumer += count_software_owned(q.cqes, q.log_size, q.cq_consumer);
}

/// A place in the ring that wants an mbuf.
struct Hole {
  rte_mbuf** mbuf;
  prm::WqeData* segment;
};

/// Fills holes from one bulk of mbufs, all or none.
bool fill_holes(RxQueue& q, const Hole* holes, unsigned count_of_holes) noexcept {
  rte_mbuf* fresh[max_refill_batch];
  if (rte_mempool_get_bulk(q.pool, reinterpret_cast<void**>(fresh), count_of_holes) != 0) return false;
  std::uint32_t keys[max_refill_batch];
  for (unsigned i = 0; i < count_of_holes; ++i) {
    keys[i] = q.many_keys ? hca::MemoryMap::find(*q.keys, q.key_cache, buffer_of(*fresh[i])) : q.lkey;
    if (unlikely(keys[i] == hca::MemoryMap::no_key)) {
      count(q.counters.unknown_memory, 1);
      rte_mempool_put_bulk(q.pool, reinterpret_cast<void**>(fresh), count_of_holes);
      return false;
    }
  }
  for (unsigned i = 0; i < count_of_holes; ++i) {
    *holes[i].mbuf = fresh[i];
    holes[i].segment->lkey = prm::Be32::from_raw(keys[i]);
    holes[i].segment->address = buffer_of(*fresh[i]);
  }
  return true;
}

}  // namespace

namespace {

/// One segment a WQE: the batch is one piece without mbufs.
bool refill_single(RxQueue& q, std::uint32_t first, std::uint32_t batch) noexcept {
  rte_mbuf** mbufs = q.mbufs + first;
  auto** objects = reinterpret_cast<void**>(mbufs);
  bool done = rte_mempool_get_bulk(q.pool, objects, batch) == 0;
  prm::WqeData* segments = wqe_at(q, first);
  for (std::uint32_t i = 0; done && i < batch; ++i) {
    const std::uintptr_t buffer = buffer_of(*mbufs[i]);
    segments[i].address = buffer;
    if (!q.many_keys) continue;
    const std::uint32_t key = hca::MemoryMap::find(*q.keys, q.key_cache, buffer);
    segments[i].lkey = prm::Be32::from_raw(key);
    if (likely(key != hca::MemoryMap::no_key)) continue;
    count(q.counters.unknown_memory, 1);
    rte_mempool_put_bulk(q.pool, objects, batch);
    done = false;
  }
  if (unlikely(!done)) std::fill_n(mbufs, batch, nullptr);
  return done;
}

bool refill_scattered(RxQueue& q, std::uint32_t first, std::uint32_t batch) noexcept {
  Hole holes[max_refill_batch];
  unsigned found = 0;
  for (std::uint32_t index = first; index < first + batch; ++index) {
    rte_mbuf** mbufs = q.mbufs + (std::size_t{index} << q.log_slots);
    prm::WqeData* segments = wqe_at(q, index);
    for (unsigned s = 0; s < q.segments; ++s) {
      if (mbufs[s] != nullptr) continue;
      holes[found++] = {&mbufs[s], &segments[s]};
      if (found < max_refill_batch) continue;
      if (!fill_holes(q, holes, found)) return false;
      found = 0;
    }
  }
  return found == 0 || fill_holes(q, holes, found);
}

}  // namespace

bool rx_refill_full(RxQueue& q, std::uint32_t batch) noexcept {
  const std::uint32_t first = q.posted & (q.size() - 1);
  const bool done = q.log_slots == 0 ? refill_single(q, first, batch) : refill_scattered(q, first, batch);
  if (done) q.posted += batch;
  return done;
}

std::uint64_t rx_rearm_data(std::uint16_t port_id) noexcept {
  rte_mbuf mbuf{};
  mbuf.data_off = RTE_PKTMBUF_HEADROOM;
  rte_mbuf_refcnt_set(&mbuf, 1);
  mbuf.nb_segs = 1;
  mbuf.port = port_id;
  std::uint64_t data;
  __builtin_memcpy(&data, &mbuf.rearm_data, sizeof data);
  return data;
}

int rx_fill(RxQueue& q) noexcept {
  format(q);
  const std::uint64_t unknown = q.counters.unknown_memory;
  const bool plain = rx_variant(q) == RxVariant::plain;
  while (q.posted - q.consumed < q.size()) {
    const bool done = plain ? rx_refill_plain(q, q.refill_threshold) : rx_refill_full(q, q.refill_threshold);
    if (!done) {
      const int error = q.counters.unknown_memory == unknown ? -ENOMEM : -EFAULT;
      rx_release(q);
      return error;
    }
  }
  rx_publish(q);
  return 0;
}

void rx_free_mbufs(RxQueue& q) noexcept {
  const bool plain = rx_variant(q) == RxVariant::plain;
  // The plain burst leaves the pointers of packets that it handed out: what is posted is ours. The full one
  // leaves null, and mbufs of half-used WQEs that are to be posted again.
  for (std::uint32_t index = 0; index < q.size(); ++index) {
    const bool posted = ((index - q.consumed) & (q.size() - 1)) < q.posted - q.consumed;
    for (std::uint32_t slot = 0; slot < 1u << q.log_slots; ++slot) {
      rte_mbuf*& mbuf = q.mbufs[(std::size_t{index} << q.log_slots) + slot];
      if (mbuf != nullptr && (posted || !plain)) rte_mempool_put(q.pool, mbuf);
      mbuf = nullptr;
    }
  }
}

void rx_release(RxQueue& q) noexcept {
  rx_free_mbufs(q);
  drain(q);
  q.consumed = q.posted = 0;
  rx_publish(q);
}

void rx_meet_error(RxQueue& q, const prm::Cqe& cqe) noexcept {
  switch (q.health.stage.load(std::memory_order_acquire)) {
    case Health::good: {
      const auto& error = reinterpret_cast<const prm::ErrorCqe&>(cqe);
      q.health.error = {prm::cqe_opcode_of(cqe.op_own), error.syndrome, error.vendor_err_synd,
                        error.wqe_counter};
      count(q.counters.error_cqes, 1);
      q.health.stage.store(Health::failed, std::memory_order_release);
      break;
    }
    case Health::quiesced:
      // Without mbufs now, later bursts post them.
      rx_release(q);
      if (rx_fill(q) != 0) count(q.counters.no_mbuf, 1);
      count(q.counters.recoveries, 1);
      q.health.stage.store(Health::rewound, std::memory_order_release);
      break;
    case Health::failed:
    case Health::rewound:
      break;  // the control side's turn
  }
}

}  // namespace chime::net
