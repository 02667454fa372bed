// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ethdev_driver.h>

#include "base/error.h"
#include "port.h"

/// @file
/// What the port tells of itself: ethdev's information operations. Those on rte_eth_dev read shared memory
/// alone, in whatever process.

namespace chime::net {

int get_info(rte_eth_dev* dev, rte_eth_dev_info* info) noexcept;
int get_rx_burst_mode(rte_eth_dev* dev, std::uint16_t queue, rte_eth_burst_mode* mode) noexcept;
int get_tx_burst_mode(rte_eth_dev* dev, std::uint16_t queue, rte_eth_burst_mode* mode) noexcept;
/// @return 0, or the bytes that the version needs when `size` is too small
int get_firmware_version(rte_eth_dev* dev, char* version, size_t size) noexcept;
const std::uint32_t* get_supported_packet_types(rte_eth_dev* dev) noexcept;
/// The packet type costs a burst nothing: all types are reported, whichever the application cares for.
int set_packet_types(rte_eth_dev* dev, std::uint32_t mask) noexcept;

void get_rx_queue_info(rte_eth_dev* dev, std::uint16_t queue, rte_eth_rxq_info* info) noexcept;
void get_tx_queue_info(rte_eth_dev* dev, std::uint16_t queue, rte_eth_txq_info* info) noexcept;

}  // namespace chime::net
