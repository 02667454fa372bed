// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ethdev_driver.h>

#include <array>
#include <cstdint>

#include "base/array.h"
#include "base/error.h"
#include "hca/device.h"
#include "hca/memory.h"

/// @file
/// A port is two things. PortShared lies in EAL memory (dev_private) and is plain data: what bursts and
/// secondary processes reach. PortControl lives on the primary's heap (process_private) and owns the HCA and
/// its objects.

namespace chime::net {

class RxQueueControl;
class TxQueueControl;
class RxSteering;
class FlowRules;

inline constexpr std::uint16_t max_queues = 256;  ///< each way; the device's own limit may be lower
inline constexpr std::uint16_t max_mac_addresses = 128;
inline constexpr std::uint32_t min_mtu = 68;
inline constexpr std::uint32_t max_mtu = 9978;
inline constexpr std::uint16_t max_reta = 512;
inline constexpr std::uint32_t rss_key_length = 40;

/// dev_private: plain data, valid in every process of the group.
struct PortShared {
  std::uint16_t port_id;
  const hca::MemoryMap::Shared* keys;  ///< of the device's registered mempools
  rte_ether_addr mac[max_mac_addresses];
  char name[RTE_ETH_NAME_MAX_LEN];
};

/// Owned through dev->process_private in the primary process, nullptr elsewhere.
struct PortControl;

inline PortShared& shared_of(rte_eth_dev& dev) noexcept {
  return *static_cast<PortShared*>(dev.data->dev_private);
}
inline PortControl* control_of(rte_eth_dev& dev) noexcept {
  return static_cast<PortControl*>(dev.process_private);
}

}  // namespace chime::net
