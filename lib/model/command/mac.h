// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "model/object/port.h"
#include "prm/layouts.h"
#include "prm/view.h"

namespace chime::model {

inline Mac read_mac(prm::ConstView<prm::mac_address_layout> in) noexcept {
  const std::uint32_t high = in.get(prm::mac_address_layout::mac_addr_47_32);
  const std::uint32_t low = in.get(prm::mac_address_layout::mac_addr_31_0);
  auto byte = [](std::uint32_t word, unsigned shift) { return static_cast<std::uint8_t>(word >> shift); };
  return {byte(high, 8), byte(high, 0), byte(low, 24), byte(low, 16), byte(low, 8), byte(low, 0)};
}

inline void write_mac(const Mac& mac, prm::View<prm::mac_address_layout> out) noexcept {
  out.set(prm::mac_address_layout::mac_addr_47_32, std::uint32_t{mac[0]} << 8 | mac[1])
      .set(prm::mac_address_layout::mac_addr_31_0,
           std::uint32_t{mac[2]} << 24 | std::uint32_t{mac[3]} << 16 | std::uint32_t{mac[4]} << 8 | mac[5]);
}

}  // namespace chime::model
