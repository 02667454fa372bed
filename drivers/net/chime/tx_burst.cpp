// SPDX-License-Identifier: BSD-3-Clause
#include "tx_burst.h"

#include <rte_branch_prediction.h>
#include <rte_mbuf.h>

#include <algorithm>

#include "prm/be.h"
#include "tx_complete.h"
#include "tx_recovery.h"
#include "tx_wqe.h"

namespace chime::net {
namespace {

/// What the end of a burst needs to know.
struct Posted {
  std::uint32_t blocks = 0;
  std::uint32_t packets = 0;
  std::uint64_t bytes = 0;
};

/// Asks for a CQE of the WQE at `block`, the last one posted.
inline void request_completion(TxQueue& q, std::uint32_t block) noexcept {
  tx_control_of(q, block).fm_ce_se = static_cast<std::uint8_t>(prm::wqe_ce::always);
  q.requested = q.produced;
}

/// One block a packet, patched: everything else in it was written at start. The blocks lie in one piece, so
/// that neither ring offset nor WQE index wraps. Takes all `most` packets; those that cannot go are dropped.
inline Posted post_plain(TxQueue& q, rte_mbuf** packets, std::uint32_t most) noexcept {
  const std::uint32_t first = q.produced & (q.size() - 1);
  auto* wqe = q.wqes + std::size_t{first} * prm::wqebb_size;
  rte_mbuf** slot = q.mbufs + first;
  std::uint32_t index_opcode =
      prm::wqe_opmod_idx_opcode(0, static_cast<std::uint16_t>(q.produced), prm::wqe_opcode::send);
  const std::uint32_t longest = q.max_frame - min_frame;
  HotRange hot = q.hot;
  Posted posted;

  for (std::uint32_t i = 0; i < most; ++i) {
    rte_mbuf* packet = packets[i];
    const std::uint32_t length = packet->data_len;
    if (unlikely(packet->nb_segs != 1)) {
      tx_drop(q, packet, &TxCounters::drop_chain);
      continue;
    }
    if (unlikely(length - min_frame > longest)) {
      tx_drop(q, packet, length < min_frame ? &TxCounters::drop_too_short : &TxCounters::drop_too_long);
      continue;
    }
    const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(packet->buf_addr) + packet->data_off;
    if (unlikely(address - hot.start >= hot.size)) {
      if (tx_find_key(q, address) == hca::MemoryMap::no_key) {
        tx_drop(q, packet, &TxCounters::drop_unknown_memory);
        continue;
      }
      hot = q.hot;
    }
    auto* data = reinterpret_cast<prm::WqeData*>(wqe + 2 * prm::wqe_unit);
    reinterpret_cast<prm::WqeCtrl*>(wqe)->opmod_idx_opcode = index_opcode;
    data->byte_count = length;
    data->lkey = prm::Be32::from_raw(hot.lkey_be);
    data->address = address;
    *slot++ = packet;
    posted.bytes += length;
    index_opcode += 1u << 8;
    wqe += prm::wqebb_size;
  }
  posted.blocks = posted.packets = static_cast<std::uint32_t>(slot - (q.mbufs + first));
  return posted;
}

/// Posts one packet of any shape, or drops it. @return false when there is no room for it
inline bool post_full(TxQueue& q, rte_mbuf* packet, std::uint32_t room, Posted& posted) noexcept {
  const WqePlan plan = tx_plan(q, *packet);
  posted = {};
  if (unlikely(plan.drop != nullptr)) {
    tx_drop(q, packet, plan.drop);
    return true;
  }
  if (unlikely(plan.blocks() > room)) return false;
  if (unlikely(!tx_write(q, plan, *packet, q.produced))) {
    tx_drop(q, packet, &TxCounters::drop_unknown_memory);
    return true;
  }
  q.mbufs[q.produced & (q.size() - 1)] = packet;
  posted = {plan.blocks(), 1, packet->pkt_len};
  return true;
}

template <bool full, bool fast_free>
std::uint16_t tx_burst(void* queue, rte_mbuf** packets, std::uint16_t count_wanted) {
  TxQueue& q = *static_cast<TxQueue*>(queue);
  if (unlikely(q.health.stage.load(std::memory_order_acquire) != Health::good)) {
    tx_recover(q);
    return 0;
  }
  if (unlikely(!tx_read_completions(q))) return 0;
  if (q.completed != q.freed) tx_free<full, fast_free>(q, q.completed - q.freed);

  if (const hca::KeyTable* table = q.keys->table.load(std::memory_order_acquire);
      unlikely(table->generation != q.hot.generation))
    q.hot.size = 0;

  const std::uint32_t size = q.size(), start = q.produced, interval = q.request_interval;
  std::uint32_t room = size - (q.produced - q.freed), last = start, taken = 0;
  Posted total;
  while (taken < count_wanted) {
    Posted posted;
    if constexpr (full) {
      if (!post_full(q, packets[taken], room, posted)) break;
      ++taken;
      if (posted.blocks != 0) last = q.produced;
    } else {
      const std::uint32_t most =
          std::min({std::uint32_t{count_wanted} - taken, size - (q.produced & (size - 1)), room, interval});
      if (most == 0) break;
      posted = post_plain(q, packets + taken, most);
      taken += most;
      if (posted.blocks != 0) last = q.produced + posted.blocks - 1;
    }
    q.produced += posted.blocks;
    room -= posted.blocks;
    total.packets += posted.packets;
    total.bytes += posted.bytes;
    if (q.produced - q.requested >= interval) request_completion(q, last);
  }

  if (q.produced == start) return static_cast<std::uint16_t>(taken);
  // A queue that is not busy gets every burst back at once.
  if (q.requested == q.completed) request_completion(q, last);
  std::uint64_t doorbell;
  __builtin_memcpy(&doorbell, &tx_control_of(q, last), sizeof doorbell);
  q.doorbell.ring(&q.sq_record->send.raw, prm::host_to_be(q.produced & 0xffff), doorbell);
  count(q.counters.packets, total.packets);
  count(q.counters.bytes, total.bytes);
  return static_cast<std::uint16_t>(taken);
}

}  // namespace

TxVariant tx_variant(std::uint64_t offloads, std::uint16_t inline_size) noexcept {
  constexpr std::uint64_t plain_offloads = RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
  return {(offloads & ~plain_offloads) != 0 || inline_size != 0,
          (offloads & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE) != 0};
}

eth_tx_burst_t tx_burst_function(TxVariant variant) noexcept {
  if (variant.full) return variant.fast_free ? tx_burst<true, true> : tx_burst<true, false>;
  return variant.fast_free ? tx_burst<false, true> : tx_burst<false, false>;
}

const char* tx_burst_description(TxVariant variant) noexcept {
  if (variant.full) return variant.fast_free ? "Scalar, all offloads, fast free" : "Scalar, all offloads";
  return variant.fast_free ? "Scalar, one segment, fast free" : "Scalar, one segment";
}

}  // namespace chime::net
