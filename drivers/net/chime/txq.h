// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <rte_mbuf.h>

#include <cstddef>
#include <cstdint>

#include "hca/doorbell.h"
#include "hca/memory.h"
#include "prm/cqe.h"
#include "prm/doorbell.h"
#include "prm/wqe.h"
#include "queue_counters.h"
#include "queue_health.h"

namespace chime::net {

/// The registered range that the last packet came from: the burst keeps it in registers.
struct HotRange {
  std::uintptr_t start;
  std::uintptr_t size;       ///< 0: nothing is known
  std::uint32_t lkey_be;     ///< as the WQE wants it
  std::uint32_t generation;  ///< of the key table
};

/// A send queue as the burst sees it: plain data in EAL memory, in whatever process.
///
/// The ring has one slot of `mbufs` a basic block; a packet's mbuf (the head of its chain) is in the slot of
/// its WQE's first block, and null in those of further ones. All indices count basic blocks and run free.
struct alignas(64) TxQueue {
  // Line 0: read by every burst, written at set-up.
  std::byte* wqes;
  rte_mbuf** mbufs;
  prm::Cqe* cqes;
  prm::WqRecord* sq_record;
  prm::CqRecord* cq_record;
  const hca::MemoryMap::Shared* keys;
  std::uint32_t max_frame;         ///< bytes, with L2 header
  std::uint16_t request_interval;  ///< blocks after which a completion is asked for
  std::uint8_t log_size;           ///< blocks
  std::uint8_t log_cq_size;
  std::uint32_t sqn_shifted;  ///< SQ number in the place that it has in the control segment
  std::uint16_t max_ds;       ///< 16-byte units in one WQE
  std::uint16_t inline_size;  ///< bytes of header that the card wants in the WQE

  // Line 1: written by every burst.
  std::uint32_t produced;     ///< blocks posted
  std::uint32_t completed;    ///< blocks that the card has done
  std::uint32_t freed;        ///< blocks whose mbufs went back
  std::uint32_t requested;    ///< `produced` when a completion was last asked for
  std::uint32_t cq_consumer;  ///< CQEs taken
  QueueHealth health;         ///< tested once a burst: nothing is posted to a queue in recovery
  HotRange hot;
  std::uint32_t chains_until;  ///< packets from this block on have one segment and one block

  // Line 2: once a burst; the first of the counters share it.
  alignas(64) hca::Doorbell doorbell;
  TxCounters counters;

  // Cold: packets from several pools, segmentation, messages.
  hca::KeyCache key_cache;
  std::uint32_t max_large_send;  ///< bytes of payload that the card segments; 0: none
  std::uint16_t tunnels;         ///< kinds that the card looks into, see tx_offload.h
  std::uint16_t port_id;
  std::uint16_t queue_id;

  std::uint32_t size() const noexcept { return 1u << log_size; }
};
static_assert(offsetof(TxQueue, produced) == 64 && offsetof(TxQueue, doorbell) == 128);
static_assert(offsetof(TxQueue, counters.packets) + 2 * sizeof(std::uint64_t) <= 192);

}  // namespace chime::net
