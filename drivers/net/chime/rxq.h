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

inline constexpr unsigned max_rx_segments = 32;   ///< data segments in the largest RQ stride (512 bytes)
inline constexpr unsigned max_refill_batch = 64;  ///< WQEs posted at once

/// A receive queue as the burst sees it: plain data in EAL memory, in whatever process.
///
/// An RQ WQE holds `segments` data segments in `1 << log_slots` slots of 16 bytes; mbuf `s` of WQE `w` is
/// mbufs[w << log_slots | s]. The CQ has as many entries as the RQ has WQEs, so it cannot overflow.
struct alignas(64) RxQueue {
  // Line 0: read by every burst, written at set-up.
  const prm::Cqe* cqes;
  std::byte* wqes;
  rte_mbuf** mbufs;
  rte_mempool* pool;
  prm::CqRecord* cq_record;
  prm::WqRecord* rq_record;
  std::uint64_t rearm;        ///< data_off, refcnt 1, nb_segs 1, port, as they lie in an mbuf
  std::uint32_t flag_mask;    ///< RTE_MBUF_F_RX_* that the configured offloads ask for, and of VLAN
  std::uint32_t buffer_step;  ///< from an mbuf to where the card writes: header, private area, headroom

  // Line 1: written by every burst; counters with them, one line to bring in.
  std::uint32_t cq_consumer;       ///< CQEs taken, free running
  std::uint32_t consumed;          ///< RQ WQEs that the card has filled, free running since RST
  std::uint32_t posted;            ///< RQ WQEs posted, free running since RST
  std::uint16_t refill_threshold;  ///< a power of two, 2..max_refill_batch
  std::uint8_t log_size;           ///< WQEs, and CQEs
  std::uint8_t log_slots;          ///< 16-byte slots in a WQE
  RxCounters counters;             // 6 x 8

  // Line 2: what only the full variant reads.
  const hca::MemoryMap::Shared* keys;
  std::uint64_t timestamp_flag;  ///< dynamic mbuf flag, 0 when timestamps are off
  std::int32_t timestamp_offset;
  std::uint32_t buffer_size;  ///< bytes that one mbuf takes, behind the headroom
  std::uint16_t segments;     ///< data segments that are used in a WQE
  std::uint16_t port_id;
  std::uint16_t queue_id;
  bool read_buf_addr;  ///< the pool's data lie elsewhere than behind the mbufs
  bool many_keys;      ///< the pool lies in more than one registered range
  std::uint32_t lkey;  ///< of the whole pool, as the WQE wants it, unless many_keys
  hca::KeyCache key_cache;

  // Cold: errors and events.
  QueueHealth health;
  hca::Doorbell arm;  ///< base is nullptr when the queue has no interrupt
  std::uint32_t cqn;
  std::uint32_t arm_sequence;

  std::uint32_t size() const noexcept { return 1u << log_size; }
};
static_assert(offsetof(RxQueue, cq_consumer) == 64 && offsetof(RxQueue, keys) == 128);

}  // namespace chime::net
