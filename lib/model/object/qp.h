// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "model/object/access.h"
#include "model/object/counter.h"
#include "model/object/gid.h"
#include "model/object/memory.h"
#include "model/object/object.h"
#include "model/object/qp_transport.h"
#include "model/object/queue.h"
#include "model/object/srq.h"
#include "prm/enums.h"

/// @file
/// Queue pairs. Commands fill in what software asked for and move the state; `transport` is the datapath's.
///
/// The rings lie in one piece of memory, receive requests first:
///
///      buffer                          + (receive.size() << receive.log_stride)
///     +-------------------------------+---------------------------------------+
///     | receive WQEs of 16 << n bytes | send basic blocks of 64 bytes         |
///     +-------------------------------+---------------------------------------+

namespace chime::model {

/// As the manual numbers them.
enum class QpState : std::uint8_t { reset = 0, init = 1, rtr = 2, rts = 3, sqer = 4, err = 6, sqd = 7 };
const char* name(QpState state) noexcept;

/// The same. `gsi` is queue pair 1 on the wire, which datagrams of connection management go to; `umr` changes
/// memory keys and sends nothing.
enum class QpService : std::uint8_t { rc = 0, uc = 1, ud = 2, xrc = 3, gsi = 8, umr = 0xc };
const char* name(QpService service) noexcept;

constexpr bool is_datagram(QpService service) noexcept {
  return service == QpService::ud || service == QpService::gsi;
}
constexpr bool is_reliable(QpService service) noexcept {
  return service == QpService::rc || service == QpService::xrc;
}
/// It has one other end.
constexpr bool is_connected(QpService service) noexcept {
  return is_reliable(service) || service == QpService::uc;
}
inline constexpr std::uint32_t gsi_qpn = 1;

/// The way to the other end (RC, UC): the primary address path.
struct QpPath {
  GidBytes remote_gid{};
  Mac remote_mac{};
  std::uint8_t gid_index = 0;      ///< own address: place in the card's table (src_addr_index)
  std::uint8_t hop_limit = 0;      ///< TTL or hop limit
  std::uint8_t traffic_class = 0;  ///< TOS or traffic class, where `dscp` does not override it
  std::uint32_t flow_label = 0;    ///< 20 bits
  std::uint16_t udp_source_port = 0;
  std::uint8_t dscp = 0;      ///< 6 bits; RoCE v2 has it from here
  std::uint8_t ecn = 0;       ///< 2 bits
  std::uint8_t priority = 0;  ///< of the VLAN tag (eth_prio)
  bool dei = false;           ///< of the VLAN tag
  std::uint8_t port = 1;      ///< vhca_port_num
  std::uint16_t pkey_index = 0;
  std::uint8_t ack_timeout = 0;  ///< 4.096 us << n; 0: for ever
  std::uint8_t service_level = 0;

  bool operator==(const QpPath&) const noexcept = default;
};

/// What transitions set; copied whole, so that a transition that is refused changes nothing.
struct QpAttributes {
  QpPath path;
  std::uint32_t remote_qpn = 0;
  std::uint32_t next_send_psn = 0;     ///< as set at RTR to RTS; the running one is the datapath's
  std::uint32_t next_receive_psn = 0;  ///< as set at INIT to RTR; the running one is the datapath's
  std::uint32_t qkey = 0;              ///< UD
  std::uint8_t log_mtu = 0;            ///< path MTU is 1 << log_mtu bytes, 8 to 12
  std::uint8_t log_max_message = 0;    ///< log2 of the longest message's bytes
  std::uint8_t log_ack_req_freq = 0;
  std::uint8_t log_sra_max = 0;  ///< 1 << n reads and atomics are outstanding at most
  std::uint8_t log_rra_max = 0;  ///< 1 << n reads and atomics of the other end are remembered
  std::uint8_t retry_count = 0;  ///< 0 to 7
  std::uint8_t rnr_retry = 0;    ///< 0 to 6, 7: for ever
  std::uint8_t min_rnr_nak = 0;  ///< as the AETH's timer field has it
  bool remote_read = false;      ///< "rre"
  bool remote_write = false;     ///< "rwe"
  bool remote_atomic = false;    ///< "rae"
  bool atomic_like_write = false;
  prm::atomic_mode atomic_mode = prm::atomic_mode::none;

  std::uint32_t mtu() const noexcept { return std::uint32_t{1} << log_mtu; }
  bool operator==(const QpAttributes&) const noexcept = default;
};

struct Qp final : Object {
  Qp() noexcept : Object(Kind::qp) {}

  // As created.
  QpService service = QpService::rc;
  bool has_send = false;
  bool has_receive = false;
  Ring send;      ///< of basic blocks; where has_send
  Ring receive;   ///< where has_receive
  Buffer record;  ///< prm::WqRecord: receive counter, send counter
  Ref<Pd> pd;     ///< or none, of service umr
  Ref<Cq> send_cq;
  Ref<Cq> receive_cq;  ///< or none, without receives
  Ref<Uar> uar;        ///< or none, without a send queue
  Ref<Srq> srq;        ///< receive requests come from there, or from the one that a packet names (XRC)
  Ref<Xrcd> xrcd;
  Ref<QCounter> q_counter;  ///< or none; may change with RTS to RTS
  std::uint32_t user_index = 0;
  bool atomic_like_write = false;           ///< of the attributes, after each reset
  bool signature = false;                   ///< "wq_signature": WQEs carry a checksum
  bool reserved_lkey = false;               ///< "rlky"
  bool block_own_multicast = false;         ///< "block_lb_mc"
  bool pad_to_cache_line = false;           ///< end_padding_mode
  std::uint8_t scatter_to_request_cqe = 0;  ///< "cs_req": bytes that the requester's CQE carries: 0, 32, 64
  std::uint8_t scatter_to_receive_cqe = 0;  ///< "cs_res": bytes that the receive's CQE carries: 0, 32, 64
  TimestampFormat timestamp = TimestampFormat::free_running;

  QpState state = QpState::reset;
  QpAttributes attributes;

  QpTransport transport;  ///< of the datapath
};

}  // namespace chime::model
