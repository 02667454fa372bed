// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <cstdio>
#include <iterator>

#include "log.h"
#include "stats.h"

/// @file
/// Extended statistics: the card's counts, then what the queues count beside packets and bytes, summed over
/// all queues. Packets and bytes of each queue come from ethdev (RTE_ETH_DEV_AUTOFILL_QUEUE_XSTATS).

namespace chime::net {

namespace {

struct CardCounter {
  const char* name;
  std::size_t offset;  ///< in HcaCounters
};

constexpr std::size_t port_offset = offsetof(HcaCounters, port);

constexpr CardCounter card_counters[] = {
    {"rx_vport_unicast_packets", port_offset + offsetof(hca::PortCounters, rx_unicast_packets)},
    {"rx_vport_unicast_bytes", port_offset + offsetof(hca::PortCounters, rx_unicast_bytes)},
    {"rx_vport_multicast_packets", port_offset + offsetof(hca::PortCounters, rx_multicast_packets)},
    {"rx_vport_multicast_bytes", port_offset + offsetof(hca::PortCounters, rx_multicast_bytes)},
    {"rx_vport_broadcast_packets", port_offset + offsetof(hca::PortCounters, rx_broadcast_packets)},
    {"rx_vport_broadcast_bytes", port_offset + offsetof(hca::PortCounters, rx_broadcast_bytes)},
    {"tx_vport_unicast_packets", port_offset + offsetof(hca::PortCounters, tx_unicast_packets)},
    {"tx_vport_unicast_bytes", port_offset + offsetof(hca::PortCounters, tx_unicast_bytes)},
    {"tx_vport_multicast_packets", port_offset + offsetof(hca::PortCounters, tx_multicast_packets)},
    {"tx_vport_multicast_bytes", port_offset + offsetof(hca::PortCounters, tx_multicast_bytes)},
    {"tx_vport_broadcast_packets", port_offset + offsetof(hca::PortCounters, tx_broadcast_packets)},
    {"tx_vport_broadcast_bytes", port_offset + offsetof(hca::PortCounters, tx_broadcast_bytes)},
    {"rx_vport_error_packets", port_offset + offsetof(hca::PortCounters, rx_error_packets)},
    {"tx_vport_error_packets", port_offset + offsetof(hca::PortCounters, tx_error_packets)},
    {"rx_phy_packets", port_offset + offsetof(hca::PortCounters, rx_wire_packets)},
    {"rx_phy_bytes", port_offset + offsetof(hca::PortCounters, rx_wire_bytes)},
    {"tx_phy_packets", port_offset + offsetof(hca::PortCounters, tx_wire_packets)},
    {"tx_phy_bytes", port_offset + offsetof(hca::PortCounters, tx_wire_bytes)},
    {"rx_steer_missed_packets", port_offset + offsetof(hca::PortCounters, rx_steer_missed)},
    {"rx_too_long_packets", port_offset + offsetof(hca::PortCounters, rx_too_long)},
    {"rx_wire_dropped_packets", port_offset + offsetof(hca::PortCounters, wire_drops_rx)},
    {"tx_wire_dropped_packets", port_offset + offsetof(hca::PortCounters, wire_drops_tx)},
    {"rx_out_of_buffer", offsetof(HcaCounters, out_of_buffer)},
};

/// ethdev reports packets and bytes itself.
constexpr std::size_t reported_by_ethdev = 2;
static_assert(offsetof(RxCounters, no_mbuf) == reported_by_ethdev * sizeof(std::uint64_t));
static_assert(offsetof(TxCounters, drop_too_short) == reported_by_ethdev * sizeof(std::uint64_t));

constexpr unsigned card_count = std::size(card_counters);
constexpr unsigned rx_count = std::size(rx_counter_names) - reported_by_ethdev;
constexpr unsigned tx_count = std::size(tx_counter_names) - reported_by_ethdev;
constexpr unsigned total = card_count + rx_count + tx_count;

}  // namespace

int get_xstat_names(rte_eth_dev*, rte_eth_xstat_name* names, unsigned int size) noexcept {
  if (names == nullptr || size < total) return total;
  unsigned at = 0;
  const auto add = [&](const char* prefix, const char* name) {
    std::snprintf(names[at].name, sizeof names[at].name, "%s%s", prefix, name);
    ++at;
  };
  for (const CardCounter& counter : card_counters) add("", counter.name);
  for (unsigned i = 0; i < rx_count; ++i) add("rx_", rx_counter_names[reported_by_ethdev + i].name);
  for (unsigned i = 0; i < tx_count; ++i) add("tx_", tx_counter_names[reported_by_ethdev + i].name);
  return total;
}

int get_xstats(rte_eth_dev* dev, rte_eth_xstat* xstats, unsigned int size) noexcept {
  if (xstats == nullptr || size < total) return total;
  Result<HcaCounters> card = hca_counters(*dev);
  if (!card) return report(shared_of(*dev).name, card.error().within("extended statistics"));
  for (unsigned i = 0; i < total; ++i) xstats[i] = {.id = i, .value = 0};

  for (unsigned i = 0; i < card_count; ++i) xstats[i].value = read_counter(*card, card_counters[i].offset);
  rte_eth_xstat* const rx = xstats + card_count;
  for (std::uint16_t q = 0; q < dev->data->nb_rx_queues; ++q) {
    const RxCounters queue = rx_counters(*dev, q);
    for (unsigned i = 0; i < rx_count; ++i)
      rx[i].value += read_counter(queue, rx_counter_names[reported_by_ethdev + i].offset);
  }
  rte_eth_xstat* const tx = rx + rx_count;
  for (std::uint16_t q = 0; q < dev->data->nb_tx_queues; ++q) {
    const TxCounters queue = tx_counters(*dev, q);
    for (unsigned i = 0; i < tx_count; ++i)
      tx[i].value += read_counter(queue, tx_counter_names[reported_by_ethdev + i].offset);
  }
  return total;
}

}  // namespace chime::net
