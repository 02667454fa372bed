// SPDX-License-Identifier: BSD-3-Clause
#include "model/datapath/port.h"

#include "model/packet/bytes.h"

namespace chime::model {

void Port::changed() noexcept {
  const WireLink link = card_.around.wire.link();
  card_.port.wire_up = link.up;
  card_.port.speed_mbps = link.speed_mbps;
  if (up() == was_up_) return;
  was_up_ = up();
  EventData data{};
  data[prm::eqe_port] = 1u << 28;
  const auto sub_type = was_up_ ? prm::port_change::active : prm::port_change::down;
  events_.raise(prm::event_type::port_change, static_cast<std::uint8_t>(sub_type), data);
}

void Port::Counter::not_unicast(const std::byte* destination, std::uint32_t length) noexcept {
  const bool all_ones = net::load<std::uint32_t>(destination) == 0xffffffff &&
                        net::load<std::uint16_t>(destination + 4) == 0xffff;
  const Kind kind = all_ones ? broadcast : multicast;
  --packets_[unicast];
  octets_[unicast] -= length;
  ++packets_[kind];
  octets_[kind] += length;
}

void Port::Counter::add_to(TrafficCounts& counts, std::uint32_t extra_octets) const noexcept {
  TrafficCount* const of[kinds] = {&counts.unicast, &counts.multicast, &counts.broadcast};
  for (unsigned i = 0; i < kinds; ++i) {
    of[i]->packets += packets_[i];
    of[i]->octets += octets_[i] + extra_octets * packets_[i];
  }
}

void Port::add_sent(const Counter& counter, bool wire) noexcept {
  counter.add_to(card_.vport.transmitted, 0);
  if (wire) counter.add_to(card_.port.transmitted, fcs);
}

void Port::add_received(const Counter& counter, bool wire) noexcept {
  counter.add_to(card_.vport.received, 0);
  if (wire) counter.add_to(card_.port.received, fcs);
}

}  // namespace chime::model
