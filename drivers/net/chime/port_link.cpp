// SPDX-License-Identifier: BSD-3-Clause
#include "port_link.h"

#include <mutex>

#include "base/thread_sanitizer.h"
#include "log.h"

namespace chime::net {

namespace {

rte_eth_link link_of(const hca::LinkState& state) noexcept {
  rte_eth_link link{};
  link.link_status = state.up ? RTE_ETH_LINK_UP : RTE_ETH_LINK_DOWN;
  link.link_duplex = state.full_duplex ? RTE_ETH_LINK_FULL_DUPLEX : RTE_ETH_LINK_HALF_DUPLEX;
  link.link_autoneg = state.autoneg ? RTE_ETH_LINK_AUTONEG : RTE_ETH_LINK_FIXED;
  if (!state.up)
    link.link_speed = RTE_ETH_SPEED_NUM_NONE;
  else
    link.link_speed = state.speed_mbps != 0 ? state.speed_mbps : RTE_ETH_SPEED_NUM_UNKNOWN;
  return link;
}

bool publish_link(PortControl& port, hca::Port& card) noexcept {
  Result<hca::LinkState> state = is_lost(port) ? hca::LinkState{} : card.link();
  if (!state) {
    report(port.name(), state.error().within("reading the link"));
    return false;
  }
  const rte_eth_link link = link_of(*state);
  if (state->up) port.shared.speed_capa = rte_eth_speed_bitflag(link.link_speed, RTE_ETH_LINK_FULL_DUPLEX);
  return rte_eth_linkstatus_set(&port.dev, &link) == 0;
}

/// Once for an HCA. As net_mlx5 does, firmware that failed is a removal: nothing but a new start helps.
void tell_loss(PortControl& port) noexcept {
  const Result<> works = port.hca->device->condition();
  if (works || port.loss_told) return;
  port.loss_told = true;
  report(port.name(), works.error());
  if (port.tells_removal) rte_eth_dev_callback_process(&port.dev, RTE_ETH_EVENT_INTR_RMV, nullptr);
}

}  // namespace

bool update_link(PortControl& port) noexcept {
  return publish_link(port, port.hca->device->port());
}

void port_changed(void* control) noexcept {
  PortControl& port = *static_cast<PortControl*>(control);
  taken_over(control);
  // The HCA is there: Interrupts::close() waits for this to end.
  hca::Port& card = port.hca->device->port();
  card.acknowledge_change();
  if (Result<std::uint32_t> max_mtu = card.max_mtu()) port.shared.max_mtu = *max_mtu;
  if (publish_link(port, card) && port.tells_link)
    rte_eth_dev_callback_process(&port.dev, RTE_ETH_EVENT_INTR_LSC, nullptr);
  tell_loss(port);
  handed_over(control);
}

Result<> link_up(PortControl& port) noexcept {
  return port.hca->device->port().set_link(true);
}

Result<> link_down(PortControl& port) noexcept {
  return port.hca->device->port().set_link(false);
}

int link_update(rte_eth_dev* dev, int /*wait_to_complete*/) noexcept {
  PortControl& port = *control_of(*dev);
  const std::lock_guard lock(port.mutex);
  if (!port.hca) return -ENODEV;
  return update_link(port) ? 0 : -1;
}

int is_removed(rte_eth_dev* dev) noexcept {
  PortControl& port = *control_of(*dev);
  const std::lock_guard lock(port.mutex);
  return is_lost(port) ? 1 : 0;
}

}  // namespace chime::net
