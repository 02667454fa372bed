// SPDX-License-Identifier: BSD-3-Clause
#include "receive_filter.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "keep.h"

namespace chime::net {

namespace {

hca::MacAddress mac_of(const rte_ether_addr& address) noexcept {
  hca::MacAddress mac;
  std::copy_n(address.addr_bytes, mac.size(), mac.begin());
  return mac;
}

/// Sets one setting and applies; puts the former value back when the card refuses.
template <class T>
Result<> change(PortControl& port, T& setting, T value) noexcept {
  // ethdev repeats its settings at every start.
  if constexpr (requires { setting == value; }) {
    if (setting == value) return {};
  }
  T former = std::exchange(setting, std::move(value));
  Result<> done = apply_filter(port);
  if (!done) {
    setting = std::move(former);
    (void)apply_filter(port);
  }
  return done;
}

}  // namespace

ReceiveFilter receive_filter(const FilterSettings& filter, AddressList& list) noexcept {
  std::size_t count = 0;
  for (const hca::MacAddress& mac : filter.unicast)
    if (mac != hca::MacAddress{}) list[count++] = mac;
  return {.promiscuous = filter.promiscuous,
          .all_multicast = filter.all_multicast,
          .unicast = std::span(list).first(count),
          .multicast = filter.multicast.span(),
          .vlans = filter.vlan_filter ? &filter.vlans : nullptr};
}

Result<> apply_filter(PortControl& port) noexcept {
  AddressList list;
  const ReceiveFilter filter = receive_filter(port.filter, list);
  hca::Port& card = port.hca->device->port();
  // The port's own address comes first and is not in the card's list.
  Result<> done = card.set_unicast_list(filter.unicast.subspan(1));
  if (done) done = card.set_multicast_list(filter.multicast);
  if (done) done = card.set_promiscuous(filter.promiscuous);
  if (done) done = card.set_all_multicast(filter.all_multicast);
  if (done && port.steering) done = port.steering->update_filter(filter);
  return done;
}

Result<> enable_promiscuous(PortControl& port) noexcept {
  return change(port, port.filter.promiscuous, true);
}
Result<> disable_promiscuous(PortControl& port) noexcept {
  return change(port, port.filter.promiscuous, false);
}
Result<> enable_all_multicast(PortControl& port) noexcept {
  return change(port, port.filter.all_multicast, true);
}
Result<> disable_all_multicast(PortControl& port) noexcept {
  return change(port, port.filter.all_multicast, false);
}

Result<> set_mac(PortControl& port, rte_ether_addr* address) noexcept {
  const hca::MacAddress mac = mac_of(*address);
  hca::MacAddress& own = port.filter.unicast[0];
  if (mac == own) return {};
  hca::Port& card = port.hca->device->port();
  if (Result<> done = card.set_mac(mac); !done) return done;
  const hca::MacAddress former = own;
  Result<> done = change(port, own, mac);
  if (!done) (void)card.set_mac(former);
  return done;
}

Result<> add_mac(PortControl& port, rte_ether_addr* address, std::uint32_t index,
                 std::uint32_t /*pool*/) noexcept {
  if (index == 0 || index >= max_mac_addresses)
    return fail(EINVAL, "MAC address %u: a port has %u", index, max_mac_addresses);
  return change(port, port.filter.unicast[index], mac_of(*address));
}

Result<> remove_mac(PortControl& port, std::uint32_t index) noexcept {
  if (index == 0 || index >= max_mac_addresses)
    return fail(EINVAL, "MAC address %u: a port has %u", index, max_mac_addresses);
  return change(port, port.filter.unicast[index], hca::MacAddress{});
}

Result<> set_multicast_list(PortControl& port, rte_ether_addr* list, std::uint32_t count) noexcept {
  const std::uint32_t most = port.hca->limits.max_multicast_addresses;
  if (count > most) return fail(ENOSPC, "%u multicast addresses; this device takes %u", count, most);
  Array<hca::MacAddress> addresses;
  if (Result<> done = keep(addresses, Array<hca::MacAddress>::make(count, "multicast addresses")); !done)
    return done;
  for (std::uint32_t i = 0; i < count; ++i) {
    addresses[i] = mac_of(list[i]);
    if (!rte_is_multicast_ether_addr(&list[i]))
      return fail(EINVAL, "address %u of the multicast list is not a multicast address", i);
  }
  return change(port, port.filter.multicast, std::move(addresses));
}

Result<> set_vlan_filter(PortControl& port, std::uint16_t vlan, int on) noexcept {
  VlanSet vlans = port.filter.vlans;
  const std::uint64_t bit = std::uint64_t{1} << vlan % 64;
  if (on)
    vlans[vlan / 64] |= bit;
  else
    vlans[vlan / 64] &= ~bit;
  return change(port, port.filter.vlans, vlans);
}

Result<> set_vlan_offload(PortControl& port, int mask) noexcept {
  const rte_eth_dev_data& data = *port.dev.data;
  const std::uint64_t offloads = data.dev_conf.rxmode.offloads;
  if (mask & (RTE_ETH_VLAN_EXTEND_MASK | RTE_ETH_QINQ_STRIP_MASK))
    return fail(ENOTSUP, "VLAN extend and QinQ strip are not there; strip and filter are");
  if (mask & RTE_ETH_VLAN_STRIP_MASK) {
    const bool on = offloads & RTE_ETH_RX_OFFLOAD_VLAN_STRIP;
    for (std::uint16_t i = 0; i < data.nb_rx_queues; ++i) {
      if (!port.rx[i]) continue;
      if (Result<> done = port.rx[i]->set_vlan_strip(on); !done) {
        while (i-- > 0)
          if (port.rx[i]) (void)port.rx[i]->set_vlan_strip(!on);
        return done;
      }
    }
  }
  if (mask & RTE_ETH_VLAN_FILTER_MASK)
    return change(port, port.filter.vlan_filter, (offloads & RTE_ETH_RX_OFFLOAD_VLAN_FILTER) != 0);
  return {};
}

Result<> set_vlan_strip_of_queue(PortControl& port, std::uint16_t queue, int on) noexcept {
  if (!port.rx[queue]) return fail(EINVAL, "Rx queue %u is not set up", queue);
  return port.rx[queue]->set_vlan_strip(on != 0);
}

}  // namespace chime::net
