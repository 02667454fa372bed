// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>

#include "base/array.h"
#include "model/object/sparse.h"
#include "model/packet/tunnel.h"

/// @file
/// The card's port, and the NIC's virtual port on it.

namespace chime::model {

using Mac = std::array<std::uint8_t, 6>;

struct TrafficCount {
  std::uint64_t packets = 0;
  std::uint64_t octets = 0;
};

/// QUERY_VPORT_COUNTER.
struct TrafficCounts {
  TrafficCount unicast;
  TrafficCount multicast;
  TrafficCount broadcast;
  TrafficCount errors;
};

/// What the NIC's software asked of its virtual port: MODIFY_NIC_VPORT_CONTEXT, MODIFY_VPORT_STATE.
struct VportContext {
  Mac permanent_address{};
  Mac current_address{};
  Array<Mac> unicast_list;
  Array<Mac> multicast_list;
  Array<std::uint16_t> vlan_list;
  bool promisc_unicast = false;
  bool promisc_multicast = false;
  bool promisc_all = false;
  bool roce_enabled = false;
  bool block_local_unicast = false;    ///< "disable_uc_local_lb"
  bool block_local_multicast = false;  ///< "disable_mc_local_lb"
  bool event_on_change = false;        ///< arm_change_event
  std::uint8_t min_inline_mode = 0;    ///< as Sq::min_inline_mode
  std::uint16_t mtu = 1500;            ///< bytes; what software announced, not enforced
  std::uint64_t node_guid = 0;
  std::uint64_t port_guid = 0;
  std::uint64_t system_image_guid = 0;
  static constexpr std::uint8_t admin_down = 0;
  std::uint8_t admin_state = 2;  ///< 0 down, 1 up, 2 as the port

  TrafficCounts received;
  TrafficCounts transmitted;
};

/// SET_L2_TABLE_ENTRY: addresses that the embedded switch brings to this function.
struct L2Entry {
  Mac address{};
  bool vlan_valid = false;
  std::uint16_t vlan = 0;
};

/// By index; owns its entries.
struct L2Table {
  L2Table() noexcept = default;
  ~L2Table() { clear(); }
  void clear() noexcept {
    entries.for_each([](L2Entry& entry) { Owned<L2Entry>(&entry).reset(); });
    entries.clear();
  }
  Sparse<L2Entry> entries;
};

/// What the card's registers say of its port: PAOS, PMTU, PTYS, PPLM, PPCNT.
struct PhysicalPort {
  bool admin_up = true;
  static constexpr std::uint16_t fcs = 4;  ///< bytes; registers count it, frames here don't have it

  std::uint16_t admin_mtu = 1518;      ///< bytes of frame without FCS, at most; larger ones are dropped
  std::uint32_t speeds_admin = 0;      ///< PTYS.eth_proto_admin; 0 all
  std::uint32_t ext_speeds_admin = 0;  ///< PTYS.ext_eth_proto_admin; 0 all
  std::uint32_t fec_admin = 0;         ///< PPLM.fec_override_admin_*, the word that has them; 0 automatic
  bool autonegotiation_off = false;
  net::VxlanPorts vxlan_ports;
  bool pause_transmit = false;
  bool pause_receive = false;

  // of the datapath
  bool wire_up = false;
  std::uint32_t speed_mbps = 0;

  /// PPCNT. Octets count the FCS, as a card's do.
  TrafficCounts received;
  TrafficCounts transmitted;
  std::uint64_t received_too_long = 0;             ///< above admin_mtu
  std::uint64_t received_too_short = 0;            ///< less than an Ethernet header
  std::uint64_t received_no_match = 0;             ///< no flow entry, or dropped by the port's state
  std::uint64_t transmit_discarded = 0;            ///< link down, too long
  std::array<std::uint64_t, 10> received_sizes{};  ///< 64, 65-127, ... 4096-8191, 8192-10239 octets

  bool up() const noexcept { return admin_up && wire_up; }
};

}  // namespace chime::model
