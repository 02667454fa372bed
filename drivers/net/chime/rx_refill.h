// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <rte_branch_prediction.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_vect.h>

#include <cstddef>
#include <cstdint>

#include "prm/be.h"
#include "rxq.h"

/// @file
/// Posting receive WQEs, `refill_threshold` at a time. The threshold divides the ring and `posted` is a
/// multiple of it, so a batch never runs over the ring's end.

namespace chime::net {

/// Where the card may write into this mbuf, by reading it.
inline std::uintptr_t buffer_of(const rte_mbuf& mbuf) noexcept {
  return reinterpret_cast<std::uintptr_t>(mbuf.buf_addr) + RTE_PKTMBUF_HEADROOM;
}

/// The top of this lcore's cache of the pool, whose mbufs are ours from here on. rte_mempool_get_bulk()
/// copies them one by one. @return null when there are not so many, or this thread has no cache
inline void** take_cached(rte_mempool& pool, std::uint32_t batch) noexcept {
  rte_mempool_cache* const cache = rte_mempool_default_cache(&pool, rte_lcore_id());
  if (unlikely(cache == nullptr || cache->len < batch)) return nullptr;
  cache->len -= batch;
  return cache->objs + cache->len;
}

/// One data segment a WQE and one key, both written once at start: only addresses change. They follow from
/// the mbuf's own address, so this does not touch the mbufs, which are cold.
inline bool rx_refill_plain(RxQueue& q, std::uint32_t batch) noexcept {
  const std::uint32_t first = q.posted & (q.size() - 1);
  rte_mbuf** mbufs = q.mbufs + first;
  void** from = take_cached(*q.pool, batch);
  if (unlikely(from == nullptr)) {
    from = reinterpret_cast<void**>(mbufs);
    if (unlikely(rte_mempool_get_bulk(q.pool, from, batch) != 0)) return false;
  }
  auto* segments = reinterpret_cast<prm::WqeData*>(q.wqes) + first;
  const __m128i step = _mm_set1_epi64x(q.buffer_step);
  const __m128i swap = _mm_set_epi8(8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
  for (std::uint32_t i = 0; i < batch; i += 2) {
    const __m128i pair = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(mbufs + i), pair);
    const __m128i addresses = _mm_shuffle_epi8(_mm_add_epi64(pair, step), swap);
    _mm_storel_epi64(reinterpret_cast<__m128i*>(&segments[i].address), addresses);
    _mm_storeh_pd(reinterpret_cast<double*>(&segments[i + 1].address), _mm_castsi128_pd(addresses));
  }
  q.posted += batch;
  return true;
}

/// Any number of segments, keys and kinds of pool: fills the slots that the receiver emptied (null).
bool rx_refill_full(RxQueue& q, std::uint32_t batch) noexcept;

/// Tells the card how far the CQ is read and the RQ is filled, in this order: it may complete what is posted.
inline void rx_publish(RxQueue& q) noexcept {
  __atomic_store_n(&q.cq_record->consumer.raw, prm::host_to_be(q.cq_consumer & 0xffffff), __ATOMIC_RELEASE);
  __atomic_store_n(&q.rq_record->receive.raw, prm::host_to_be(q.posted & 0xffff), __ATOMIC_RELEASE);
}

}  // namespace chime::net
