// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <bit>
#include <cstring>

#include "model/datapath/report.h"
#include "model/packet/bytes.h"
#include "model/roce/responder.h"

/// What requests of the other end do to memory and receive queues.

namespace chime::model {
namespace {

using net::RoceKind;

prm::cqe_opcode received_as(const net::RocePacket& packet) noexcept {
  if (packet.shape.kind == RoceKind::write) return prm::cqe_opcode::responder_rdma_write_imm;
  if (packet.shape.invalidate) return prm::cqe_opcode::responder_send_inval;
  return packet.shape.immediate ? prm::cqe_opcode::responder_send_imm : prm::cqe_opcode::responder_send;
}

/// Largest atomic of an atomic_mode, bytes; `extended` when masked ones and other sizes than 8 are there.
std::uint32_t largest_of(prm::atomic_mode mode, bool& extended) noexcept {
  extended = false;
  switch (mode) {
    case prm::atomic_mode::none:
      return 0;
    case prm::atomic_mode::ib_spec:
    case prm::atomic_mode::only_8b:
      return 8;
    default:
      extended = true;
      return 8u << (static_cast<unsigned>(mode) - static_cast<unsigned>(prm::atomic_mode::up_to_8b));
  }
}

AtomicOrder order_of(const Hca::Card& card, std::uint32_t size) noexcept {
  if (size == 4) return card.behaviour.atomic_memory_4;
  if (size > 8) return card.behaviour.atomic_memory_wide;
  return atomic_mode_1(card) ? card.behaviour.atomic_memory_8_mode_1 : card.behaviour.atomic_memory_8_mode_0;
}

/// Loads and stores that software sees whole, where there are such.
void load_whole(std::byte* to, const std::byte* from, std::uint32_t size) noexcept {
  if (size == 8) {
    net::store(to, __atomic_load_n(reinterpret_cast<const std::uint64_t*>(from), __ATOMIC_ACQUIRE));
  } else if (size == 4) {
    net::store(to, __atomic_load_n(reinterpret_cast<const std::uint32_t*>(from), __ATOMIC_ACQUIRE));
  } else {
    std::memcpy(to, from, size);
  }
}
void store_whole(std::byte* to, const std::byte* from, std::uint32_t size) noexcept {
  if (size == 8) {
    __atomic_store_n(reinterpret_cast<std::uint64_t*>(to), net::load<std::uint64_t>(from), __ATOMIC_RELEASE);
  } else if (size == 4) {
    __atomic_store_n(reinterpret_cast<std::uint32_t*>(to), net::load<std::uint32_t>(from), __ATOMIC_RELEASE);
  } else {
    std::memcpy(to, from, size);
  }
}

}  // namespace

// ---- receive requests ----

const Pd* Responder::receive_pd(const Qp& qp) const noexcept {
  return shared_.srq ? shared_.srq->pd.get() : qp.pd.get();
}

bool Responder::read_shared_wqe(Srq& srq, std::uint16_t index, DataSegments& list) noexcept {
  const std::size_t stride = std::size_t{1} << srq.ring.log_stride;
  const std::byte* wqe = srq.ring.at(index);
  if (!wqe || stride > receive_wqe_.size()) return false;
  std::memcpy(receive_wqe_.data(), wqe, stride);
  list = {receive_wqe_.data() + Srq::next_segment,
          static_cast<std::uint32_t>((stride - Srq::next_segment) / prm::wqe_unit), true};
  return true;
}

bool Responder::read_receive_wqe(Qp& qp, DataSegments& list) noexcept {
  if (shared_.srq) return read_shared_wqe(*shared_.srq, qp.transport.responder.held_index, list);
  const std::size_t stride = std::size_t{1} << qp.receive.log_stride;
  const std::byte* wqe = qp.receive.at(qp.transport.responder.consumed);
  if (!wqe || stride > receive_wqe_.size()) return false;
  std::memcpy(receive_wqe_.data(), wqe, stride);
  const auto units = static_cast<std::uint32_t>(stride / prm::wqe_unit);
  const std::uint32_t signature = qp.signature && units > 1 ? 1 : 0;
  list = {receive_wqe_.data() + signature * prm::wqe_unit, units - signature, true};
  return true;
}

/// The request's own memory is at fault: its software is told, and the other end.
void Responder::receive_fault(Qp& qp, const DataOutcome& outcome) noexcept {
  const bool room = outcome.fault == Fault::receive_room;
  if (is_reliable(qp.service)) {
    const auto code = room ? net::Nak::invalid_request : net::Nak::remote_operation;
    nak(qp, net::aeth_nak | static_cast<std::uint8_t>(code));
  }
  if (qp.q_counter && room) ++qp.q_counter->resp_local_length_error;
  completions_.receive_failed(qp, outcome.fault, outcome.detail);
}

/// Takes a memory key out of use at the other end's wish.
bool Responder::invalidate(Qp& qp, const net::RocePacket& packet) noexcept {
  Mkey* const mkey = shared_.card.mkeys.find(packet.immediate >> 8);
  if (!mkey || mkey->key_byte != (packet.immediate & 0xff) || !mkey->remote_invalidate ||
      mkey->pd.get() != shared_.target_user(qp).pd) {
    refuse(qp, net::Nak::remote_access, Fault::target_key, packet.immediate);
    return false;
  }
  mkey->is_free = true;
  shared_.keys.forget();
  return true;
}

void Responder::send(Qp& qp, const net::RocePacket& packet, const std::byte* payload) noexcept {
  QpResponder& r = qp.transport.responder;
  const std::uint32_t length = packet.payload_length;
  if (packet.shape.first) {
    if (!completions_.has_receive(qp)) {
      not_ready(qp);
      return;
    }
    r.offset = 0;
  }
  if (packet.shape.invalidate && !invalidate(qp, packet)) return;
  const bool to_cqe = packet.shape.first && packet.shape.last && QpCompletions::scatters_receive(qp, length);
  if (length != 0 && !to_cqe) {
    DataSegments list;
    DataOutcome outcome{Fault::wqe_memory, r.consumed};
    if (read_receive_wqe(qp, list))
      outcome = shared_.mover.scatter(qp, receive_pd(qp), list, r.offset, payload, length);
    if (outcome.fault != Fault::none) {
      receive_fault(qp, outcome);
      return;
    }
  }
  r.offset += length;
  r.message = packet.shape.last ? QpResponder::Message::none : QpResponder::Message::send;
  if (packet.shape.last) r.msn = net::psn_add(r.msn, 1);
  accept(qp, 1, true);
  if (!packet.shape.last) return;
  completions_.receive_done(
      qp,
      {.opcode = received_as(packet),
       .length = r.offset,
       .immediate = packet.shape.immediate || packet.shape.invalidate ? packet.immediate : 0,
       .source_qpn = qp.attributes.remote_qpn,
       .solicited = packet.solicited,
       .network_header = 0},
      to_cqe ? std::span(payload, length) : std::span<const std::byte>{});
}

void Responder::datagram(Qp& qp, const net::RocePacket& packet, const std::byte* payload, const std::byte* l3,
                         std::uint32_t network_header) noexcept {
  if (packet.qkey != qp.attributes.qkey) {
    if (worth_a_word(++qp.transport.dropped)) {
      report(shared_.card, Fault::roce_qkey, qp.number,
             "QP 0x%x: a datagram of QP 0x%x was dropped: its Q_Key is 0x%08x, not 0x%08x", qp.number,
             packet.source_qpn, packet.qkey, qp.attributes.qkey);
    }
    return;
  }
  if (!completions_.has_receive(qp)) {
    not_ready(qp);
    return;
  }
  DataSegments list;
  DataOutcome outcome{Fault::wqe_memory, qp.transport.responder.consumed};
  if (read_receive_wqe(qp, list)) {
    outcome = shared_.mover.scatter(qp, receive_pd(qp), list, 0, l3, grh);
    if (outcome.fault == Fault::none) {
      outcome = shared_.mover.scatter(qp, receive_pd(qp), list, grh, payload, packet.payload_length);
    }
  }
  if (outcome.fault != Fault::none) {
    receive_fault(qp, outcome);
    return;
  }
  completions_.receive_done(qp, {.opcode = received_as(packet),
                                 .length = grh + packet.payload_length,
                                 // QP1's software hears of the partition there.
                                 .immediate = packet.shape.immediate         ? packet.immediate
                                              : qp.service == QpService::gsi ? packet.partition
                                                                             : 0u,
                                 .source_qpn = packet.source_qpn,
                                 .solicited = packet.solicited,
                                 .network_header = network_header});
}

// ---- writes ----

void Responder::write(Qp& qp, const net::RocePacket& packet, const std::byte* payload) noexcept {
  QpResponder& r = qp.transport.responder;
  const std::uint32_t length = packet.payload_length;
  if (packet.shape.first) {
    if (!qp.attributes.remote_write) {
      refuse(qp, net::Nak::remote_access, Fault::target_right, packet.opcode);
      return;
    }
    const DataOutcome outcome = shared_.mover.check_target(
        shared_.target_user(qp), packet.rkey, packet.address, packet.message_length, remote_write);
    if (outcome.fault != Fault::none) {
      refuse_key(qp, outcome, packet);
      return;
    }
    r.offset = 0;
    r.address = packet.address;
    r.rkey = packet.rkey;
    r.length = packet.message_length;
  }
  const bool right = packet.shape.last ? length == r.length - r.offset : length < r.length - r.offset;
  if (!right) {
    refuse(qp, net::Nak::invalid_request, Fault::target_length, length);
    return;
  }
  if (packet.shape.immediate && !completions_.has_receive(qp)) {
    not_ready(qp);
    return;
  }
  const DataOutcome outcome =
      shared_.mover.write_target(shared_.target_user(qp), r.rkey, r.address + r.offset, payload, length);
  if (outcome.fault != Fault::none) {
    refuse_key(qp, outcome, packet);
    return;
  }
  r.offset += length;
  r.message = packet.shape.last ? QpResponder::Message::none : QpResponder::Message::write;
  if (packet.shape.last) {
    r.msn = net::psn_add(r.msn, 1);
    if (qp.q_counter) ++qp.q_counter->rx_write_requests;
  }
  accept(qp, 1, true);
  if (!packet.shape.immediate) return;
  completions_.receive_done(qp, {.opcode = received_as(packet),
                                 .length = r.length,
                                 .immediate = packet.immediate,
                                 .source_qpn = qp.attributes.remote_qpn,
                                 .solicited = packet.solicited,
                                 .network_header = 0});
}

// ---- reads and atomics ----

/// A place to remember it; the oldest one's, which must have been answered.
ResponderResource* Responder::new_resource(Qp& qp, const net::RocePacket& packet,
                                           std::uint32_t packets) noexcept {
  QpResponder& r = qp.transport.responder;
  ResponderResource& resource = r.resources[r.next_resource];
  if (resource.waits) {
    refuse(qp, net::Nak::invalid_request, Fault::target_outstanding, r.resources.size());
    return nullptr;
  }
  resource = {.psn = packet.psn,
              .packets = packets,
              .kind = packet.shape.kind,
              .log_size = packet.log_size,
              .waits = false};
  return &resource;
}

/// @return false when too much waits already; the other end will ask again
bool Responder::remember(Qp& qp, const PendingResponse& response) noexcept {
  QpResponder& r = qp.transport.responder;
  const std::uint32_t mask = static_cast<std::uint32_t>(r.pending.size()) - 1;
  for (std::uint32_t i = r.pending_head; i != r.pending_tail; ++i) {
    const PendingResponse& other = r.pending[i & mask];
    if (other.resource == response.resource && other.psn == response.psn && other.sent == 0) return true;
  }
  if (r.pending_tail - r.pending_head == r.pending.size()) return false;
  r.pending[r.pending_tail++ & mask] = response;
  r.resources[response.resource].waits = true;
  shared_.wake(qp);
  return true;
}

void Responder::read(Qp& qp, const net::RocePacket& packet) noexcept {
  QpResponder& r = qp.transport.responder;
  constexpr std::uint32_t longest = 0x80000000;
  if (!qp.attributes.remote_read) {
    refuse(qp, net::Nak::remote_access, Fault::target_right, packet.opcode);
    return;
  }
  if (packet.message_length > longest) {
    refuse(qp, net::Nak::invalid_request, Fault::target_length, packet.message_length);
    return;
  }
  const DataOutcome outcome = shared_.mover.check_target(shared_.target_user(qp), packet.rkey, packet.address,
                                                         packet.message_length, remote_read);
  if (outcome.fault != Fault::none) {
    refuse_key(qp, outcome, packet);
    return;
  }
  const std::uint32_t mtu = qp.attributes.mtu();
  const std::uint32_t packets = std::max(1u, (packet.message_length + (mtu - 1)) >> qp.attributes.log_mtu);
  if (!new_resource(qp, packet, packets)) return;
  PendingResponse response;
  response.resource = r.next_resource;
  response.psn = packet.psn;
  r.msn = net::psn_add(r.msn, 1);
  response.msn = r.msn;
  response.packets = packets;
  response.length = packet.message_length;
  response.rkey = packet.rkey;
  response.srqn = packet.srqn;
  response.address = packet.address;
  if (qp.q_counter) ++qp.q_counter->rx_read_requests;
  r.next_resource = (r.next_resource + 1) & (static_cast<std::uint32_t>(r.resources.size()) - 1);
  remember(qp, response);
  accept(qp, packets, false);
}

void Responder::atomic(Qp& qp, const net::RocePacket& packet, const std::byte* payload) noexcept {
  QpResponder& r = qp.transport.responder;
  const bool extended = packet.shape.kind == RoceKind::extended_atomic;
  AtomicKind kind = AtomicKind::fetch_add;
  std::uint32_t size = 8;
  if (!qp.attributes.remote_atomic) {
    refuse(qp, net::Nak::remote_access, Fault::target_right, packet.opcode);
    return;
  }
  if (extended) {
    kind = static_cast<AtomicKind>(packet.extended_kind);
    const bool known = kind == AtomicKind::masked_compare_swap || kind == AtomicKind::masked_fetch_add;
    size = packet.log_size <= 8 ? 1u << packet.log_size : 0;
    if (!known || size < 4 || packet.payload_length != operand_count(kind) * size) {
      refuse(qp, net::Nak::invalid_request, Fault::target_length, packet.payload_length);
      return;
    }
  } else if ((packet.opcode & net::op_mask) == static_cast<unsigned>(net::RoceOp::compare_swap)) {
    kind = AtomicKind::compare_swap;
  }
  bool mode_extended = false;
  const std::uint32_t largest = largest_of(qp.attributes.atomic_mode, mode_extended);
  if (size > largest || (extended && !mode_extended) || !offers_atomic(shared_.card, kind, size)) {
    refuse(qp, net::Nak::invalid_request, Fault::target_atomic, size);
    return;
  }
  if (packet.address % size != 0) {
    refuse(qp, net::Nak::invalid_request, Fault::target_misaligned, packet.address);
    return;
  }
  DataOutcome outcome;
  std::byte* const target =
      shared_.mover.atomic_target(shared_.target_user(qp), packet.rkey, packet.address, size, outcome);
  if (!target) {
    refuse_key(qp, outcome, packet);
    return;
  }
  const std::uint32_t slot = r.next_resource;
  ResponderResource* const resource = new_resource(qp, packet, 1);
  if (!resource) return;
  resource->log_size = static_cast<std::uint8_t>(std::countr_zero(size));

  std::byte plain[2 * sizeof(std::uint64_t)];
  if (!extended) {
    net::store_be(plain, packet.swap_or_add);
    net::store_be(plain + sizeof(std::uint64_t), packet.compare);
  }
  const AtomicOrder order = order_of(shared_.card, size);
  std::byte value[largest_atomic];
  load_whole(value, target, size);
  reorder_atomic(value, size, order);
  std::memcpy(r.results.data() + std::size_t{slot} * r.result_room, value, size);
  execute_atomic(kind, size, value, extended ? payload : plain);
  reorder_atomic(value, size, order);
  store_whole(target, value, size);

  r.msn = net::psn_add(r.msn, 1);
  if (qp.q_counter) ++qp.q_counter->rx_atomic_requests;
  r.next_resource = (slot + 1) & (static_cast<std::uint32_t>(r.resources.size()) - 1);
  PendingResponse response;
  response.resource = slot;
  response.psn = packet.psn;
  response.msn = r.msn;
  response.packets = 1;
  remember(qp, response);
  accept(qp, 1, false);
}

}  // namespace chime::model
