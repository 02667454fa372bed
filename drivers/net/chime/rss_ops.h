// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ethdev_driver.h>

#include "base/error.h"
#include "port.h"

/// @file
/// ethdev's RSS operations: key, types and redirection table. Updates also while traffic flows.

namespace chime::net {

Result<> update_rss_hash(PortControl& port, rte_eth_rss_conf* conf) noexcept;
Result<> update_reta(PortControl& port, rte_eth_rss_reta_entry64* entries, std::uint16_t size) noexcept;

// These read PortShared alone, in whatever process.
int get_rss_hash(rte_eth_dev* dev, rte_eth_rss_conf* conf) noexcept;
int query_reta(rte_eth_dev* dev, rte_eth_rss_reta_entry64* entries, std::uint16_t size) noexcept;

}  // namespace chime::net
