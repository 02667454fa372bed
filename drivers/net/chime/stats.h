// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ethdev_driver.h>

#include "base/error.h"
#include "port.h"

/// @file
/// Statistics: packets and bytes are the queues' own counts in shared memory, losses on the card are the
/// card's counts, which a secondary process asks the primary for.

namespace chime::net {

/// The card's counts since statistics were last reset. Reads the card.
Result<HcaCounters> read_hca_counters(PortControl& port) noexcept;
/// In whatever process.
Result<HcaCounters> hca_counters(rte_eth_dev& dev) noexcept;

/// Counts of one queue since the last reset; zero where there is no queue.
RxCounters rx_counters(const rte_eth_dev& dev, std::uint16_t queue) noexcept;
TxCounters tx_counters(const rte_eth_dev& dev, std::uint16_t queue) noexcept;

int get_stats(rte_eth_dev* dev, rte_eth_stats* stats) noexcept;
/// Starts all counts, basic and extended, at zero.
Result<> reset_stats(PortControl& port) noexcept;

int get_xstats(rte_eth_dev* dev, rte_eth_xstat* xstats, unsigned int size) noexcept;
int get_xstat_names(rte_eth_dev* dev, rte_eth_xstat_name* names, unsigned int size) noexcept;

}  // namespace chime::net
