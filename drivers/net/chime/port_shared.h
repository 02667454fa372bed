// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ethdev_driver.h>

#include <atomic>
#include <cstdint>
#include <type_traits>

#include "device_limits.h"
#include "hca/memory.h"
#include "queue_counters.h"
#include "rss.h"
#include "rx_burst.h"
#include "tx_burst.h"

namespace chime::net {

inline constexpr std::uint16_t max_queues = 256;  ///< each way; the device's own limit may be lower
inline constexpr std::uint16_t max_mac_addresses = 128;
inline constexpr std::uint32_t min_mtu = 68;

/// The half of a port that lies in EAL memory (dev_private): plain data, valid in every process of the group.
/// The primary writes it; what it writes while others may read is atomic.
struct PortShared {
  char name[RTE_ETH_NAME_MAX_LEN];
  const hca::MemoryMap::Shared* keys;  ///< of the device's registered mempools
  rte_ether_addr mac[max_mac_addresses];
  Limits limits;
  std::atomic<std::uint32_t> max_mtu;     ///< follows the wire
  std::atomic<std::uint32_t> speed_capa;  ///< RTE_ETH_LINK_SPEED_* of the link when it was last up
  std::atomic<bool> running;              ///< bursts may be called
  bool primary_only;                      ///< secondary processes can't ring the device's doorbells
  RxVariant rx_variant;
  TxVariant tx_variant;
  RssSettings rss;
  char firmware[32];
  /// What the queues' counters stood at when statistics were last reset.
  RxCounters rx_reset[max_queues];
  TxCounters tx_reset[max_queues];
};
static_assert(std::is_standard_layout_v<PortShared>);
static_assert(std::is_trivially_destructible_v<PortShared>);

inline PortShared& shared_of(const rte_eth_dev& dev) noexcept {
  return *static_cast<PortShared*>(dev.data->dev_private);
}

/// Entries of the RSS redirection table on this device.
inline std::uint16_t reta_size(const Limits& limits) noexcept {
  return limits.log_max_rqt < 9 ? static_cast<std::uint16_t>(1u << limits.log_max_rqt) : max_reta;
}

/// Bytes that an Ethernet frame has beside its MTU, at most: header and two VLAN tags.
inline constexpr std::uint32_t frame_overhead = RTE_ETHER_HDR_LEN + 2 * RTE_VLAN_HLEN;

}  // namespace chime::net
