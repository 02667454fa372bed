// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <rte_ethdev.h>

#include <cstdint>

#include "rxq.h"

/// @file
/// Receiving. Scalar; one queue is used by one lcore at a time.

namespace chime::net {

/// Chosen for a port at start: the smallest that all its queues can do with.
enum class RxVariant : std::uint8_t {
  plain,  ///< one segment, one memory key; hash, checksums, packet type, VLAN strip, mark
  full,   ///< also scattered, timestamps, pools in several registered ranges or with external buffers
};
/// The variant that this queue needs.
RxVariant rx_variant(const RxQueue& queue) noexcept;
eth_rx_burst_t rx_burst_function(RxVariant variant) noexcept;
/// For rte_eth_rx_burst_mode_get.
const char* rx_burst_description(RxVariant variant) noexcept;

/// ethdev's rx_queue_count: packets that wait.
std::uint32_t rx_queue_count(void* queue) noexcept;
/// ethdev's rx_descriptor_status; a descriptor is a WQE, in a scattered queue of several mbufs.
int rx_descriptor_status(void* queue, std::uint16_t offset) noexcept;

/// Asks for an event at the next completion (rx_queue_intr_enable). To be called by the queue's lcore.
/// @return 0, or -ENOTSUP when the queue was made without interrupt
int rx_interrupt_arm(RxQueue& queue) noexcept;
/// An event of the last arming was taken (rx_queue_intr_disable): the next arming is a new one.
void rx_interrupt_served(RxQueue& queue) noexcept;

// For whoever owns a queue that is not polled: the control side, tests, benchmarks.

/// Fills every WQE. @return 0, or -ENOMEM, -EFAULT (memory not registered): then nothing stays posted
int rx_fill(RxQueue& queue) noexcept;
/// Takes every mbuf back, empties the CQ, rewinds indices and records. The queue is in RST.
void rx_release(RxQueue& queue) noexcept;
/// The first half of it, for a queue whose ring is gone.
void rx_free_mbufs(RxQueue& queue) noexcept;

/// The 8 bytes from mbuf data_off on, of a fresh mbuf of this port.
std::uint64_t rx_rearm_data(std::uint16_t port_id) noexcept;

/// All packet types that a burst reports, ended by RTE_PTYPE_UNKNOWN.
extern const std::uint32_t rx_supported_packet_types[];

}  // namespace chime::net
