// SPDX-License-Identifier: BSD-3-Clause
#include "queue_ops.h"

#include <mutex>

#include "log.h"

namespace chime::net {

namespace {

int memory_socket(unsigned int socket) noexcept {
  return socket == static_cast<unsigned int>(SOCKET_ID_ANY) ? SOCKET_ID_ANY : static_cast<int>(socket);
}

std::uint32_t frame_of_mtu(std::uint32_t mtu, std::uint64_t rx_offloads = 0) noexcept {
  return mtu + frame_overhead + (rx_offloads & RTE_ETH_RX_OFFLOAD_KEEP_CRC ? RTE_ETHER_CRC_LEN : 0);
}

}  // namespace

Result<> set_up_rx_queue(PortControl& port, std::uint16_t queue, std::uint16_t descriptors,
                         unsigned int socket, const rte_eth_rxconf* conf, rte_mempool* pool) noexcept {
  const rte_eth_dev_data& data = *port.dev.data;
  RxQueueConfig config{};
  config.queue = queue;
  config.descriptors = descriptors;
  config.socket = memory_socket(socket);
  config.pool = pool;
  config.conf = *conf;
  config.conf.offloads |= data.dev_conf.rxmode.offloads;
  // A scattered queue has room for every MTU, so that the MTU can change while it runs.
  const bool scatter = config.conf.offloads & RTE_ETH_RX_OFFLOAD_SCATTER;
  config.max_frame = frame_of_mtu(scatter ? std::max<std::uint32_t>(port.shared.max_mtu, data.mtu) : data.mtu,
                                  config.conf.offloads);
  config.uar_page = port.hca->cq_uar.page_id();
  config.interrupt = data.dev_conf.intr_conf.rxq;
  config.vector = 0;
  if (pool == nullptr) return fail(EINVAL, "Rx queue %u: several mempools are not there; give one", queue);
  Result<Owned<RxQueueControl>> made = RxQueueControl::create(queue_context(port), config);
  if (!made) return fail(made.error().within("Rx queue %u", queue));
  port.rx[queue] = std::move(*made);
  port.shared.rx_reset[queue] = {};
  port.dev.data->rx_queues[queue] = port.rx[queue]->fast();
  return {};
}

Result<> set_up_tx_queue(PortControl& port, std::uint16_t queue, std::uint16_t descriptors,
                         unsigned int socket, const rte_eth_txconf* conf) noexcept {
  const rte_eth_dev_data& data = *port.dev.data;
  TxQueueConfig config{};
  config.queue = queue;
  config.descriptors = descriptors;
  config.socket = memory_socket(socket);
  config.conf = *conf;
  config.conf.offloads |= data.dev_conf.txmode.offloads;
  config.max_frame = frame_of_mtu(data.mtu);
  Result<Owned<TxQueueControl>> made = TxQueueControl::create(queue_context(port), config);
  if (!made) return fail(made.error().within("Tx queue %u", queue));
  port.tx[queue] = std::move(*made);
  port.shared.tx_reset[queue] = {};
  port.dev.data->tx_queues[queue] = port.tx[queue]->fast();
  return {};
}

void release_rx_queue(rte_eth_dev* dev, std::uint16_t queue) noexcept {
  PortControl& port = *control_of(*dev);
  const std::lock_guard lock(port.mutex);
  dev->data->rx_queues[queue] = nullptr;
  port.rx[queue].reset();
}

void release_tx_queue(rte_eth_dev* dev, std::uint16_t queue) noexcept {
  PortControl& port = *control_of(*dev);
  const std::lock_guard lock(port.mutex);
  dev->data->tx_queues[queue] = nullptr;
  port.tx[queue].reset();
}

Result<> start_rx_queue(PortControl& port, std::uint16_t queue) noexcept {
  if (Result<> done = port.rx[queue]->start(); !done)
    return fail(done.error().within("starting Rx queue %u", queue));
  port.dev.data->rx_queue_state[queue] = RTE_ETH_QUEUE_STATE_STARTED;
  return {};
}

Result<> stop_rx_queue(PortControl& port, std::uint16_t queue) noexcept {
  if (Result<> done = port.rx[queue]->stop(); !done)
    return fail(done.error().within("stopping Rx queue %u", queue));
  port.dev.data->rx_queue_state[queue] = RTE_ETH_QUEUE_STATE_STOPPED;
  return {};
}

Result<> start_tx_queue(PortControl& port, std::uint16_t queue) noexcept {
  port.tx[queue]->set_max_frame(frame_of_mtu(port.dev.data->mtu));
  if (Result<> done = port.tx[queue]->start(); !done)
    return fail(done.error().within("starting Tx queue %u", queue));
  port.dev.data->tx_queue_state[queue] = RTE_ETH_QUEUE_STATE_STARTED;
  return {};
}

Result<> stop_tx_queue(PortControl& port, std::uint16_t queue) noexcept {
  if (Result<> done = port.tx[queue]->stop(); !done)
    return fail(done.error().within("stopping Tx queue %u", queue));
  port.dev.data->tx_queue_state[queue] = RTE_ETH_QUEUE_STATE_STOPPED;
  return {};
}

int arm_rx_interrupt(rte_eth_dev* dev, std::uint16_t queue) noexcept {
  return rx_interrupt_arm(*static_cast<RxQueue*>(dev->data->rx_queues[queue]));
}

int disarm_rx_interrupt(rte_eth_dev* dev, std::uint16_t queue) noexcept {
  PortControl& port = *control_of(*dev);
  if (Result<> done = port.interrupts.drain_rx(queue); !done)
    return report(port.name(), done.error().within("disarming the interrupt of Rx queue %u", queue));
  rx_interrupt_served(*static_cast<RxQueue*>(dev->data->rx_queues[queue]));
  return 0;
}

Result<> check_receive_buffers(const PortControl& port, std::uint32_t mtu) noexcept {
  for (std::uint16_t i = 0; i < port.dev.data->nb_rx_queues; ++i) {
    if (!port.rx[i]) continue;
    rte_eth_rxq_info info;
    port.rx[i]->info(info);
    const RxQueue& queue = *port.rx[i]->fast();
    const std::uint32_t room = queue.buffer_size * queue.segments;
    const std::uint32_t need = frame_of_mtu(mtu, info.conf.offloads);
    if (need > room)
      return fail(EINVAL,
                  "MTU %u: frames of %u bytes, but Rx queue %u has room for %u; use larger mbufs, or the "
                  "offload SCATTER when the queue is set up",
                  mtu, need, i, room);
  }
  return {};
}

void install_bursts(rte_eth_dev& dev) noexcept {
  const PortShared& shared = shared_of(dev);
  const bool running = shared.running.load(std::memory_order_acquire);
  dev.rx_pkt_burst = running ? rx_burst_function(shared.rx_variant) : rte_eth_pkt_burst_dummy;
  dev.tx_pkt_burst = running ? tx_burst_function(shared.tx_variant) : rte_eth_pkt_burst_dummy;
  dev.tx_pkt_prepare = tx_prepare;
  dev.rx_queue_count = rx_queue_count;
  dev.rx_descriptor_status = rx_descriptor_status;
  dev.tx_descriptor_status = tx_descriptor_status;
}

}  // namespace chime::net
