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

/// What became of a run of packets.
struct Posted {
  std::uint32_t taken = 0;  ///< dropped ones included
  std::uint32_t packets = 0;
  std::uint32_t blocks = 0;
  std::uint32_t last = 0;  ///< block of the last WQE, when there is one
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
  std::uint64_t bytes = 0;

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
    bytes += length;
    index_opcode += 1u << 8;
    wqe += prm::wqebb_size;
  }
  const auto sent = static_cast<std::uint32_t>(slot - (q.mbufs + first));
  return {.taken = most, .packets = sent, .blocks = sent, .last = q.produced + sent - 1, .bytes = bytes};
}

/// Anything else than short cuts take. @return blocks, 0 when it was dropped, no_room
constexpr std::uint32_t no_room = ~0u;
[[gnu::noinline]] std::uint32_t post_any(TxQueue& q, rte_mbuf* packet, std::uint32_t block,
                                         std::uint32_t room) noexcept {
  const WqePlan plan = tx_plan(q, *packet);
  if (unlikely(plan.drop != nullptr)) {
    tx_drop(q, packet, plan.drop);
    return 0;
  }
  if (unlikely(plan.blocks() > room)) return no_room;
  if (unlikely(!tx_write(q, plan, *packet, block))) {
    tx_drop(q, packet, &TxCounters::drop_unknown_memory);
    return 0;
  }
  return plan.blocks();
}

/// Packets of every shape. What most packets are, one segment whose header need not be in line, or at most
/// its Ethernet header, is one block and written here.
inline Posted post_full(TxQueue& q, rte_mbuf** packets, std::uint32_t most, std::uint32_t room) noexcept {
  const std::uint32_t mask = q.size() - 1, produced = q.produced;
  const SinglePlan single(q);
  const bool short_cut = q.inline_size == 0 || q.inline_size == ethernet_inline;
  const std::uint64_t long_way = tx_not_simple | (q.inline_size == 0 ? 0 : RTE_MBUF_F_TX_VLAN);
  const std::uint32_t lengths = short_cut ? q.max_frame - ethernet_inline : 0;
  HotRange hot = q.hot;
  std::uint32_t taken = 0, sent = 0, end = 0, last = produced;
  std::uint64_t bytes = 0;

  for (; taken < most; ++taken) {
    rte_mbuf* packet = packets[taken];
    const std::uint32_t block = produced + end, length = packet->data_len;
    if (likely(packet->nb_segs == 1 && length - ethernet_inline - 1 < lengths &&
               (packet->ol_flags & long_way) == 0 && end < room)) {
      const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(packet->buf_addr) + packet->data_off;
      if (unlikely(address - hot.start >= hot.size)) {
        if (tx_find_key(q, address) == hca::MemoryMap::no_key) {
          tx_drop(q, packet, &TxCounters::drop_unknown_memory);
          continue;
        }
        hot = q.hot;
      }
      const std::uint32_t index_opcode =
          prm::wqe_opmod_idx_opcode(0, static_cast<std::uint16_t>(block), prm::wqe_opcode::send);
      tx_write_single(q.wqes + std::size_t{block & mask} * prm::wqebb_size, single, index_opcode, *packet,
                      address, hot.lkey_be);
      bytes += length;
      ++end;
    } else {
      const std::uint32_t blocks = post_any(q, packet, block, room - end);
      if (blocks == no_room) break;
      if (blocks == 0) continue;
      bytes += packet->pkt_len;
      for (std::uint32_t more = 1; more < blocks; ++more) q.mbufs[(block + more) & mask] = nullptr;
      end += blocks;
      q.chains_until = produced + end;
      hot = q.hot;
    }
    q.mbufs[block & mask] = packet;
    last = block;
    ++sent;
  }
  return {.taken = taken, .packets = sent, .blocks = end, .last = last, .bytes = bytes};
}

template <bool full, bool fast_free>
std::uint16_t tx_burst(void* queue, rte_mbuf** packets, std::uint16_t count_wanted) {
  TxQueue& q = *static_cast<TxQueue*>(queue);
  if (unlikely(q.health.stage.load(std::memory_order_acquire) != Health::good)) {
    tx_recover(q);
    return 0;
  }
  if (unlikely(!tx_read_completions(q))) return 0;
  if (q.completed != q.freed) tx_free<full, fast_free>(q);

  if (const hca::KeyTable* table = q.keys->table.load(std::memory_order_acquire);
      unlikely(table->generation != q.hot.generation))
    q.hot.size = 0;

  const std::uint32_t size = q.size(), start = q.produced, interval = q.request_interval;
  std::uint32_t room = size - (q.produced - q.freed), last = start;
  Posted total;
  while (total.taken < count_wanted) {
    const std::uint32_t most = std::min(std::uint32_t{count_wanted} - total.taken, interval);
    Posted posted;
    if constexpr (full) {
      posted = post_full(q, packets + total.taken, most, room);
    } else {
      // Up to the ring's end, in one piece.
      const std::uint32_t piece = std::min({most, room, size - (q.produced & (size - 1))});
      posted = post_plain(q, packets + total.taken, piece);
    }
    if (posted.taken == 0) break;
    total.taken += posted.taken;
    if (posted.blocks == 0) continue;
    q.produced += posted.blocks;
    room -= posted.blocks;
    last = posted.last;
    total.packets += posted.packets;
    total.bytes += posted.bytes;
    if (q.produced - q.requested >= interval) request_completion(q, last);
  }

  if (q.produced == start) return static_cast<std::uint16_t>(total.taken);
  // A queue that is not busy gets every burst back at once.
  if (q.requested == q.completed) request_completion(q, last);
  std::uint64_t doorbell;
  __builtin_memcpy(&doorbell, &tx_control_of(q, last), sizeof doorbell);
  q.doorbell.ring(&q.sq_record->send.raw, prm::host_to_be(q.produced & 0xffff), doorbell);
  count(q.counters.packets, total.packets);
  count(q.counters.bytes, total.bytes);
  return static_cast<std::uint16_t>(total.taken);
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
