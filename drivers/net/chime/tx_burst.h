// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <rte_ethdev.h>

#include <cstdint>

#include "txq.h"

/// @file
/// Transmitting. Scalar; one queue is used by one lcore at a time.

namespace chime::net {

/// Chosen for a port at start: the smallest that all its queues can do with.
struct TxVariant {
  bool full;       ///< chains, checksums, VLAN insertion, inline headers; else one segment by pointer
  bool fast_free;  ///< all mbufs from one pool with one reference
};
/// The variant for these RTE_ETH_TX_OFFLOAD_* flags on a queue that needs `inline_size` bytes in line.
TxVariant tx_variant(std::uint64_t offloads, std::uint16_t inline_size) noexcept;
/// What serves both.
constexpr TxVariant tx_variant_of_both(TxVariant a, TxVariant b) noexcept {
  return {a.full || b.full, a.fast_free && b.fast_free};
}
eth_tx_burst_t tx_burst_function(TxVariant variant) noexcept;
/// For rte_eth_tx_burst_mode_get.
const char* tx_burst_description(TxVariant variant) noexcept;

/// ethdev's tx_pkt_prepare: says which packet the burst would drop and why (rte_errno), changes none.
std::uint16_t tx_prepare(void* queue, rte_mbuf** packets, std::uint16_t count) noexcept;
/// ethdev's tx_descriptor_status.
int tx_descriptor_status(void* queue, std::uint16_t offset) noexcept;
/// ethdev's tx_done_cleanup. @param most packets to free; 0: all that are done
int tx_done_cleanup(void* queue, std::uint32_t most) noexcept;

// For whoever owns a queue that is not polled: the control side, tests, benchmarks.

/// Writes what stays the same in all WQEs of the ring. The queue is in RST.
void tx_format(TxQueue& queue) noexcept;
/// Frees every mbuf, empties the CQ, rewinds indices and record, formats the ring. The queue is in RST.
/// @return packets of which the card did not say that they were sent
std::uint32_t tx_release(TxQueue& queue) noexcept;
/// The first half of it, for a queue whose ring is gone. @return the same
std::uint32_t tx_free_mbufs(TxQueue& queue) noexcept;

/// Bytes of header that a WQE carries for min_inline_mode 0 none, 1 L2, 2 IP, 3 TCP/UDP.
std::uint16_t tx_inline_size(std::uint8_t min_inline_mode) noexcept;

}  // namespace chime::net
