// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/error.h"
#include "port.h"

namespace chime::net {

/// The callback of the port's change descriptor, on the EAL's interrupt thread: publishes link and largest
/// MTU, and tells the application when the link went up or down, or the card was lost. Takes no lock.
/// @param control PortControl
void port_changed(void* control) noexcept;

/// Reads the link and publishes it. @return whether it went up or down
bool update_link(PortControl& port) noexcept;

Result<> link_up(PortControl& port) noexcept;
Result<> link_down(PortControl& port) noexcept;
/// ethdev's link_update: 0 when the link went up or down, -1 when not.
int link_update(rte_eth_dev* dev, int wait_to_complete) noexcept;
/// ethdev's is_removed: whether the card was lost.
int is_removed(rte_eth_dev* dev) noexcept;

}  // namespace chime::net
