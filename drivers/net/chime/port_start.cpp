// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <mutex>
#include <optional>

#include "keep.h"
#include "log.h"
#include "port.h"
#include "port_link.h"
#include "queue_ops.h"
#include "receive_filter.h"
#include "secondary.h"

namespace chime::net {

namespace {

constexpr std::uint64_t recovery_period_us = 10'000;

/// Everything that start() made, in reverse order; also of a start that failed half-way.
void undo(PortControl& port) noexcept {
  rte_eth_dev_data& data = *port.dev.data;
  const bool lost = is_lost(port);  // its queues stop at its end
  port.wire = {};
  port.recovery.stop();
  port.interrupts.disable_rx();
  port.flow.stop();
  port.steering.reset();
  for (std::uint16_t i = 0; i < data.nb_rx_queues; ++i) {
    if (!port.rx[i]) continue;
    if (Result<> done = port.rx[i]->stop(); !done && !lost)
      report(port.name(), done.error().within("stopping Rx queue %u", i));
    data.rx_queue_state[i] = RTE_ETH_QUEUE_STATE_STOPPED;
  }
  for (std::uint16_t i = 0; i < data.nb_tx_queues; ++i) {
    if (!port.tx[i]) continue;
    if (Result<> done = port.tx[i]->stop(); !done && !lost)
      report(port.name(), done.error().within("stopping Tx queue %u", i));
    data.tx_queue_state[i] = RTE_ETH_QUEUE_STATE_STOPPED;
  }
}

Result<> check_queues(const PortControl& port) noexcept {
  const rte_eth_dev_data& data = *port.dev.data;
  for (std::uint16_t i = 0; i < data.nb_rx_queues; ++i)
    if (!port.rx[i]) return fail(EINVAL, "Rx queue %u of %u is not set up", i, data.nb_rx_queues);
  for (std::uint16_t i = 0; i < data.nb_tx_queues; ++i)
    if (!port.tx[i]) return fail(EINVAL, "Tx queue %u of %u is not set up", i, data.nb_tx_queues);
  return check_receive_buffers(port, data.mtu);
}

Result<> start_queues(PortControl& port) noexcept {
  rte_eth_dev_data& data = *port.dev.data;
  for (std::uint16_t i = 0; i < data.nb_tx_queues; ++i) {
    rte_eth_txq_info info;
    port.tx[i]->info(info);
    if (info.conf.tx_deferred_start) continue;
    if (Result<> done = start_tx_queue(port, i); !done) return done;
  }
  for (std::uint16_t i = 0; i < data.nb_rx_queues; ++i) {
    rte_eth_rxq_info info;
    port.rx[i]->info(info);
    if (info.conf.rx_deferred_start) continue;
    if (Result<> done = start_rx_queue(port, i); !done) return done;
  }
  return {};
}

Result<> steer(PortControl& port) noexcept {
  const std::uint16_t count = port.dev.data->nb_rx_queues;
  if (count == 0) return {};
  std::array<std::uint32_t, max_queues> rqns;
  for (std::uint16_t i = 0; i < count; ++i) rqns[i] = port.rx[i]->number();
  AddressList list;
  ReceiveFilter filter = receive_filter(port.filter, list);
  filter.isolated = port.flow.isolated();
  Result<> done =
      keep(port.steering, RxSteering::create(*port.hca->device, port.hca->transport_domain.number(),
                                             std::span(rqns).first(count), port.shared.rss, filter));
  if (done) done = port.flow.start(*port.steering, port.shared.rss.key);
  return done;
}

Result<> enable_rx_interrupts(PortControl& port) noexcept {
  const rte_eth_dev_data& data = *port.dev.data;
  if (!data.dev_conf.intr_conf.rxq) return {};
  std::array<const hca::Object*, max_queues> cqs;
  for (std::uint16_t i = 0; i < data.nb_rx_queues; ++i) cqs[i] = &port.rx[i]->cq();
  return port.interrupts.enable_rx(*port.hca->device, std::span(cqs).first(data.nb_rx_queues));
}

/// Moves the recovery of queues that met an error on. Takes no lock of the port: stop waits for this.
void recover_queues(void* control) noexcept {
  PortControl& port = *static_cast<PortControl*>(control);
  const rte_eth_dev_data& data = *port.dev.data;
  if (is_lost(port)) return;
  for (std::uint16_t i = 0; i < data.nb_rx_queues; ++i)
    if (std::optional<Error> error = port.rx[i]->recover()) report(port.name(), *error);
  for (std::uint16_t i = 0; i < data.nb_tx_queues; ++i)
    if (std::optional<Error> error = port.tx[i]->recover()) report(port.name(), *error);
}

/// The bursts that all queues of the port can do with.
void choose_bursts(PortControl& port) noexcept {
  const rte_eth_dev_data& data = *port.dev.data;
  PortShared& shared = port.shared;
  shared.rx_variant = RxVariant::plain;
  for (std::uint16_t i = 0; i < data.nb_rx_queues; ++i)
    shared.rx_variant = std::max(shared.rx_variant, port.rx[i]->variant());
  shared.tx_variant = data.nb_tx_queues != 0 ? port.tx[0]->variant() : TxVariant{};
  for (std::uint16_t i = 1; i < data.nb_tx_queues; ++i)
    shared.tx_variant = tx_variant_of_both(shared.tx_variant, port.tx[i]->variant());
  const auto scattered = [](const auto& queue) { return queue && queue->fast()->segments > 1; };
  port.dev.data->scattered_rx = std::any_of(port.rx.begin(), port.rx.begin() + data.nb_rx_queues, scattered);
}

/// The wire says which MTU there can be.
Result<> prepare_card(PortControl& port) noexcept {
  hca::Port& card = port.hca->device->port();
  if (Result<> done = card.prepare(); !done) return done;
  Result<std::uint32_t> max_mtu = card.max_mtu();
  if (!max_mtu) return fail(max_mtu.error());
  port.shared.max_mtu = *max_mtu;
  return card.set_mtu(port.dev.data->mtu);
}

Result<> bring_up(PortControl& port) noexcept {
  Result<> done = check_queues(port);
  if (done) done = prepare_card(port);
  if (done) done = start_queues(port);
  if (done) done = steer(port);
  if (done) done = enable_rx_interrupts(port);
  if (done) done = port.recovery.start(recovery_period_us, recover_queues, &port);
  // Last, and it can't fail: a wire's first frames find queues and steering.
  if (done) port.wire = port.hca->device->port().use();
  return done;
}

}  // namespace

int start(rte_eth_dev* dev) noexcept {
  PortControl& port = *control_of(*dev);
  {
    const std::lock_guard lock(port.mutex);
    if (Result<> works = check_hca(port); !works) return report(port.name(), works.error().within("start"));
    if (Result<> done = bring_up(port); !done) {
      undo(port);
      return report(port.name(), done.error().within("start"));
    }
    choose_bursts(port);
    port.shared.running = true;
    install_bursts(*dev);
    update_link(port);
  }
  tell_secondaries(*dev);
  return 0;
}

int stop(rte_eth_dev* dev) noexcept {
  PortControl& port = *control_of(*dev);
  {
    const std::lock_guard lock(port.mutex);
    port.shared.running = false;
    install_bursts(*dev);
  }
  tell_secondaries(*dev);
  const std::lock_guard lock(port.mutex);
  undo(port);
  return 0;
}

}  // namespace chime::net
