// SPDX-License-Identifier: BSD-3-Clause
#include "stats.h"

#include <mutex>

#include "hca/receive_path.h"
#include "log.h"
#include "secondary.h"

namespace chime::net {

namespace {

/// Packets of a queue that never made it, by the names that say so.
template <class Counters, std::size_t names>
std::uint64_t drops(const Counters& counters, const CounterName (&table)[names]) noexcept {
  std::uint64_t sum = 0;
  for (const CounterName& counter : table)
    if (counter.is_drop) sum += read_counter(counters, counter.offset);
  return sum;
}

}  // namespace

Result<HcaCounters> read_hca_counters(PortControl& port) noexcept {
  Result<hca::PortCounters> card = port.hca->device->port().counters();
  if (!card) return fail(card.error());
  Result<std::uint32_t> out_of_buffer = hca::query_out_of_buffer(port.hca->q_counter);
  if (!out_of_buffer) return fail(out_of_buffer.error());
  HcaCounters& now = port.counters;
  now.port = *card;
  // The card's counter has 32 bits and wraps.
  now.out_of_buffer +=
      static_cast<std::uint32_t>(*out_of_buffer - static_cast<std::uint32_t>(now.out_of_buffer));
  return snapshot(now, port.counters_reset);
}

Result<HcaCounters> hca_counters(rte_eth_dev& dev) noexcept {
  PortControl* port = control_of(dev);
  if (port == nullptr) return ask_for_counters(dev);
  const std::lock_guard lock(port->mutex);
  if (Result<> works = check_hca(*port); !works) return fail(works.error());
  return read_hca_counters(*port);
}

RxCounters rx_counters(const rte_eth_dev& dev, std::uint16_t queue) noexcept {
  const auto* fast = static_cast<const RxQueue*>(dev.data->rx_queues[queue]);
  return fast ? snapshot(fast->counters, shared_of(dev).rx_reset[queue]) : RxCounters{};
}

TxCounters tx_counters(const rte_eth_dev& dev, std::uint16_t queue) noexcept {
  const auto* fast = static_cast<const TxQueue*>(dev.data->tx_queues[queue]);
  return fast ? snapshot(fast->counters, shared_of(dev).tx_reset[queue]) : TxCounters{};
}

int get_stats(rte_eth_dev* dev, rte_eth_stats* stats) noexcept {
  Result<HcaCounters> card = hca_counters(*dev);
  if (!card) return report(shared_of(*dev).name, card.error().within("statistics"));
  stats->rx_nombuf = 0;
  for (std::uint16_t i = 0; i < dev->data->nb_rx_queues; ++i) {
    const RxCounters queue = rx_counters(*dev, i);
    const std::uint64_t errors = drops(queue, rx_counter_names);
    stats->ipackets += queue.packets;
    stats->ibytes += queue.bytes;
    stats->ierrors += errors;
    stats->rx_nombuf += queue.no_mbuf;
    if (i < RTE_ETHDEV_QUEUE_STAT_CNTRS) {
      stats->q_ipackets[i] = queue.packets;
      stats->q_ibytes[i] = queue.bytes;
      stats->q_errors[i] = errors;
    }
  }
  for (std::uint16_t i = 0; i < dev->data->nb_tx_queues; ++i) {
    const TxCounters queue = tx_counters(*dev, i);
    stats->opackets += queue.packets;
    stats->obytes += queue.bytes;
    stats->oerrors += drops(queue, tx_counter_names);
    if (i < RTE_ETHDEV_QUEUE_STAT_CNTRS) {
      stats->q_opackets[i] = queue.packets;
      stats->q_obytes[i] = queue.bytes;
    }
  }
  stats->imissed = card->out_of_buffer;
  stats->ierrors += card->port.rx_error_packets + card->port.rx_too_long;
  stats->oerrors += card->port.tx_error_packets;
  return 0;
}

Result<> reset_stats(PortControl& port) noexcept {
  if (Result<HcaCounters> read = read_hca_counters(port); !read) return fail(read.error());
  port.counters_reset = port.counters;
  const rte_eth_dev_data& data = *port.dev.data;
  for (std::uint16_t i = 0; i < data.nb_rx_queues; ++i)
    if (port.rx[i]) port.shared.rx_reset[i] = snapshot(port.rx[i]->fast()->counters, RxCounters{});
  for (std::uint16_t i = 0; i < data.nb_tx_queues; ++i)
    if (port.tx[i]) port.shared.tx_reset[i] = snapshot(port.tx[i]->fast()->counters, TxCounters{});
  return {};
}

}  // namespace chime::net
