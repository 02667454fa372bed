// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

/// @file
/// What a queue counts. The lcore that owns the queue is the only writer; anyone may read.

namespace chime::net {

struct RxCounters {
  std::uint64_t packets;
  std::uint64_t bytes;           ///< without FCS unless it is kept
  std::uint64_t no_mbuf;         ///< refills that the mempool refused, in mbufs
  std::uint64_t unknown_memory;  ///< mbufs from memory that is not registered, put back unposted
  std::uint64_t error_cqes;      ///< packets lost to an error CQE (each stops the queue until recovery)
  std::uint64_t recoveries;
};

struct TxCounters {
  std::uint64_t packets;
  std::uint64_t bytes;
  // Packets that the burst took and dropped, by reason.
  std::uint64_t drop_too_short;       ///< less than an Ethernet header
  std::uint64_t drop_too_long;        ///< longer than the port's largest frame
  std::uint64_t drop_chain_too_long;  ///< more segments than a WQE can name
  std::uint64_t drop_segmentation;    ///< RTE_MBUF_F_TX_TCP_SEG with impossible lengths or sizes
  std::uint64_t drop_chain;           ///< a chain without RTE_ETH_TX_OFFLOAD_MULTI_SEGS, or a broken one
  std::uint64_t drop_unknown_memory;  ///< data outside every registered mempool
  std::uint64_t drop_queue_error;     ///< posted, and lost to an error of the queue
  std::uint64_t error_cqes;
  std::uint64_t recoveries;
};

/// For xstats: name without the queue's prefix, and where it is.
struct CounterName {
  const char* name;
  std::size_t offset;
  bool is_drop;  ///< counts in imissed / oerrors
};

inline constexpr CounterName rx_counter_names[] = {
    {"packets", offsetof(RxCounters, packets), false},
    {"bytes", offsetof(RxCounters, bytes), false},
    {"no_mbuf", offsetof(RxCounters, no_mbuf), false},
    {"unknown_memory", offsetof(RxCounters, unknown_memory), false},
    {"error_cqes", offsetof(RxCounters, error_cqes), true},
    {"recoveries", offsetof(RxCounters, recoveries), false},
};

inline constexpr CounterName tx_counter_names[] = {
    {"packets", offsetof(TxCounters, packets), false},
    {"bytes", offsetof(TxCounters, bytes), false},
    {"drop_too_short", offsetof(TxCounters, drop_too_short), true},
    {"drop_too_long", offsetof(TxCounters, drop_too_long), true},
    {"drop_chain_too_long", offsetof(TxCounters, drop_chain_too_long), true},
    {"drop_segmentation", offsetof(TxCounters, drop_segmentation), true},
    {"drop_chain", offsetof(TxCounters, drop_chain), true},
    {"drop_unknown_memory", offsetof(TxCounters, drop_unknown_memory), true},
    {"drop_queue_error", offsetof(TxCounters, drop_queue_error), true},
    {"error_cqes", offsetof(TxCounters, error_cqes), false},
    {"recoveries", offsetof(TxCounters, recoveries), false},
};

/// Adds on the owner's side: no locked instruction, never torn for readers.
inline void count(std::uint64_t& counter, std::uint64_t more) noexcept {
  std::atomic_ref<std::uint64_t> shared(counter);
  shared.store(shared.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
}

/// One counter as another thread may read it.
template <class Counters>
std::uint64_t read_counter(const Counters& counters, std::size_t offset) noexcept {
  const auto* at =
      reinterpret_cast<const std::uint64_t*>(reinterpret_cast<const std::byte*>(&counters) + offset);
  return __atomic_load_n(at, __ATOMIC_RELAXED);
}

/// A copy, counter by counter. @return counters minus base
template <class Counters>
Counters snapshot(const Counters& counters, const Counters& base) noexcept {
  Counters copy;
  for (std::size_t at = 0; at < sizeof(Counters); at += sizeof(std::uint64_t)) {
    *reinterpret_cast<std::uint64_t*>(reinterpret_cast<std::byte*>(&copy) + at) =
        read_counter(counters, at) - read_counter(base, at);
  }
  return copy;
}

}  // namespace chime::net
