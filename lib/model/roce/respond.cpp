// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstring>

#include "model/packet/bytes.h"
#include "model/roce/responder.h"

/// Acknowledgements and responses on their way out, in the order of their PSNs.

namespace chime::model {

using net::RoceOp;
using net::Transport;

namespace {

Transport transport_of(const Qp& qp) noexcept {
  return qp.service == QpService::xrc ? Transport::xrc : Transport::rc;
}

}  // namespace

unsigned Responder::serve(Qp& qp) noexcept {
  QpResponder& r = qp.transport.responder;
  if (!qp.transport.route_ok) {
    r.pending_head = r.pending_tail;
    r.ack_due = r.nak_due = false;
    return 0;
  }
  unsigned sent = 0;
  while (sent < budget && r.pending_head != r.pending_tail) {
    PendingResponse& response = r.pending[r.pending_head & (r.pending.size() - 1)];
    if (r.resources[response.resource].kind == net::RoceKind::read_request) {
      const unsigned packets = send_read(qp, response, budget - sent);
      sent += packets;
      if (packets == 0 || response.sent != response.packets) break;
    } else {
      send_atomic(qp, response);
      ++sent;
    }
    r.resources[response.resource].waits = false;
    ++r.pending_head;
  }
  if (r.pending_head != r.pending_tail) {
    shared_.wake(qp);
    return sent;
  }
  if (r.ack_due || r.nak_due) {
    send_acknowledgement(qp);
    ++sent;
  }
  return sent;
}

/// @return packets sent; 0 when the memory can't be read any more
unsigned Responder::send_read(Qp& qp, PendingResponse& response, unsigned most) noexcept {
  const QpAttributes& a = qp.attributes;
  const std::uint32_t mtu = a.mtu();
  const net::RouteHeader& route = qp.transport.route;
  unsigned sent = 0;
  while (sent < most && response.sent < response.packets) {
    shared_.outbox.make_room();
    const std::uint32_t offset = response.sent << a.log_mtu;
    const std::uint32_t length = std::min(mtu, response.length - offset);
    const bool first = response.sent == 0, last = response.sent + 1 == response.packets;
    net::RocePacket packet;
    const RoceOp op = first && last ? RoceOp::read_response_only
                      : first       ? RoceOp::read_response_first
                      : last        ? RoceOp::read_response_last
                                    : RoceOp::read_response_middle;
    packet.opcode = net::roce_opcode(transport_of(qp), op);
    packet.qpn = a.remote_qpn;
    packet.psn = net::psn_add(response.psn, response.sent);
    packet.syndrome = net::aeth_ack;
    packet.msn = response.msn;
    packet.pad = static_cast<std::uint8_t>(-length & 3);
    std::byte* const bth = shared_.outbox.begin(route, net::largest_bth + length + packet.pad);
    const std::uint32_t headers = net::write_roce(bth, packet);
    const DataOutcome outcome =
        shared_.mover.read_target(shared_.target_user(qp, response.srqn), response.rkey,
                                  response.address + offset, bth + headers, length);
    if (outcome.fault != Fault::none) {
      QpResponder& r = qp.transport.responder;
      r.pending_head = r.pending_tail;
      r.expected_psn = packet.psn;
      refuse(qp, net::Nak::remote_access, Fault::target_key, response.rkey);
      return 0;
    }
    std::memset(bth + headers + length, 0, packet.pad);
    shared_.outbox.finish(route, headers + length + packet.pad, qp.number);
    ++response.sent;
    ++sent;
  }
  return sent;
}

void Responder::send_atomic(Qp& qp, const PendingResponse& response) noexcept {
  shared_.outbox.make_room();
  const QpResponder& r = qp.transport.responder;
  const ResponderResource& resource = r.resources[response.resource];
  const std::byte* const result = r.results.data() + std::size_t{response.resource} * r.result_room;
  const net::RouteHeader& route = qp.transport.route;
  net::RocePacket packet;
  packet.qpn = qp.attributes.remote_qpn;
  packet.psn = response.psn;
  packet.syndrome = net::aeth_ack;
  packet.msn = response.msn;
  if (resource.kind == net::RoceKind::atomic) {
    packet.opcode = net::roce_opcode(transport_of(qp), RoceOp::atomic_acknowledge);
    packet.original = net::load_be<std::uint64_t>(result);
    std::byte* const bth = shared_.outbox.begin(route, net::largest_bth);
    shared_.outbox.finish(route, net::write_roce(bth, packet), qp.number);
    return;
  }
  packet.opcode = net::extended_atomic_acknowledge;
  const std::uint32_t size = 1u << resource.log_size;
  std::byte* const bth = shared_.outbox.begin(route, net::largest_bth + size);
  const std::uint32_t headers = net::write_roce(bth, packet);
  std::memcpy(bth + headers, result, size);
  shared_.outbox.finish(route, headers + size, qp.number);
}

void Responder::send_acknowledgement(Qp& qp) noexcept {
  shared_.outbox.make_room();
  QpResponder& r = qp.transport.responder;
  const net::RouteHeader& route = qp.transport.route;
  net::RocePacket packet;
  packet.opcode = net::roce_opcode(transport_of(qp), RoceOp::acknowledge);
  packet.qpn = qp.attributes.remote_qpn;
  packet.psn = r.nak_due ? r.expected_psn : r.ack_psn;
  packet.syndrome = r.nak_due ? r.nak_syndrome : net::aeth_ack;
  packet.msn = r.msn;
  std::byte* const bth = shared_.outbox.begin(route, net::largest_bth);
  shared_.outbox.finish(route, net::write_roce(bth, packet), qp.number);
  // A refusal acknowledges all that came before it.
  if (r.nak_due) r.nak_sent = true;
  r.nak_due = r.ack_due = false;
}

}  // namespace chime::model
