// SPDX-License-Identifier: BSD-3-Clause
#include "model/roce/requester.h"

#include <algorithm>
#include <cstring>

#include "model/datapath/report.h"
#include "model/packet/bytes.h"
#include "model/roce/route.h"

namespace chime::model {
namespace {

using net::RoceOp;
using net::Transport;

constexpr std::uint8_t fence_mask = 0xe0;

Transport transport_of(QpService service) noexcept {
  switch (service) {
    case QpService::rc:
      return Transport::rc;
    case QpService::uc:
      return Transport::uc;
    case QpService::xrc:
      return Transport::xrc;
    case QpService::ud:
    case QpService::gsi:
    case QpService::umr:
      return Transport::ud;
  }
  return Transport::rc;
}

bool is_write(prm::wqe_opcode opcode) noexcept {
  return opcode == prm::wqe_opcode::rdma_write || opcode == prm::wqe_opcode::rdma_write_imm;
}

bool has_immediate(prm::wqe_opcode opcode) noexcept {
  return opcode == prm::wqe_opcode::send_imm || opcode == prm::wqe_opcode::rdma_write_imm;
}

/// It is executed where it is; nothing goes out.
bool is_local(prm::wqe_opcode opcode) noexcept {
  return opcode == prm::wqe_opcode::nop || opcode == prm::wqe_opcode::umr;
}

/// The opcode of one packet of a SEND or RDMA WRITE.
RoceOp operation(prm::wqe_opcode opcode, bool first, bool last) noexcept {
  const bool immediate = has_immediate(opcode);
  auto op = static_cast<unsigned>(is_write(opcode) ? RoceOp::write_first : RoceOp::send_first);
  constexpr unsigned middle = 1, end = 2, only = 4;
  if (last && opcode == prm::wqe_opcode::send_inval) {
    return first ? RoceOp::send_only_invalidate : RoceOp::send_last_invalidate;
  }
  if (first && last) {
    op += only + (immediate ? 1 : 0);
  } else if (last) {
    op += end + (immediate ? 1 : 0);
  } else if (!first) {
    op += middle;
  }
  return static_cast<RoceOp>(op);
}

}  // namespace

unsigned Requester::serve(Qp& qp) noexcept {
  QpRequester& r = qp.transport.requester;
  unsigned sent = 0;
  while (sent < budget && !r.waits_for_timer && (qp.state == QpState::rts || qp.state == QpState::sqd)) {
    // Nothing goes out behind a request that will end in an error.
    if (r.cursor != r.head && entry(r, r.cursor - 1).fault != Fault::none) break;
    if (r.cursor == r.tail && !begin(qp)) break;
    const std::uint32_t at = r.cursor;
    const unsigned packets = transmit(qp, budget - sent);
    sent += packets;
    if (packets == 0 && r.cursor == at) break;
  }
  if (sent != 0 && is_reliable(qp.service) && r.deadline == 0) restart_timer(qp);
  if (qp.state == QpState::sqd && r.drain_due && r.head == r.tail) {
    r.drain_due = false;
    completions_.event(qp, prm::event_type::send_queue_drained);
  }
  const bool can_go_on = sent >= budget && !r.waits_for_timer;
  if (can_go_on && qp.state == QpState::rts && (r.cursor != r.tail || r.fetched != r.posted))
    shared_.wake(qp);
  return sent;
}

/// Makes an entry of the window out of the next posted request. @return false when there is none, or it has
/// to wait
bool Requester::begin(Qp& qp) noexcept {
  QpRequester& r = qp.transport.requester;
  if (qp.state != QpState::rts || r.fetched == r.posted || r.tail - r.head == r.window.size()) return false;
  SendWqe& wqe = shared_.wqe;
  DataOutcome outcome = read_send_wqe(shared_.card, qp, r.fetched, wqe);
  if (outcome.fault == Fault::none && must_wait(qp, wqe)) return false;
  if (outcome.fault == Fault::none && !qp.transport.route_ok && is_connected(qp.service) &&
      !is_local(wqe.opcode)) {
    outcome = {Fault::qp_address, qp.attributes.path.gid_index};
  }
  SendEntry& e = entry(r, r.tail);
  e = {};
  e.index = r.fetched;
  e.blocks = wqe.blocks;
  e.opcode = wqe.opcode;
  e.mode = wqe.mode;
  e.first_psn = r.next_psn;
  if (outcome.fault == Fault::none && wqe.opcode == prm::wqe_opcode::umr) {
    outcome = change_key(qp, wqe);
  }
  if (outcome.fault != Fault::none) {
    e.fault = outcome.fault;
    e.detail = outcome.detail;
  } else if (!is_local(wqe.opcode)) {
    e.responds = wqe.responds;
    e.length = wqe.length;
    const std::uint32_t mtu = qp.attributes.mtu();
    e.packets = wqe.atomic ? 1 : std::max(1u, (e.length + mtu - 1) >> qp.attributes.log_mtu);
    if (e.responds) ++r.responding;
    if (wqe.atomic) note_order(qp, wqe);
  }
  r.next_psn = net::psn_add(r.next_psn, e.packets);
  r.fetched = static_cast<std::uint16_t>(r.fetched + wqe.blocks);
  ++r.tail;
  r.cursor_packet = 0;
  fresh_ = true;
  return true;
}

DataOutcome Requester::change_key(Qp& qp, const SendWqe& wqe) noexcept {
  const UmrQueue queue{
      .pd = qp.pd.get(), .reserved_lkey = qp.reserved_lkey, .every_domain = qp.service == QpService::umr};
  const UmrOutcome outcome = execute_umr(shared_.card, shared_.keys, queue, wqe.bytes.data(), wqe.units);
  return {outcome.fault, outcome.detail};
}

bool Requester::must_wait(const Qp& qp, const SendWqe& wqe) const noexcept {
  const QpRequester& r = qp.transport.requester;
  switch (static_cast<prm::wqe_fm>(wqe.mode & fence_mask)) {
    case prm::wqe_fm::fence:
    case prm::wqe_fm::small_and_fence:
      if (r.responding != 0) return true;
      break;
    case prm::wqe_fm::strong_ordering:
      if (r.head != r.tail) return true;
      break;
    default:  // there are no local invalidates to wait for
      break;
  }
  return wqe.responds && r.responding >> qp.attributes.log_sra_max != 0;
}

/// Packets of the entry at the cursor; goes on to the next entry behind its last.
unsigned Requester::transmit(Qp& qp, unsigned most) noexcept {
  QpRequester& r = qp.transport.requester;
  const std::uint32_t at = r.cursor;
  SendEntry& e = entry(r, at);
  unsigned sent = 0;
  if (e.fault == Fault::none && e.packets != 0 && !fresh_) {
    const DataOutcome outcome = read_send_wqe(shared_.card, qp, e.index, shared_.wqe);
    e.fault = outcome.fault;
    e.detail = outcome.detail;
  }
  fresh_ = false;
  while (e.fault == Fault::none && r.cursor_packet < e.packets) {
    if (sent == most || r.in_flight >= most_in_flight) return sent;
    if (shared_.outbox.make_room()) {
      // What the wire brought back at once may have changed everything.
      if (r.cursor != at || qp.state == QpState::err || r.waits_for_timer) return sent;
      if (r.cursor_packet >= e.packets) break;
    }
    if (!send_packet(qp, e, r.cursor_packet)) break;
    ++sent;
    // A read's one request asks for all that is missing.
    r.cursor_packet = e.responds ? e.packets : r.cursor_packet + 1;
    if (!e.responds) ++r.in_flight;
    const std::uint32_t behind = net::psn_add(e.first_psn, r.cursor_packet);
    if (net::psn_distance(behind, r.sent_psn) > 0) r.sent_psn = behind;
  }
  ++r.cursor;
  r.cursor_packet = 0;
  if (!is_reliable(qp.service)) {
    e.done = e.packets;
    r.in_flight = 0;
  }
  if (r.head + 1 == r.cursor) retire(qp);
  return sent;
}

/// @param number of the packet in its message. @return false when the entry is at fault
bool Requester::send_packet(Qp& qp, const SendEntry& e, std::uint32_t number) noexcept {
  SendWqe& wqe = shared_.wqe;
  if (wqe.atomic) return send_atomic(qp, e);
  QpRequester& r = qp.transport.requester;
  const QpAttributes& a = qp.attributes;
  const std::uint32_t mtu = a.mtu();
  const std::uint32_t offset = number << a.log_mtu;
  const bool first = number == 0, last = number + 1 == e.packets;

  net::RocePacket packet;
  packet.qpn = a.remote_qpn;
  packet.psn = net::psn_add(e.first_psn, number);
  packet.address = wqe.address;
  packet.rkey = wqe.rkey;
  packet.message_length = e.length;
  std::uint32_t length = std::min(mtu, e.length - offset);
  if (e.responds) {
    packet.opcode = net::roce_opcode(transport_of(qp.service), RoceOp::read_request);
    packet.srqn = wqe.srqn;
    packet.address += offset;
    packet.message_length -= offset;
    packet.ack_request = true;
    length = 0;
  } else {
    packet.opcode = net::roce_opcode(transport_of(qp.service), operation(e.opcode, first, last));
    packet.ack_request = is_reliable(qp.service) && (last || (packet.psn % ack_every) == 0);
    packet.solicited = last && (wqe.mode & prm::wqe_solicited) != 0;
    packet.immediate = wqe.immediate;
    packet.srqn = wqe.srqn;
    packet.pad = static_cast<std::uint8_t>(-length & 3);
  }

  net::RouteHeader datagram;
  const net::RouteHeader* route = &qp.transport.route;
  if (is_datagram(qp.service)) {
    if (!datagram_route(shared_.card, *wqe.vector, datagram)) {
      entry(r, r.cursor).fault = Fault::qp_address;
      entry(r, r.cursor).detail = wqe.vector->grh_gid_fl >> 20 & 0xff;
      return false;
    }
    route = &datagram;
    packet.qpn = wqe.vector->destination_qpn & net::psn_mask;
    packet.qkey = wqe.vector->qkey;
    // The high bit says: the QP's own.
    if (packet.qkey >> 31 != 0) packet.qkey = a.qkey;
    packet.source_qpn = qp.service == QpService::gsi ? gsi_qpn : qp.number;
  }

  std::byte* const bth = shared_.outbox.begin(*route, net::largest_bth + length + packet.pad);
  const std::uint32_t headers = net::write_roce(bth, packet);
  if (length != 0) {
    const DataOutcome outcome = shared_.mover.gather(qp, wqe.data, offset, bth + headers, length);
    if (outcome.fault != Fault::none) {
      SendEntry& failed = entry(r, r.cursor);
      failed.fault = outcome.fault;
      failed.detail = outcome.detail;
      return false;
    }
    std::memset(bth + headers + length, 0, packet.pad);
  }
  shared_.outbox.finish(*route, headers + length + packet.pad, qp.number);
  return true;
}

bool Requester::send_atomic(Qp& qp, const SendEntry& e) noexcept {
  SendWqe& wqe = shared_.wqe;
  const net::RouteHeader& route = qp.transport.route;
  net::RocePacket packet;
  packet.qpn = qp.attributes.remote_qpn;
  packet.psn = e.first_psn;
  packet.address = wqe.address;
  packet.rkey = wqe.rkey;
  packet.ack_request = true;
  if (wqe.atomic_kind == AtomicKind::compare_swap || wqe.atomic_kind == AtomicKind::fetch_add) {
    const bool swap = wqe.atomic_kind == AtomicKind::compare_swap;
    packet.opcode =
        net::roce_opcode(transport_of(qp.service), swap ? RoceOp::compare_swap : RoceOp::fetch_add);
    packet.srqn = wqe.srqn;
    packet.swap_or_add = net::load_be<std::uint64_t>(wqe.operands);
    packet.compare = swap ? net::load_be<std::uint64_t>(wqe.operands + 8) : 0;
    std::byte* const bth = shared_.outbox.begin(route, net::largest_bth);
    shared_.outbox.finish(route, net::write_roce(bth, packet), qp.number);
    return true;
  }
  packet.opcode = net::extended_atomic_request;
  packet.extended_kind = static_cast<std::uint8_t>(wqe.atomic_kind);
  packet.log_size = static_cast<std::uint8_t>(std::countr_zero(wqe.atomic_size));
  const std::uint32_t bytes = operand_count(wqe.atomic_kind) * wqe.atomic_size;
  std::byte* const bth = shared_.outbox.begin(route, net::largest_bth + bytes);
  const std::uint32_t headers = net::write_roce(bth, packet);
  if (wqe.operands) {
    std::memcpy(bth + headers, wqe.operands, bytes);
  } else {
    const DataOutcome outcome = shared_.mover.gather(qp, wqe.operand_pointer, 0, bth + headers, bytes);
    if (outcome.fault != Fault::none) {
      QpRequester& r = qp.transport.requester;
      entry(r, r.cursor).fault = outcome.fault;
      entry(r, r.cursor).detail = outcome.detail;
      return false;
    }
  }
  shared_.outbox.finish(route, headers + bytes, qp.number);
  return true;
}

/// One of the usual mistakes: 1 stored in the host's order adds 2^56.
void Requester::note_order(Qp& qp, const SendWqe& wqe) noexcept {
  QpRequester& r = qp.transport.requester;
  if (r.order_noted || wqe.atomic_kind != AtomicKind::fetch_add) return;
  const auto add = net::load_be<std::uint64_t>(wqe.operands);
  if (add == 0 || (add & 0x00ff'ffff'ffff'ffff) != 0) return;
  r.order_noted = true;
  report(shared_.card, Fault::atomic_operand_order, qp.number,
         "QP 0x%x: request %u adds 0x%016llx; if %llu was meant, the operand was not stored big-endian",
         qp.number, r.fetched, static_cast<unsigned long long>(add),
         static_cast<unsigned long long>(add >> 56));
}

}  // namespace chime::model
