// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ethdev_driver.h>

#include "base/error.h"
#include "port.h"

/// @file
/// Between the processes of a group (rte_mp): the primary tells when a port starts and stops, a secondary has
/// the primary carry out what needs a command. Without shared files (--in-memory, --no-shconf) there is
/// nobody to talk to, and nothing here fails.

namespace chime::net {

/// Listens; once in a process.
Result<> open_channel() noexcept;
void close_channel() noexcept;

/// Primary: has every secondary process take up, or drop, the burst functions of this port, and waits until
/// they have. Not to be called with a lock that find_port() or an operation takes.
void tell_secondaries(const rte_eth_dev& dev) noexcept;

/// Secondary: the card's counts, from the primary.
Result<HcaCounters> ask_for_counters(const rte_eth_dev& dev) noexcept;

}  // namespace chime::net
