// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ethdev_driver.h>

#include <cstdint>
#include <mutex>

#include "port.h"

namespace chime::net {

/// The port of that number, if it is one of ours in this (primary) process; it stays while `staying` holds
/// its lock.
PortControl* find_port(std::uint16_t port_id, std::unique_lock<std::mutex>& staying) noexcept;

/// ethdev's dev_close: ends the port but for its number.
int close_port(rte_eth_dev* dev) noexcept;

}  // namespace chime::net
