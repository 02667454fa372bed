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

void Port::count(TrafficCounts& vport, TrafficCounts& port, const std::byte* destination,
                 std::uint32_t length) noexcept {
  TrafficCount TrafficCounts::*kind = &TrafficCounts::unicast;
  if ((net::byte_at(destination) & 1) != 0) [[unlikely]] {
    const bool all_ones = net::load<std::uint32_t>(destination) == 0xffffffff &&
                          net::load<std::uint16_t>(destination + 4) == 0xffff;
    kind = all_ones ? &TrafficCounts::broadcast : &TrafficCounts::multicast;
  }
  ++(vport.*kind).packets;
  (vport.*kind).octets += length;
  ++(port.*kind).packets;
  (port.*kind).octets += length + fcs;
}

unsigned Port::size_class(std::uint32_t octets) noexcept {
  constexpr std::uint32_t last_octet[] = {64, 127, 255, 511, 1023, 1518, 2047, 4095, 8191};
  unsigned i = 0;
  for (std::uint32_t last : last_octet) i += octets > last;
  return i;
}

}  // namespace chime::model
