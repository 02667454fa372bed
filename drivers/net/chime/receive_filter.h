// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/error.h"
#include "port.h"

/// @file
/// What the port receives: addresses, promiscuous modes, VLANs. Each of these keeps what was in force when it
/// fails.

namespace chime::net {

/// Brings port.filter to the card's port and to the steering. @return what the card refused
Result<> apply_filter(PortControl& port) noexcept;

Result<> enable_promiscuous(PortControl& port) noexcept;
Result<> disable_promiscuous(PortControl& port) noexcept;
Result<> enable_all_multicast(PortControl& port) noexcept;
Result<> disable_all_multicast(PortControl& port) noexcept;
Result<> set_mac(PortControl& port, rte_ether_addr* address) noexcept;
Result<> add_mac(PortControl& port, rte_ether_addr* address, std::uint32_t index,
                 std::uint32_t pool) noexcept;
Result<> remove_mac(PortControl& port, std::uint32_t index) noexcept;
Result<> set_multicast_list(PortControl& port, rte_ether_addr* list, std::uint32_t count) noexcept;
Result<> set_vlan_filter(PortControl& port, std::uint16_t vlan, int on) noexcept;
/// @param mask RTE_ETH_VLAN_*_MASK of what changed; dev_conf has the new values
Result<> set_vlan_offload(PortControl& port, int mask) noexcept;
Result<> set_vlan_strip_of_queue(PortControl& port, std::uint16_t queue, int on) noexcept;

/// A view of port.filter for the steering; `list` is where it puts the addresses.
using AddressList = std::array<hca::MacAddress, max_mac_addresses>;
ReceiveFilter receive_filter(const FilterSettings& filter, AddressList& list) noexcept;

}  // namespace chime::net
