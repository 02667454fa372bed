// SPDX-License-Identifier: BSD-3-Clause
#include "hca/verbs/counters.h"

#include <array>

#include "hca/port_counters.h"
#include "hca/verbs/objects.h"
#include "prm/layouts.h"
#include "prm/view.h"

namespace chime::hca::verbs {
namespace {

Result<> read_vport(ibv_context& context, PortCounters& counters) noexcept {
  prm::Box<prm::query_vport_counter_in> in;
  prm::Box<prm::query_vport_counter_out> out;
  if (auto done = general_command(context, in.bytes(), out.bytes()); !done) return done;
  take_vport_counters(out, counters);
  return {};
}

Result<> read_steer_missed(ibv_context& context, PortCounters& counters) noexcept {
  prm::Box<prm::query_vnic_env_in> in;
  prm::Box<prm::query_vnic_env_out> out;
  if (auto done = general_command(context, in.bytes(), out.bytes()); !done) return done;
  take_steer_missed(out, counters);
  return {};
}

/// Every count that a card has; wires that drop are the software HCA's.
constexpr std::uint64_t PortCounters::*counts[] = {
    &PortCounters::rx_unicast_packets,   &PortCounters::rx_unicast_bytes,
    &PortCounters::rx_multicast_packets, &PortCounters::rx_multicast_bytes,
    &PortCounters::rx_broadcast_packets, &PortCounters::rx_broadcast_bytes,
    &PortCounters::tx_unicast_packets,   &PortCounters::tx_unicast_bytes,
    &PortCounters::tx_multicast_packets, &PortCounters::tx_multicast_bytes,
    &PortCounters::tx_broadcast_packets, &PortCounters::tx_broadcast_bytes,
    &PortCounters::rx_error_packets,     &PortCounters::tx_error_packets,
    &PortCounters::rx_wire_packets,      &PortCounters::rx_wire_bytes,
    &PortCounters::tx_wire_packets,      &PortCounters::tx_wire_bytes,
    &PortCounters::rx_steer_missed,      &PortCounters::rx_too_long,
};

}  // namespace

Result<PortCounters> Counters::read_all(const char* netdev) noexcept {
  constexpr std::uint64_t fcs = 4;
  PortCounters counters{};
  if (auto done = read_vport(context_, counters); !done) return fail(done.error());
  if (auto done = read_steer_missed(context_, counters); !done) return fail(done.error());
  const std::array<EthtoolCount, 5> wanted{{{"rx_packets_phy", &counters.rx_wire_packets},
                                            {"rx_bytes_phy", &counters.rx_wire_bytes},
                                            {"tx_packets_phy", &counters.tx_wire_packets},
                                            {"tx_bytes_phy", &counters.tx_wire_bytes},
                                            {"rx_oversize_pkts_phy", &counters.rx_too_long}}};
  if (auto done = wire_.read(netdev, wanted); !done) return fail(done.error());
  counters.rx_wire_bytes -= fcs * counters.rx_wire_packets;
  counters.tx_wire_bytes -= fcs * counters.tx_wire_packets;
  return counters;
}

Result<> Counters::begin(const char* netdev) noexcept {
  auto now = read_all(netdev);
  if (!now) return fail(now.error());
  base_ = *now;
  return {};
}

Result<PortCounters> Counters::read(const char* netdev) noexcept {
  auto now = read_all(netdev);
  if (!now) return now;
  for (const auto count : counts) (*now).*count -= base_.*count;
  return now;
}

}  // namespace chime::hca::verbs
