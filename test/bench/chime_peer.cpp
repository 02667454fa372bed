// SPDX-License-Identifier: BSD-3-Clause
#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>
#include <rte_mempool.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <new>

#include "bench_peer.h"
#include "drivers/net/chime/rx_burst.h"
#include "drivers/net/chime/rx_pool.h"
#include "drivers/net/chime/tx_burst.h"
#include "prm/cqe.h"

/// @file
/// This driver's burst functions on queues in plain memory, without an HCA, for the benchmark. The queues
/// live as long as the process.

namespace chime::bench {
namespace {

using net::RxQueue;
using net::RxVariant;
using net::TxQueue;
using net::TxVariant;

struct Configuration {
  const char* name;
  const char* description;
  RxVariant rx;
  std::uint32_t rx_flags;
  TxVariant tx;
  std::uint16_t inline_size;
  std::uint64_t tx_ol_flags;
};

constexpr std::uint32_t hash_and_checksum =
    RTE_MBUF_F_RX_RSS_HASH | RTE_MBUF_F_RX_IP_CKSUM_MASK | RTE_MBUF_F_RX_L4_CKSUM_MASK;
constexpr std::uint64_t udp_checksum = RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_UDP_CKSUM;

constexpr Configuration configurations[] = {
    {"chime plain, fast free",
     "Rx RSS hash + checksum; Tx SEND, pointer, fast free",
     RxVariant::plain,
     hash_and_checksum,
     {false, true},
     0,
     0},
    {"chime plain", "Rx no offloads; Tx SEND, pointer", RxVariant::plain, 0, {false, false}, 0, 0},
    {"chime full, fast free",
     "Rx RSS hash + checksum + timestamp; Tx checksum, fast free",
     RxVariant::full,
     hash_and_checksum,
     {true, true},
     0,
     udp_checksum},
    {"chime full",
     "Rx RSS hash + checksum + timestamp; Tx checksum",
     RxVariant::full,
     hash_and_checksum,
     {true, false},
     0,
     udp_checksum},
    {"chime full, inline L2",
     "the same; Tx with 18 bytes of header in line",
     RxVariant::full,
     hash_and_checksum,
     {true, false},
     18,
     udp_checksum},
};

template <class T>
T* zeroed(std::size_t count) noexcept {
  return static_cast<T*>(rte_zmalloc(nullptr, count * sizeof(T), 4096));
}

prm::Cqe* new_cq(unsigned log_size) noexcept {
  auto* ring = zeroed<prm::Cqe>(std::size_t{1} << log_size);
  if (ring != nullptr) {
    for (std::size_t i = 0; i < std::size_t{1} << log_size; ++i)
      ring[i].op_own = prm::cqe_op_own(prm::cqe_opcode::invalid, prm::cqe_owner);
  }
  return ring;
}

/// The pool's memory under the benchmark's key, as the registered mempools of a device would be.
const hca::MemoryMap::Shared* new_keys(rte_mempool* pool) noexcept {
  auto* table = static_cast<hca::KeyTable*>(
      rte_zmalloc(nullptr, sizeof(hca::KeyTable) + pool->nb_mem_chunks * sizeof(hca::KeyRange), 64));
  auto* shared = zeroed<hca::MemoryMap::Shared>(1);
  if (table == nullptr || shared == nullptr) return nullptr;
  table->generation = 1;
  rte_mempool_mem_iter(
      pool,
      [](rte_mempool*, void* opaque, rte_mempool_memhdr* memory, unsigned) {
        auto& keys = *static_cast<hca::KeyTable*>(opaque);
        const auto start = reinterpret_cast<std::uintptr_t>(memory->addr);
        keys.ranges[keys.count++] = {start, start + memory->len, prm::host_to_be<std::uint32_t>(BENCH_LKEY),
                                     0};
      },
      table);
  std::sort(table->ranges, table->ranges + table->count,
            [](const hca::KeyRange& a, const hca::KeyRange& b) { return a.start < b.start; });
  new (&shared->table) std::atomic<const hca::KeyTable*>(table);
  return shared;
}

RxQueue* new_rx_queue(const Configuration& config, rte_mempool* pool, unsigned log_size,
                      const hca::MemoryMap::Shared* keys) noexcept {
  auto* q = zeroed<RxQueue>(1);
  const Result<net::PoolLayout> layout = net::layout_of(*pool, *keys);
  if (q == nullptr || !layout) return nullptr;
  q->cqes = new_cq(log_size);
  q->wqes = zeroed<std::byte>(std::size_t{16} << log_size);
  q->mbufs = zeroed<rte_mbuf*>(std::size_t{1} << log_size);
  q->cq_record = zeroed<prm::CqRecord>(1);
  q->rq_record = zeroed<prm::WqRecord>(1);
  if (q->cqes == nullptr || q->wqes == nullptr || q->mbufs == nullptr || q->cq_record == nullptr ||
      q->rq_record == nullptr)
    return nullptr;
  q->pool = pool;
  q->rearm = net::rx_rearm_data(0);
  q->flag_mask = config.rx_flags;
  q->buffer_step = layout->buffer_step;
  q->buffer_size = layout->buffer_size;
  q->lkey = layout->lkey_be;
  q->many_keys = layout->many_keys;
  q->read_buf_addr = layout->read_buf_addr;
  q->refill_threshold = 32;
  q->log_size = static_cast<std::uint8_t>(log_size);
  q->segments = 1;
  q->keys = keys;
  if (config.rx == RxVariant::full &&
      rte_mbuf_dyn_rx_timestamp_register(&q->timestamp_offset, &q->timestamp_flag) != 0)
    return nullptr;
  return net::rx_fill(*q) == 0 ? q : nullptr;
}

TxQueue* new_tx_queue(const Configuration& config, unsigned log_size, volatile std::uint64_t* uar,
                      const hca::MemoryMap::Shared* keys) noexcept {
  auto* q = zeroed<TxQueue>(1);
  if (q == nullptr) return nullptr;
  q->log_size = static_cast<std::uint8_t>(log_size);
  q->request_interval = 32;
  q->log_cq_size = static_cast<std::uint8_t>(log_size > 4 ? log_size - 4 : 1);
  q->cqes = new_cq(q->log_cq_size);
  q->wqes = zeroed<std::byte>(std::size_t{64} << log_size);
  q->mbufs = zeroed<rte_mbuf*>(std::size_t{1} << log_size);
  q->cq_record = zeroed<prm::CqRecord>(1);
  q->sq_record = zeroed<prm::WqRecord>(1);
  if (q->cqes == nullptr || q->wqes == nullptr || q->mbufs == nullptr || q->cq_record == nullptr ||
      q->sq_record == nullptr)
    return nullptr;
  q->keys = keys;
  q->max_frame = 1518;
  q->sqn_shifted = prm::wqe_qpn_ds(0x77, 0);
  q->max_ds = prm::max_ds;
  q->inline_size = config.inline_size;
  q->doorbell.base = reinterpret_cast<std::byte*>(const_cast<std::uint64_t*>(uar));
  net::tx_release(*q);
  return q;
}

template <class Burst>
bench_burst_t burst_of(Burst burst) noexcept {
  return reinterpret_cast<bench_burst_t>(burst);  // rte_mbuf** for void**
}

}  // namespace
}  // namespace chime::bench

