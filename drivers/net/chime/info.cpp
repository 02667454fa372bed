// SPDX-License-Identifier: BSD-3-Clause
#include "info.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <mutex>

#include "tx_offload.h"

namespace chime::net {

namespace {

/// The WQE's ds field has six bits.
constexpr std::uint32_t most_wqe_ds = 63;
constexpr std::uint16_t default_ring = 1024;
constexpr std::uint16_t default_burst = 32;

std::uint16_t bounded(std::uint32_t value, std::uint32_t most) noexcept {
  return static_cast<std::uint16_t>(std::min(value, most));
}

std::uint64_t rx_queue_offloads(const Limits& limits) noexcept {
  std::uint64_t offloads =
      RTE_ETH_RX_OFFLOAD_SCATTER | RTE_ETH_RX_OFFLOAD_RSS_HASH | RTE_ETH_RX_OFFLOAD_TIMESTAMP;
  if (limits.checksum) offloads |= RTE_ETH_RX_OFFLOAD_CHECKSUM;
  if (limits.vlan_strip) offloads |= RTE_ETH_RX_OFFLOAD_VLAN_STRIP;
  if (limits.scatter_fcs) offloads |= RTE_ETH_RX_OFFLOAD_KEEP_CRC;
  return offloads;
}

std::uint64_t tx_queue_offloads(const Limits& limits) noexcept {
  // Where the card inserts no VLAN tags, the queue writes them in line.
  std::uint64_t offloads =
      RTE_ETH_TX_OFFLOAD_MULTI_SEGS | RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE | RTE_ETH_TX_OFFLOAD_VLAN_INSERT;
  if (limits.checksum)
    offloads |= RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_CKSUM;
  if (limits.max_large_send != 0) offloads |= RTE_ETH_TX_OFFLOAD_TCP_TSO;
  if (limits.tunnels == 0) return offloads;
  offloads |= RTE_ETH_TX_OFFLOAD_OUTER_IPV4_CKSUM;
  if (limits.max_large_send == 0) return offloads;
  const auto segments_in = [&](std::uint64_t tunnel, std::uint64_t offload) {
    if ((limits.tunnels & tx_tunnel_bit(tunnel)) != 0) offloads |= offload;
  };
  segments_in(RTE_MBUF_F_TX_TUNNEL_VXLAN, RTE_ETH_TX_OFFLOAD_VXLAN_TNL_TSO);
  segments_in(RTE_MBUF_F_TX_TUNNEL_GRE, RTE_ETH_TX_OFFLOAD_GRE_TNL_TSO);
  segments_in(RTE_MBUF_F_TX_TUNNEL_IPIP, RTE_ETH_TX_OFFLOAD_IPIP_TNL_TSO);
  return offloads;
}

/// Data segments that one send WQE can name, behind its control and Ethernet segments.
std::uint16_t tx_segments(const Limits& limits) noexcept {
  const std::uint32_t inline_size = tx_inline_size(limits.min_inline_mode);
  // Two of the inlined bytes lie in the Ethernet segment itself.
  const std::uint32_t header = 2 + (inline_size > 2 ? (inline_size - 2 + 15) / 16 : 0);
  const std::uint32_t ds = std::min(limits.max_send_ds, most_wqe_ds);
  return bounded(ds > header ? ds - header : 1, 255);
}

int describe_burst(rte_eth_burst_mode* mode, const char* text) noexcept {
  std::snprintf(mode->info, sizeof mode->info, "%s", text);
  return 0;
}

}  // namespace

int get_info(rte_eth_dev* dev, rte_eth_dev_info* info) noexcept {
  const PortShared& shared = shared_of(*dev);
  const Limits& limits = shared.limits;
  info->min_mtu = min_mtu;
  info->max_mtu = bounded(shared.max_mtu, UINT16_MAX);
  info->max_rx_pktlen = info->max_mtu + RTE_ETHER_HDR_LEN + RTE_ETHER_CRC_LEN;
  info->min_rx_bufsize = RTE_ETHER_MIN_LEN;
  info->max_rx_queues = bounded(limits.max_receive_queues, max_queues);
  info->max_tx_queues = bounded(limits.max_send_queues, max_queues);
  info->max_mac_addrs = std::min<std::uint32_t>(1 + limits.max_unicast_addresses, max_mac_addresses);
  info->rx_queue_offload_capa = rx_queue_offloads(limits);
  info->rx_offload_capa = info->rx_queue_offload_capa | RTE_ETH_RX_OFFLOAD_VLAN_FILTER;
  info->tx_queue_offload_capa = tx_queue_offloads(limits);
  info->tx_offload_capa = info->tx_queue_offload_capa;
  info->reta_size = reta_size(limits);
  info->hash_key_size = rss_key_length;
  info->flow_type_rss_offloads = supported_rss_types;

  const std::uint32_t ring =
      1u << std::min({limits.log_max_work_queue, limits.log_max_completion_queue, std::uint8_t{15}});
  info->rx_desc_lim.nb_max = bounded(ring, RxQueueControl::max_descriptors);
  info->rx_desc_lim.nb_min = RxQueueControl::min_descriptors;
  info->rx_desc_lim.nb_align = RxQueueControl::min_descriptors;
  info->tx_desc_lim.nb_max = bounded(ring, TxQueueControl::max_descriptors);
  info->tx_desc_lim.nb_min = TxQueueControl::min_descriptors;
  info->tx_desc_lim.nb_align = TxQueueControl::min_descriptors;
  info->tx_desc_lim.nb_seg_max = tx_segments(limits);
  info->tx_desc_lim.nb_mtu_seg_max = info->tx_desc_lim.nb_seg_max;

  info->speed_capa = shared.speed_capa;
  info->default_rxportconf = {.burst_size = default_burst, .ring_size = default_ring, .nb_queues = 1};
  info->default_txportconf = {.burst_size = default_burst, .ring_size = default_ring, .nb_queues = 1};
  info->err_handle_mode = RTE_ETH_ERROR_HANDLE_MODE_NONE;
  return 0;
}

int get_rx_burst_mode(rte_eth_dev* dev, std::uint16_t /*queue*/, rte_eth_burst_mode* mode) noexcept {
  const PortShared& shared = shared_of(*dev);
  if (!shared.running) return -EINVAL;
  return describe_burst(mode, rx_burst_description(shared.rx_variant));
}

int get_tx_burst_mode(rte_eth_dev* dev, std::uint16_t /*queue*/, rte_eth_burst_mode* mode) noexcept {
  const PortShared& shared = shared_of(*dev);
  if (!shared.running) return -EINVAL;
  return describe_burst(mode, tx_burst_description(shared.tx_variant));
}

int get_firmware_version(rte_eth_dev* dev, char* version, size_t size) noexcept {
  const PortShared& shared = shared_of(*dev);
  const std::size_t need = std::strlen(shared.firmware) + 1;
  if (size < need) return static_cast<int>(need);
  std::memcpy(version, shared.firmware, need);
  return 0;
}

const std::uint32_t* get_supported_packet_types(rte_eth_dev*) noexcept {
  return rx_supported_packet_types;
}

int set_packet_types(rte_eth_dev*, std::uint32_t /*mask*/) noexcept {
  return 0;
}

void get_rx_queue_info(rte_eth_dev* dev, std::uint16_t queue, rte_eth_rxq_info* info) noexcept {
  PortControl& port = *control_of(*dev);
  const std::lock_guard lock(port.mutex);
  if (port.rx[queue]) port.rx[queue]->info(*info);
}

void get_tx_queue_info(rte_eth_dev* dev, std::uint16_t queue, rte_eth_txq_info* info) noexcept {
  PortControl& port = *control_of(*dev);
  const std::lock_guard lock(port.mutex);
  if (port.tx[queue]) port.tx[queue]->info(*info);
}

}  // namespace chime::net
