// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <rte_branch_prediction.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cqe_ring.h"
#include "prm/wqe.h"
#include "tx_recovery.h"
#include "txq.h"

/// @file
/// From completions to free mbufs.

namespace chime::net {

inline prm::WqeCtrl& tx_control_of(const TxQueue& q, std::uint32_t block) noexcept {
  return *reinterpret_cast<prm::WqeCtrl*>(q.wqes + std::size_t{block & (q.size() - 1)} * prm::wqebb_size);
}

/// Reads what the card has completed. @return false when the queue has failed
inline bool tx_read_completions(TxQueue& q) noexcept {
  const std::uint32_t mask = (1u << q.log_cq_size) - 1;
  std::uint32_t consumer = q.cq_consumer;
  for (;; ++consumer) {
    const prm::Cqe& cqe = q.cqes[consumer & mask];
    const unsigned op_own = load_op_own(cqe);
    const unsigned parity = owner_parity(consumer, q.log_cq_size);
    if ((op_own & op_own_mask) != (prm::cqe_op_own(prm::cqe_opcode::requester, 0) | parity)) {
      if (unlikely(is_software_owned(op_own, parity))) {
        tx_meet_error(q, cqe);
        return false;
      }
      break;
    }
    // The WQE's first block, as a distance from what was completed before, and its size from the ring.
    const std::uint32_t ahead = (cqe.wqe_counter - q.completed) & 0xffff;
    if (unlikely(ahead >= q.produced - q.completed)) {
      tx_meet_error(q, cqe);
      return false;
    }
    prm::WqeCtrl& control = tx_control_of(q, q.completed + ahead);
    q.completed += ahead + ((control.qpn_ds & 0x3f) + 3) / 4;
    // Plain WQEs are patched, not written: the next user of this block wants it as it was.
    control.fm_ce_se = static_cast<std::uint8_t>(prm::wqe_ce::on_first_error);
  }
  if (consumer != q.cq_consumer) {
    q.cq_consumer = consumer;
    __atomic_store_n(&q.cq_record->consumer.raw, prm::host_to_be(consumer & 0xffffff), __ATOMIC_RELEASE);
  }
  return true;
}

/// Gathers mbufs of one pool and puts them back together.
class BulkFree {
 public:
  BulkFree() noexcept = default;
  BulkFree(const BulkFree&) = delete;
  BulkFree& operator=(const BulkFree&) = delete;
  ~BulkFree() { flush(); }

  /// @param mbuf raw: one reference, no next, not attached
  void add(rte_mbuf* mbuf) noexcept {
    if (unlikely(mbuf->pool != pool_ || count_ == capacity)) {
      flush();
      pool_ = mbuf->pool;
    }
    mbufs_[count_++] = mbuf;
  }

 private:
  static constexpr unsigned capacity = 64;
  void flush() noexcept {
    if (count_ != 0) rte_mempool_put_bulk(pool_, reinterpret_cast<void**>(mbufs_), count_);
    count_ = 0;
  }

  rte_mempool* pool_ = nullptr;
  unsigned count_ = 0;
  rte_mbuf* mbufs_[capacity];
};

/// Raw but for `next`. That of a single segment is null, so its second cache line need not be touched.
inline bool is_ours_alone(const rte_mbuf& mbuf) noexcept {
  return rte_mbuf_refcnt_read(&mbuf) == 1 &&
         (mbuf.ol_flags & (RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL)) == 0;
}

/// Frees the packets in slots [from, to).
template <bool full, bool fast_free>
inline void tx_free_slots(rte_mbuf** from, rte_mbuf** to) noexcept {
  if constexpr (!full && fast_free) {
    // One pool, one reference each, no chains: the slots are the list.
    rte_mempool_put_bulk((*from)->pool, reinterpret_cast<void**>(from), static_cast<unsigned>(to - from));
    return;
  }
  BulkFree bulk;
  for (; from != to; ++from) {
    rte_mbuf* segment = *from;
    if constexpr (!full) {
      if (likely(is_ours_alone(*segment))) {
        bulk.add(segment);
      } else {
        rte_pktmbuf_free_seg(segment);
      }
    } else {
      if (segment == nullptr) continue;  // a further block of the packet before
      if (likely(segment->nb_segs == 1 && (fast_free || is_ours_alone(*segment)))) {
        bulk.add(segment);
        continue;
      }
      while (segment != nullptr) {
        rte_mbuf* next = segment->next;
        if (rte_mbuf* free = rte_pktmbuf_prefree_seg(segment)) bulk.add(free);
        segment = next;
      }
    }
  }
}

/// Frees what is completed.
template <bool full, bool fast_free>
inline void tx_free(TxQueue& q) noexcept {
  if constexpr (full) {
    // Without chains in between, what plain queues do is enough.
    if (static_cast<std::int32_t>(q.freed - q.chains_until) >= 0) return tx_free<false, fast_free>(q);
  }
  const std::uint32_t size = q.size();
  while (q.freed != q.completed) {
    const std::uint32_t first = q.freed & (size - 1);
    const std::uint32_t here = std::min(q.completed - q.freed, size - first);
    tx_free_slots<full, fast_free>(q.mbufs + first, q.mbufs + first + here);
    q.freed += here;
  }
}

}  // namespace chime::net
