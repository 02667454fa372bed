// SPDX-License-Identifier: BSD-3-Clause
#include "hca/port_counters.h"

namespace chime::hca {

void take_vport_counters(prm::ConstView<prm::query_vport_counter_out> answer,
                         PortCounters& counters) noexcept {
  using Out = prm::query_vport_counter_out;
  using Count = prm::traffic_counter;
  const auto read = [&](auto place, std::uint64_t& packets, std::uint64_t& bytes) {
    packets = answer.at(place).get(Count::packets);
    bytes = answer.at(place).get(Count::octets);
  };
  read(Out::received_eth_unicast, counters.rx_unicast_packets, counters.rx_unicast_bytes);
  read(Out::received_eth_multicast, counters.rx_multicast_packets, counters.rx_multicast_bytes);
  read(Out::received_eth_broadcast, counters.rx_broadcast_packets, counters.rx_broadcast_bytes);
  read(Out::transmitted_eth_unicast, counters.tx_unicast_packets, counters.tx_unicast_bytes);
  read(Out::transmitted_eth_multicast, counters.tx_multicast_packets, counters.tx_multicast_bytes);
  read(Out::transmitted_eth_broadcast, counters.tx_broadcast_packets, counters.tx_broadcast_bytes);
  counters.rx_error_packets = answer.at(Out::received_errors).get(Count::packets);
  counters.tx_error_packets = answer.at(Out::transmit_errors).get(Count::packets);
}

void take_steer_missed(prm::ConstView<prm::query_vnic_env_out> answer, PortCounters& counters) noexcept {
  counters.rx_steer_missed = answer.at(prm::query_vnic_env_out::vport_env)
                                 .get(prm::vnic_diagnostic_statistics::nic_receive_steering_discard);
}

}  // namespace chime::hca
