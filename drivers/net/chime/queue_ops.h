// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ethdev_driver.h>

#include "base/error.h"
#include "port.h"

/// @file
/// ethdev's queue operations, over RxQueueControl and TxQueueControl.

namespace chime::net {

Result<> set_up_rx_queue(PortControl& port, std::uint16_t queue, std::uint16_t descriptors,
                         unsigned int socket, const rte_eth_rxconf* conf, rte_mempool* pool) noexcept;
Result<> set_up_tx_queue(PortControl& port, std::uint16_t queue, std::uint16_t descriptors,
                         unsigned int socket, const rte_eth_txconf* conf) noexcept;
void release_rx_queue(rte_eth_dev* dev, std::uint16_t queue) noexcept;
void release_tx_queue(rte_eth_dev* dev, std::uint16_t queue) noexcept;

Result<> start_rx_queue(PortControl& port, std::uint16_t queue) noexcept;
Result<> stop_rx_queue(PortControl& port, std::uint16_t queue) noexcept;
Result<> start_tx_queue(PortControl& port, std::uint16_t queue) noexcept;
Result<> stop_tx_queue(PortControl& port, std::uint16_t queue) noexcept;

// For the queue's lcore: without the port's lock.
int arm_rx_interrupt(rte_eth_dev* dev, std::uint16_t queue) noexcept;
int disarm_rx_interrupt(rte_eth_dev* dev, std::uint16_t queue) noexcept;

/// Whether every receive queue has room for frames of this MTU.
Result<> check_receive_buffers(const PortControl& port, std::uint32_t mtu) noexcept;

/// Sets the burst functions of this process's rte_eth_dev: working ones while the port runs, and dummies
/// while it is stopped.
void install_bursts(rte_eth_dev& dev) noexcept;

}  // namespace chime::net
