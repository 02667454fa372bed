// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstring>

#include "wire/ethdev.h"

namespace chime::wire {

namespace {

constexpr std::uint32_t largest_mtu = 9978;
constexpr std::uint32_t small_room = 2048;  // what every driver's buffers are tried with
constexpr std::uint16_t descriptors = 512;
// Mbufs on their way that are neither in a ring of the driver nor in a burst: a peer's ring, the cache.
constexpr unsigned spare_mbufs = 1023;
constexpr unsigned spare_large_mbufs = 511;

std::uint32_t usable_mtu(const rte_eth_dev_info& info) noexcept {
  // Drivers that know no bound of one kind give the largest number there is.
  std::uint32_t overhead = RTE_ETHER_HDR_LEN + RTE_ETHER_CRC_LEN;
  if (info.max_mtu != UINT16_MAX && info.max_rx_pktlen > info.max_mtu) {
    overhead = info.max_rx_pktlen - info.max_mtu;
  }
  std::uint32_t mtu = std::min(largest_mtu, std::uint32_t{info.max_mtu});
  if (info.max_rx_pktlen > overhead) mtu = std::min(mtu, info.max_rx_pktlen - overhead);
  // A limit of 1518 or 1522 bytes a frame means the standard MTU, with or without a VLAN tag.
  return mtu >= RTE_ETHER_MTU && mtu <= RTE_ETHER_MTU + 2 * 4 ? RTE_ETHER_MTU : mtu;
}

/// A net_tap that is removed while started stays registered with EAL's interrupt thread, which then calls
/// into freed memory.
bool leaves_its_interrupt(const rte_eth_dev_info& info) noexcept {
  return std::strcmp(info.driver_name, "net_tap") == 0;
}

}  // namespace

std::uint32_t usable_frame(const rte_eth_dev_info& info) noexcept {
  return usable_mtu(info) + frame_overhead;
}

Result<> EthdevWire::prepare(std::uint16_t port) noexcept {
  Setup setup;
  setup.port = port;
  if (auto ok = configure(port, setup); !ok) return ok;
  if (auto ok = start(port); !ok) return ok;
  prepared_ = setup;
  largest_.store(setup.largest);
  events_.of(port).fetch_or(EthdevEvents::prepared_event, std::memory_order_release);
  return {};
}

Result<> EthdevWire::configure(std::uint16_t port, Setup& setup) noexcept {
  rte_eth_dev_info info;
  if (int error = rte_eth_dev_info_get(port, &info); error) {
    return fail(-error, "its driver does not describe it: %s", strerror(-error));
  }
  auto rx_queues = std::min<std::uint16_t>(info.max_rx_queues, 1);
  auto tx_queues = std::min<std::uint16_t>(info.max_tx_queues, 1);
  setup.receives = rx_queues != 0;
  setup.sends = tx_queues != 0;

  rte_eth_conf conf{};
  std::uint32_t mtu = usable_mtu(info);
  setup.largest = mtu + frame_overhead;
  std::uint32_t room = small_room;
  if (setup.largest + RTE_ETHER_CRC_LEN > room) {
    if (info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_SCATTER &&
        info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS) {
      conf.rxmode.offloads |= RTE_ETH_RX_OFFLOAD_SCATTER;
      conf.txmode.offloads |= RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
    } else {
      room = RTE_ALIGN_CEIL(setup.largest + std::uint32_t{RTE_ETHER_CRC_LEN},
                            std::uint32_t{RTE_CACHE_LINE_SIZE});
    }
  }
  conf.txmode.offloads |= info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
  conf.rxmode.mtu = mtu;
  // With the interrupt, looking at the link is reading memory.
  conf.intr_conf.lsc = *info.dev_flags & RTE_ETH_DEV_INTR_LSC && !leaves_its_interrupt(info);
  conf.intr_conf.rmv = (*info.dev_flags & RTE_ETH_DEV_INTR_RMV) != 0;

  int error = rte_eth_dev_configure(port, rx_queues, tx_queues, &conf);
  if (error == -EBUSY) return fail(EBUSY, "it is started by somebody else; stop it there first");
  if (error) return fail(-error, "one queue each way, MTU %u: %s", mtu, strerror(-error));
  if (mtu > RTE_ETHER_MTU) {
    error = rte_eth_dev_set_mtu(port, static_cast<std::uint16_t>(mtu));
    if (error && error != -ENOTSUP) {
      std::uint16_t actual = RTE_ETHER_MTU;
      rte_eth_dev_set_mtu(port, actual);
      setup.largest = actual + frame_overhead;
    }
  }

  std::uint16_t rx_descriptors = descriptors, tx_descriptors = descriptors;
  error = rte_eth_dev_adjust_nb_rx_tx_desc(port, &rx_descriptors, &tx_descriptors);
  if (error) return fail(-error, "its queue sizes: %s", strerror(-error));
  unsigned spare = room > small_room ? spare_large_mbufs : spare_mbufs;
  unsigned count = rx_descriptors + tx_descriptors + spare;
  if (auto ok = take_pool(port, count, room); !ok) return ok;

  int socket = rte_eth_dev_socket_id(port);
  if (setup.receives) {
    error = rte_eth_rx_queue_setup(port, 0, rx_descriptors, static_cast<unsigned>(socket), nullptr, pool_);
    if (error) return fail(-error, "Rx queue of %u descriptors: %s", rx_descriptors, strerror(-error));
  }
  if (setup.sends) {
    error = rte_eth_tx_queue_setup(port, 0, tx_descriptors, static_cast<unsigned>(socket), nullptr);
    if (error) return fail(-error, "Tx queue of %u descriptors: %s", tx_descriptors, strerror(-error));
  }
  return {};
}

Result<> EthdevWire::take_pool(std::uint16_t port, unsigned count, std::uint32_t room) noexcept {
  if (pool_ && mbufs_.room() == room && pool_->size >= count) {
    events_.pools().renumber(pool_, port);
    return {};
  }
  if (pool_) {
    mbufs_.flush();
    mbufs_ = {};
    events_.pools().give_back(pool_);
    pool_ = nullptr;
  }
  auto pool = events_.pools().take(port, count, room);
  if (!pool) return fail(pool.error());
  auto cache = MbufCache::make(**pool);
  if (!cache) {
    events_.pools().give_back(*pool);
    return fail(cache.error());
  }
  pool_ = *pool;
  mbufs_ = std::move(*cache);
  return {};
}

Result<> EthdevWire::start(std::uint16_t port) noexcept {
  int error = rte_eth_dev_start(port);
  if (error) return fail(-error, "start: %s", strerror(-error));
  error = rte_eth_promiscuous_enable(port);
  if (error && error != -ENOTSUP) {
    rte_eth_dev_stop(port);
    return fail(-error, "promiscuous mode: %s", strerror(-error));
  }
  return {};
}

}  // namespace chime::wire
