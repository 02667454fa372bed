// SPDX-License-Identifier: BSD-3-Clause
#include "model/roce/responder.h"

#include <algorithm>

#include "model/datapath/report.h"
#include "model/roce/key_advice.h"

namespace chime::model {

using net::RoceKind;

void Responder::receive(Qp& qp, const net::RocePacket& packet, const std::byte* payload, const std::byte* l3,
                        std::uint32_t network_header) noexcept {
  QpResponder& r = qp.transport.responder;
  if (qp.state == QpState::rtr && !r.established) {
    r.established = true;
    completions_.event(qp, prm::event_type::communication_established);
  }
  shared_.srq = qp.srq.get();
  if (is_datagram(qp.service)) {
    datagram(qp, packet, payload, l3, network_header);
    return;
  }
  if (!in_sequence(qp, packet) || !well_formed(qp, packet)) return;
  if (qp.service == QpService::xrc && !find_shared(qp, packet)) return;
  switch (packet.shape.kind) {
    case RoceKind::send:
      send(qp, packet, payload);
      break;
    case RoceKind::write:
      write(qp, packet, payload);
      break;
    case RoceKind::read_request:
      read(qp, packet);
      break;
    default:
      atomic(qp, packet, payload);
      break;
  }
}

/// XRC: the shared receive queue that the packet names.
bool Responder::find_shared(Qp& qp, const net::RocePacket& packet) noexcept {
  shared_.srq = nullptr;
  if (packet.transport != net::Transport::xrc) return true;
  Srq* const srq = shared_.card.srqs.find(packet.srqn);
  if (srq && srq->type == Srq::Type::xrc && srq->xrcd.get() == qp.xrcd.get()) {
    shared_.srq = srq;
    return true;
  }
  refuse(qp, net::Nak::invalid_request, Fault::target_srq, packet.srqn);
  return false;
}

// ---- sequence ----

bool Responder::in_sequence(Qp& qp, const net::RocePacket& packet) noexcept {
  QpResponder& r = qp.transport.responder;
  const std::int32_t ahead = net::psn_distance(packet.psn, r.expected_psn);
  if (qp.service == QpService::uc) {
    // What is lost is lost: the message it belonged to is dropped, the next one is taken.
    if (ahead != 0) {
      r.message = QpResponder::Message::none;
      r.message_lost = true;
    }
    if (packet.shape.first) {
      r.message = QpResponder::Message::none;
      r.message_lost = false;
    }
    r.expected_psn = net::psn_add(packet.psn, 1);
    return !r.message_lost;
  }
  if (ahead == 0) return true;
  if (ahead < 0) {
    duplicate(qp, packet);
    return false;
  }
  if (qp.q_counter) ++qp.q_counter->out_of_sequence;
  const bool first_gap = !r.nak_due && !r.nak_sent;
  if (first_gap || net::psn_distance(packet.psn, r.dropped_psn) > 0) r.dropped_psn = packet.psn;
  if (first_gap) nak(qp, net::aeth_nak | static_cast<std::uint8_t>(net::Nak::sequence_error));
  return false;
}

/// Executed already: only the answer is given again.
void Responder::duplicate(Qp& qp, const net::RocePacket& packet) noexcept {
  QpResponder& r = qp.transport.responder;
  if (qp.q_counter) ++qp.q_counter->duplicate_request;
  const RoceKind kind = packet.shape.kind;
  if (kind == RoceKind::send || kind == RoceKind::write) {
    if (!r.ack_due || net::psn_distance(packet.psn, r.ack_psn) > 0) r.ack_psn = packet.psn;
    r.ack_due = true;
    shared_.wake(qp);
    return;
  }
  for (std::uint32_t i = 0; i < r.resources.size(); ++i) {
    const ResponderResource& known = r.resources[i];
    const std::int32_t offset = net::psn_distance(packet.psn, known.psn);
    if (known.packets == 0 || known.kind != kind || offset < 0 ||
        offset >= static_cast<std::int32_t>(known.packets)) {
      continue;
    }
    PendingResponse again;
    again.resource = i;
    again.psn = packet.psn;
    again.msn = r.msn;
    again.packets = known.packets - static_cast<std::uint32_t>(offset);
    again.srqn = packet.srqn;
    if (kind == RoceKind::read_request) {
      const std::uint64_t rounded = std::uint64_t{packet.message_length} + qp.attributes.mtu() - 1;
      if (std::max<std::uint64_t>(1, rounded >> qp.attributes.log_mtu) != again.packets) return;
      again.length = packet.message_length;
      again.address = packet.address;
      again.rkey = packet.rkey;
    }
    remember(qp, again);
    return;
  }
}

/// Is this packet what may follow the one before it?
bool Responder::well_formed(Qp& qp, const net::RocePacket& packet) noexcept {
  QpResponder& r = qp.transport.responder;
  const net::RoceShape& shape = packet.shape;
  const bool data = shape.kind == RoceKind::send || shape.kind == RoceKind::write;
  const auto going_on =
      shape.kind == RoceKind::send ? QpResponder::Message::send : QpResponder::Message::write;
  const bool fits = shape.first ? r.message == QpResponder::Message::none : data && r.message == going_on;
  if (!fits) {
    refuse(qp, net::Nak::invalid_request, Fault::target_sequence, packet.opcode);
    return false;
  }
  if (!data) return true;
  const std::uint32_t mtu = qp.attributes.mtu();
  const std::uint32_t length = packet.payload_length;
  const bool right = shape.last ? length <= mtu && (shape.first || length != 0) : length == mtu;
  if (!right) {
    refuse(qp, net::Nak::invalid_request, Fault::target_length, length);
    return false;
  }
  return true;
}

/// The packet was executed.
void Responder::accept(Qp& qp, std::uint32_t packets, bool acknowledge) noexcept {
  QpResponder& r = qp.transport.responder;
  if (!is_reliable(qp.service)) return;
  r.ack_psn = r.expected_psn;
  r.ack_due = acknowledge;
  r.expected_psn = net::psn_add(r.expected_psn, packets);
  r.nak_sent = false;
  // Of a gap that is closed nothing is said; what came too early behind it was dropped, and is asked for.
  if (r.nak_due && net::psn_distance(r.expected_psn, r.dropped_psn) > 0) r.nak_due = false;
  shared_.wake(qp);
}

// ---- refusals ----

void Responder::nak(Qp& qp, std::uint8_t syndrome) noexcept {
  QpResponder& r = qp.transport.responder;
  r.nak_due = true;
  r.nak_syndrome = syndrome;
  shared_.wake(qp);
}

/// A message that needs a receive request, and there is none.
void Responder::not_ready(Qp& qp) noexcept {
  QpResponder& r = qp.transport.responder;
  if (qp.q_counter) ++qp.q_counter->out_of_buffer;
  if (worth_a_word(++qp.transport.dropped)) {
    report(shared_.card, Fault::receive_missing, qp.number, "QP 0x%x: %s (%s)", qp.number,
           info(Fault::receive_missing).meaning, name(qp.service));
  }
  if (is_reliable(qp.service)) {
    r.dropped_psn = r.expected_psn;
    nak(qp, static_cast<std::uint8_t>(net::aeth_rnr | (qp.attributes.min_rnr_nak & 0x1f)));
  } else {
    r.message = QpResponder::Message::none;
    r.message_lost = true;
  }
}

void Responder::refuse_key(Qp& qp, const DataOutcome& outcome, const net::RocePacket& packet) noexcept {
  report(shared_.card, Fault::target_key, qp.number,
         "QP 0x%x: a request of QP 0x%x is refused: rkey 0x%08x, address 0x%llx: %s%s", qp.number,
         qp.attributes.remote_qpn, outcome.detail, static_cast<unsigned long long>(packet.address),
         info(outcome.fault).meaning,
         key_advice(shared_.card, outcome.fault, outcome.detail, packet.address).text);
  refuse(qp, net::Nak::remote_access, Fault::none, 0);
}

void Responder::refuse(Qp& qp, net::Nak code, Fault fault, std::uint64_t detail) noexcept {
  if (fault != Fault::none) {
    report(shared_.card, fault, qp.number, "QP 0x%x: a request of QP 0x%x is refused: %s (0x%llx)", qp.number,
           qp.attributes.remote_qpn, info(fault).meaning, static_cast<unsigned long long>(detail));
  }
  QpResponder& r = qp.transport.responder;
  r.message = QpResponder::Message::none;
  if (!is_reliable(qp.service)) {
    r.message_lost = true;
    return;
  }
  if (qp.q_counter && code == net::Nak::remote_access) ++qp.q_counter->resp_remote_access_errors;
  nak(qp, net::aeth_nak | static_cast<std::uint8_t>(code));
  completions_.refused(qp, code == net::Nak::remote_access ? prm::event_type::wq_access_error
                                                           : prm::event_type::wq_invalid_request);
}

}  // namespace chime::model
