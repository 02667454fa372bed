// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "hca/device.h"
#include "hca/memory.h"

namespace chime::net {

/// What the queues of a port need of it. The port outlives its queues.
struct QueueContext {
  hca::Device& device;
  hca::MemoryMap& memory;
  const hca::Object& pd;
  const hca::Object& tis;
  const hca::Object& q_counter;
  std::uint16_t port_id;
  std::uint8_t min_inline_mode;      ///< of QUERY_HCA_CAP / the vport context
  std::uint32_t max_ds;              ///< 16-byte units in one send WQE
  std::uint32_t max_large_send = 0;  ///< bytes of payload that the card segments (LSO); 0: none
  std::uint16_t tunnels = 0;         ///< kinds of tunnels that the card looks into, see tx_offload.h
  bool vlan_insert = true;           ///< the card inserts VLAN tags; else they are written in line
};

}  // namespace chime::net
