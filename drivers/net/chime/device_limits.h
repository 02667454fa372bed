// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "base/error.h"
#include "hca/device.h"

namespace chime::net {

/// What the device says that it can do (QUERY_HCA_CAP, vport context), as the port uses it. Plain data.
struct Limits {
  std::uint32_t max_receive_queues;
  std::uint32_t max_send_queues;
  std::uint8_t log_max_work_queue;        ///< entries of a receive queue, basic blocks of a send queue
  std::uint8_t log_max_completion_queue;  ///< entries
  std::uint8_t log_max_rqt;               ///< entries of an RSS table
  std::uint32_t max_unicast_addresses;    ///< besides the port's own
  std::uint32_t max_multicast_addresses;
  std::uint32_t max_send_ds;     ///< 16-byte units in one send WQE
  std::uint8_t min_inline_mode;  ///< what a send WQE must carry itself: 0 nothing, 1 L2, 2 IP, 3 TCP/UDP
  std::uint32_t max_large_send;  ///< bytes of payload that a send WQE may have cut into frames (LSO); 0: none
  std::uint16_t tunnels;         ///< kinds of tunnels that the card looks into, see tx_offload.h
  bool checksum;                 ///< computed in send WQEs, checked for CQEs
  bool vlan_strip;
  bool vlan_insert;  ///< by the WQE's Ethernet segment
  bool scatter_fcs;  ///< the FCS can be received

  static Result<Limits> query(hca::Device& device) noexcept;
};

}  // namespace chime::net
