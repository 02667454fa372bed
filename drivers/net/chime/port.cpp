// SPDX-License-Identifier: BSD-3-Clause
#include "port.h"

#include <algorithm>
#include <cstring>

#include "log.h"
#include "port_link.h"
#include "rdma_port.h"
#include "receive_filter.h"

namespace chime::net {

PortControl::~PortControl() {
  close_hca(*this);
}

Result<> open_hca(PortControl& port) noexcept {
  PortShared& shared = port.shared;
  Result<Owned<PortHca>> opened = PortHca::open(port.runtime, port.args, port.name(), port.dev.data->port_id);
  if (!opened) return fail(opened.error());
  hca::Device& device = *(*opened)->device;
  hca::Port& card = device.port();

  Result<std::uint32_t> max_mtu = card.max_mtu();
  if (!max_mtu) return fail(max_mtu.error());
  Result<hca::MacAddress> mac = card.mac();
  if (!mac) return fail(mac.error());
  if (Result<> done = card.firmware_version(shared.firmware); !done) return done;
  const bool first = port.filter.unicast[0] == hca::MacAddress{};
  if (first) {
    port.filter.unicast[0] = *mac;
    std::memcpy(shared.mac[0].addr_bytes, mac->data(), mac->size());
  }
  port.hca = std::move(*opened);
  port.counters = {};
  port.counters_reset = {};
  shared.limits = port.hca->limits;
  shared.primary_only = !device.serves_secondaries();
  shared.keys = &port.hca->memory->shared();
  shared.max_mtu = *max_mtu;
  port.loss_told = false;
  if (device.may_be_lost()) port.dev.data->dev_flags |= RTE_ETH_DEV_INTR_RMV;
  update_link(port);

  Result<> done = port.interrupts.open(card.change_fd(), port_changed, &port);
  port.dev.intr_handle = port.interrupts.handle();
  if (done && !first) {
    // After a reset: what the application had asked for.
    if (port.filter.unicast[0] != *mac) done = card.set_mac(port.filter.unicast[0]);
    if (done) done = apply_filter(port);
  }
  if (!done) close_hca(port);
  return done;
}

void close_hca(PortControl& port) noexcept {
  port.recovery.stop();
  port.interrupts.close();
  port.dev.intr_handle = nullptr;
  port.flow.stop();
  port.steering.reset();
  for (auto& queue : port.rx) queue.reset();
  for (auto& queue : port.tx) queue.reset();
  port.shared.keys = nullptr;
  port.rdma.reset();
  port.hca.reset();
}

Error no_hca() noexcept {
  return Error::make(ENODEV, "the HCA is not open since a reset failed; reset again, or close the port");
}

Result<> check_hca(const PortControl& port) noexcept {
  if (!port.hca) return fail(no_hca());
  return port.hca->device->condition();
}

bool is_lost(const PortControl& port) noexcept {
  return port.hca && !port.hca->device->condition();
}

QueueContext queue_context(PortControl& port) noexcept {
  PortHca& hca = *port.hca;
  return {.device = *hca.device,
          .memory = *hca.memory,
          .pd = hca.pd,
          .tis = hca.tis,
          .q_counter = hca.q_counter,
          .port_id = port.dev.data->port_id,
          .min_inline_mode = hca.limits.min_inline_mode,
          .max_ds = hca.limits.max_send_ds,
          .max_large_send = hca.limits.max_large_send,
          .tunnels = hca.limits.tunnels,
          .vlan_insert = hca.limits.vlan_insert};
}

Result<> configure(PortControl& port) noexcept {
  const rte_eth_dev_data& data = *port.dev.data;
  const rte_eth_conf& conf = data.dev_conf;
  if ((conf.rxmode.mq_mode & ~RTE_ETH_MQ_RX_RSS_FLAG) != 0)
    return fail(ENOTSUP, "rxmode.mq_mode %#x: only RTE_ETH_MQ_RX_NONE and RTE_ETH_MQ_RX_RSS are there",
                conf.rxmode.mq_mode);
  if (conf.txmode.mq_mode != RTE_ETH_MQ_TX_NONE)
    return fail(ENOTSUP, "txmode.mq_mode %u: only RTE_ETH_MQ_TX_NONE is there", conf.txmode.mq_mode);
  if (conf.link_speeds & RTE_ETH_LINK_SPEED_FIXED)
    return fail(ENOTSUP, "link_speeds: the speed is the wire's and can't be fixed; ask for autonegotiation");
  if (conf.lpbk_mode > 1) return fail(ENOTSUP, "lpbk_mode %u: only 0 and 1 are there", conf.lpbk_mode);
  if (conf.lpbk_mode == 1 && (*port.args.ibdev != '\0' || std::strcmp(port.args.wire, "loop") != 0))
    return fail(ENOTSUP, "lpbk_mode 1 needs a port whose wire is looped (wire=loop)");

  const rte_eth_rss_conf& asked = conf.rx_adv_conf.rss_conf;
  RssSettings rss{};
  rss.enabled = conf.rxmode.mq_mode & RTE_ETH_MQ_RX_RSS_FLAG;
  rss.types = asked.rss_hf;
  rss.key = default_rss_key;
  if (rss.enabled) {
    if (Result<> good = check_rss_types(rss.types); !good) return good;
    if (asked.rss_key != nullptr) {
      if (asked.rss_key_len != rss_key_length)
        return fail(EINVAL, "an RSS key of %u bytes; it has %u", asked.rss_key_len, rss_key_length);
      std::copy_n(asked.rss_key, rss_key_length, rss.key.begin());
    }
  }
  rss.reta_size = reta_size(port.hca->limits);
  for (std::uint16_t i = 0; i < rss.reta_size && data.nb_rx_queues != 0; ++i)
    rss.reta[i] = static_cast<std::uint16_t>(i % data.nb_rx_queues);
  port.shared.rss = rss;

  port.tells_link = conf.intr_conf.lsc;
  port.tells_removal = conf.intr_conf.rmv;
  port.filter.vlan_filter = conf.rxmode.offloads & RTE_ETH_RX_OFFLOAD_VLAN_FILTER;
  return {};
}

int reset(rte_eth_dev* dev) noexcept {
  PortControl& port = *control_of(*dev);
  if (Result<> idle = check_no_handles(port); !idle) return report(port.name(), idle.error().within("reset"));
  // Without the lock: the application's link callback may be waiting for it.
  port.interrupts.close();
  const std::lock_guard lock(port.mutex);
  close_hca(port);
  rte_eth_dev_data& data = *dev->data;
  for (std::uint16_t i = 0; i < data.nb_rx_queues; ++i) data.rx_queues[i] = nullptr;
  for (std::uint16_t i = 0; i < data.nb_tx_queues; ++i) data.tx_queues[i] = nullptr;
  data.dev_configured = 0;
  if (const Result<> done = open_hca(port); !done) return report(port.name(), done.error().within("reset"));
  dev->state = RTE_ETH_DEV_ATTACHED;  // ethdev remembers that it was removed
  return 0;
}

}  // namespace chime::net
