// SPDX-License-Identifier: BSD-3-Clause
#include <cstring>

#include "cqe_ring.h"
#include "tx_burst.h"
#include "tx_complete.h"
#include "tx_recovery.h"
#include "tx_wqe.h"

namespace chime::net {

void tx_format(TxQueue& q) noexcept {
  std::memset(q.wqes, 0, std::size_t{q.size()} * prm::wqebb_size);
  for (std::uint32_t block = 0; block < q.size(); ++block) {
    prm::WqeCtrl& control = tx_control_of(q, block);
    control.qpn_ds = q.sqn_shifted | 3;  // control, Ethernet and data segment
    control.fm_ce_se = static_cast<std::uint8_t>(prm::wqe_ce::on_first_error);
  }
}

std::uint32_t tx_free_mbufs(TxQueue& q) noexcept {
  std::uint32_t incomplete = 0;
  for (; q.freed != q.produced; ++q.freed) {
    rte_mbuf*& slot = q.mbufs[q.freed & (q.size() - 1)];
    if (slot == nullptr) continue;  // a further block of the packet before
    if (q.produced - q.freed <= q.produced - q.completed) ++incomplete;
    rte_pktmbuf_free(slot);
    slot = nullptr;
  }
  return incomplete;
}

std::uint32_t tx_release(TxQueue& q) noexcept {
  const std::uint32_t incomplete = tx_free_mbufs(q);
  q.cq_consumer += count_software_owned(q.cqes, q.log_cq_size, q.cq_consumer);
  __atomic_store_n(&q.cq_record->consumer.raw, prm::host_to_be(q.cq_consumer & 0xffffff), __ATOMIC_RELEASE);
  q.produced = q.completed = q.freed = q.requested = q.chains_until = 0;
  __atomic_store_n(&q.sq_record->send.raw, 0, __ATOMIC_RELEASE);
  tx_format(q);
  return incomplete;
}

void tx_meet_error(TxQueue& q, const prm::Cqe& cqe) noexcept {
  const auto& error = reinterpret_cast<const prm::ErrorCqe&>(cqe);
  q.health.error = {prm::cqe_opcode_of(cqe.op_own), error.syndrome, error.vendor_err_synd, error.wqe_counter};
  count(q.counters.error_cqes, 1);
  q.health.stage.store(Health::failed, std::memory_order_release);
}

void tx_recover(TxQueue& q) noexcept {
  if (q.health.stage.load(std::memory_order_acquire) != Health::quiesced) return;  // the control side's turn
  count(q.counters.drop_queue_error, tx_release(q));
  count(q.counters.recoveries, 1);
  q.health.stage.store(Health::rewound, std::memory_order_release);
}

void tx_drop(TxQueue& q, rte_mbuf* packet, std::uint64_t TxCounters::*reason) noexcept {
  count(q.counters.*reason, 1);
  rte_pktmbuf_free(packet);
}

std::uint32_t tx_find_key(TxQueue& q, std::uintptr_t address) noexcept {
  const std::uint32_t key = hca::MemoryMap::find(*q.keys, q.key_cache, address);
  if (key == hca::MemoryMap::no_key) return key;
  for (const hca::KeyRange& range : q.key_cache.range) {
    if (address - range.start < range.end - range.start)
      q.hot = {range.start, range.end - range.start, range.lkey_be, q.key_cache.generation};
  }
  return key;
}

std::uint16_t tx_inline_size(std::uint8_t min_inline_mode) noexcept {
  // With room for one VLAN tag, and the longest headers without options.
  switch (min_inline_mode) {
    case 0:
      return 0;
    case 1:
      return ethernet_inline;
    case 2:
      return 14 + 4 + 40;
    default:
      return 14 + 4 + 40 + 20;
  }
}

}  // namespace chime::net
