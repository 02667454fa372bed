// SPDX-License-Identifier: BSD-3-Clause
#include "model/command/handlers.h"

namespace chime::model {

void query_vport_counter(Command& c, In<prm::query_vport_counter> in,
                         Out<prm::query_vport_counter> out) noexcept {
  using I = prm::query_vport_counter_in;
  using O = prm::query_vport_counter_out;
  if (!c.absent(in.get(I::other_vport), Rule::other_vport, "other_vport") ||
      !c.absent(in.get(I::vport_number), Rule::other_vport, "vport_number")) {
    return;
  }
  auto put = [&](auto nest, const TrafficCount& count) {
    out.at(nest)
        .set(prm::traffic_counter::packets, count.packets)
        .set(prm::traffic_counter::octets, count.octets);
  };
  TrafficCounts& received = c.card.vport.received;
  TrafficCounts& transmitted = c.card.vport.transmitted;
  put(O::received_errors, received.errors);
  put(O::transmit_errors, transmitted.errors);
  put(O::received_eth_broadcast, received.broadcast);
  put(O::transmitted_eth_broadcast, transmitted.broadcast);
  put(O::received_eth_unicast, received.unicast);
  put(O::transmitted_eth_unicast, transmitted.unicast);
  put(O::received_eth_multicast, received.multicast);
  put(O::transmitted_eth_multicast, transmitted.multicast);
  if (in.get(I::clear)) {
    received = {};
    transmitted = {};
  }
}

void query_vnic_env(Command& c, In<prm::query_vnic_env> in, Out<prm::query_vnic_env> out) noexcept {
  using I = prm::query_vnic_env_in;
  using V = prm::vnic_diagnostic_statistics;
  if (!c.absent(in.get(I::other_vport), Rule::other_vport, "other_vport") ||
      !c.absent(in.get(I::vport_number), Rule::other_vport, "vport_number")) {
    return;
  }
  std::uint32_t in_error = 0;
  c.card.sqs.for_each([&](const Sq& sq) { in_error += sq.state == QueueState::error; });
  c.card.rqs.for_each([&](const Rq& rq) { in_error += rq.state == QueueState::error; });
  out.at(prm::query_vnic_env_out::vport_env)
      .set(V::total_error_queues, in_error)
      .set(V::nic_receive_steering_discard, c.card.port.received_no_match)
      .set(V::transmit_discard_vport_down, c.card.port.transmit_discarded);
}

}  // namespace chime::model
