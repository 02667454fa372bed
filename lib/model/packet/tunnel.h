// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "model/packet/headers.h"

/// @file
/// Frames and datagrams inside others: what the card's offloads reach with the inner bits of a request.
///
///     VXLAN   IP | UDP to one of the card's ports | VXLAN 8 | Ethernet ...
///     GRE     IP | GRE 4, and 4 for each of checksum, key, sequence number | Ethernet or IP ...
///     IP      IP | IP ...

namespace chime::net {

/// UDP ports that carry VXLAN: ADD_VXLAN_UDP_DPORT. IANA's is among them from the start.
class VxlanPorts {
 public:
  static constexpr std::uint16_t iana = 4789;
  static constexpr unsigned most = 8;

  bool contains(std::uint16_t port) const noexcept {
    return port != 0 && std::ranges::find(ports_, port) != ports_.end();
  }
  unsigned count() const noexcept {
    return most - static_cast<unsigned>(std::ranges::count(ports_, std::uint16_t{0}));
  }
  /// @return false: there is no room. One that is there already is fine.
  bool add(std::uint16_t port) noexcept { return contains(port) || replace(0, port); }
  /// @return false: it was not there
  bool remove(std::uint16_t port) noexcept { return port != 0 && replace(port, 0); }

 private:
  bool replace(std::uint16_t from, std::uint16_t to) noexcept {
    const auto place = std::ranges::find(ports_, from);
    if (place == ports_.end()) return false;
    *place = to;
    return true;
  }
  std::array<std::uint16_t, most> ports_{iana};
};

/// Parses what a tunnel carries.
/// @param outer of the same frame
/// @return false: it is no tunnel that the card knows, or it is cut (outer.wants_more or inner.wants_more)
bool parse_tunnelled(Headers& inner, const std::byte* frame, std::uint32_t available, const Headers& outer,
                     const VxlanPorts& vxlan) noexcept;

}  // namespace chime::net
