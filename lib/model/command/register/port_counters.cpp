// SPDX-License-Identifier: BSD-3-Clause
#include "model/command/register/register.h"

/// @file
/// PPCNT: the port's counters, in the groups that software asks for.

namespace chime::model {
namespace {

using R = prm::ppcnt_reg;

std::uint64_t packets(const TrafficCounts& t) noexcept {
  return t.unicast.packets + t.multicast.packets + t.broadcast.packets;
}
std::uint64_t octets(const TrafficCounts& t) noexcept {
  return t.unicast.octets + t.multicast.octets + t.broadcast.octets;
}

template <class G>
prm::View<G> group(const RegisterAccess<R>& a) noexcept {
  return prm::View<G>(a.out.at(R::counter_set).bytes());
}

void ieee_802_3(const PhysicalPort& p, prm::View<prm::eth_802_3_cntrs_grp_data_layout> out) noexcept {
  using G = prm::eth_802_3_cntrs_grp_data_layout;
  out.set(G::a_frames_transmitted_ok, packets(p.transmitted))
      .set(G::a_frames_received_ok, packets(p.received))
      .set(G::a_octets_transmitted_ok, octets(p.transmitted))
      .set(G::a_octets_received_ok, octets(p.received))
      .set(G::a_multicast_frames_xmitted_ok, p.transmitted.multicast.packets)
      .set(G::a_broadcast_frames_xmitted_ok, p.transmitted.broadcast.packets)
      .set(G::a_multicast_frames_received_ok, p.received.multicast.packets)
      .set(G::a_broadcast_frames_received_ok, p.received.broadcast.packets)
      .set(G::a_frame_too_long_errors, p.received_too_long);
}

void rfc_2863(const PhysicalPort& p, prm::View<prm::eth_2863_cntrs_grp_data_layout> out) noexcept {
  using G = prm::eth_2863_cntrs_grp_data_layout;
  out.set(G::if_in_octets, octets(p.received))
      .set(G::if_in_ucast_pkts, p.received.unicast.packets)
      .set(G::if_in_multicast_pkts, p.received.multicast.packets)
      .set(G::if_in_broadcast_pkts, p.received.broadcast.packets)
      .set(G::if_in_errors, p.received_too_long + p.received_too_short)
      .set(G::if_out_octets, octets(p.transmitted))
      .set(G::if_out_ucast_pkts, p.transmitted.unicast.packets)
      .set(G::if_out_multicast_pkts, p.transmitted.multicast.packets)
      .set(G::if_out_broadcast_pkts, p.transmitted.broadcast.packets)
      .set(G::if_out_discards, p.transmit_discarded);
}

void rfc_2819(const PhysicalPort& p, prm::View<prm::eth_2819_cntrs_grp_data_layout> out) noexcept {
  using G = prm::eth_2819_cntrs_grp_data_layout;
  out.set(G::ether_stats_octets, octets(p.received))
      .set(G::ether_stats_pkts, packets(p.received))
      .set(G::ether_stats_broadcast_pkts, p.received.broadcast.packets)
      .set(G::ether_stats_multicast_pkts, p.received.multicast.packets)
      .set(G::ether_stats_undersize_pkts, p.received_too_short)
      .set(G::ether_stats_oversize_pkts, p.received_too_long)
      .set(G::ether_stats_pkts64octets, p.received_sizes[0])
      .set(G::ether_stats_pkts65to127octets, p.received_sizes[1])
      .set(G::ether_stats_pkts128to255octets, p.received_sizes[2])
      .set(G::ether_stats_pkts256to511octets, p.received_sizes[3])
      .set(G::ether_stats_pkts512to1023octets, p.received_sizes[4])
      .set(G::ether_stats_pkts1024to1518octets, p.received_sizes[5])
      .set(G::ether_stats_pkts1519to2047octets, p.received_sizes[6])
      .set(G::ether_stats_pkts2048to4095octets, p.received_sizes[7])
      .set(G::ether_stats_pkts4096to8191octets, p.received_sizes[8])
      .set(G::ether_stats_pkts8192to10239octets, p.received_sizes[9]);
}

void rfc_3635(const PhysicalPort& p, prm::View<prm::eth_3635_cntrs_grp_data_layout> out) noexcept {
  out.set(prm::eth_3635_cntrs_grp_data_layout::dot3stats_frame_too_longs, p.received_too_long);
}

/// There is one priority of traffic: 0.
void per_priority(const PhysicalPort& p, std::uint32_t priority,
                  prm::View<prm::eth_per_prio_grp_data_layout> out) noexcept {
  using G = prm::eth_per_prio_grp_data_layout;
  if (priority != 0) return;
  out.set(G::rx_octets, octets(p.received))
      .set(G::rx_frames, packets(p.received))
      .set(G::tx_octets, octets(p.transmitted))
      .set(G::tx_frames, packets(p.transmitted));
}

void forget_traffic(PhysicalPort& p) noexcept {
  p.received = {};
  p.transmitted = {};
  p.received_too_long = 0;
  p.received_too_short = 0;
  p.transmit_discarded = 0;
  p.received_sizes = {};
}

}  // namespace

void ppcnt(const RegisterAccess<R>& a) noexcept {
  using Group = prm::ppcnt_group;
  if (!a.own_port(R::local_port)) return;
  PhysicalPort& p = a.c.card.port;
  switch (a.in.get(R::grp)) {
    case Group::ieee_802_3:
      ieee_802_3(p, group<prm::eth_802_3_cntrs_grp_data_layout>(a));
      break;
    case Group::rfc_2863:
      rfc_2863(p, group<prm::eth_2863_cntrs_grp_data_layout>(a));
      break;
    case Group::rfc_2819:
      rfc_2819(p, group<prm::eth_2819_cntrs_grp_data_layout>(a));
      break;
    case Group::rfc_3635:
      rfc_3635(p, group<prm::eth_3635_cntrs_grp_data_layout>(a));
      break;
    case Group::per_priority:
      per_priority(p, a.in.get(R::prio_tc), group<prm::eth_per_prio_grp_data_layout>(a));
      break;
    // A wire of the model has no errors of symbols, no pauses, no congestion: these read zero.
    case Group::ethernet_extended:
    case Group::per_traffic_class:
    case Group::physical_layer:
    case Group::per_traffic_class_congestion:
    case Group::physical_layer_statistical:
    case Group::infiniband:
      break;
    default:
      return a.c.refuse(Rule::register_group, 0, "PPCNT has no group %#x",
                        static_cast<unsigned>(a.in.get(R::grp)));
  }
  if (a.in.get(R::clr)) forget_traffic(p);
}

}  // namespace chime::model