extern "C" [[gnu::visibility("default")]] int bench_peer_get(unsigned idx, void* memory_pool, unsigned ring,
                                                             bench_peer* out) {
  using namespace chime;
  using namespace chime::bench;
  if (idx >= std::size(configurations) || !std::has_single_bit(ring)) return -1;
  const Configuration& config = configurations[idx];
  auto* pool = static_cast<rte_mempool*>(memory_pool);
  const auto log_size = static_cast<unsigned>(std::countr_zero(ring));
  auto* uar = zeroed<std::uint64_t>(8);
  const hca::MemoryMap::Shared* keys = new_keys(pool);
  if (uar == nullptr || keys == nullptr) return -1;
  RxQueue* rx = new_rx_queue(config, pool, log_size, keys);
  TxQueue* tx = new_tx_queue(config, log_size, uar, keys);
  if (rx == nullptr || tx == nullptr) return -1;

  *out = {};
  std::snprintf(out->name, sizeof out->name, "%s", config.name);
  out->descr = config.description;
  out->rx = burst_of(net::rx_burst_function(config.rx));
  out->rxq = rx;
  out->rv = {.cq = const_cast<prm::Cqe*>(rx->cqes),
             .rq = rx->wqes,
             .cq_dbrec = &rx->cq_record->consumer.raw,
             .rq_dbrec = &rx->rq_record->receive.raw,
             .log_cq = log_size,
             .log_rq = log_size,
             .rq_stride = 16,
             .dseg_off = 0,
             .log_strd_num = 0,
             .log_strd_sz = 0,
             .comp_session = 0};
  out->tx = burst_of(net::tx_burst_function(config.tx));
  out->txq = tx;
  out->tv = {.cq = tx->cqes,
             .sq = tx->wqes,
             .cq_dbrec = &tx->cq_record->consumer.raw,
             .sq_dbrec = &tx->sq_record->send.raw,
             .uar = uar,
             .log_cq = tx->log_cq_size,
             .log_sq = log_size};
  out->tx_ol_flags = config.tx_ol_flags;
  return 0;
}
