// SPDX-License-Identifier: BSD-3-Clause
#include "model/roce/qp_completions.h"

#include <algorithm>
#include <cstring>

#include "model/datapath/report.h"
#include "model/packet/bytes.h"
#include "model/roce/key_advice.h"
#include "prm/doorbell.h"
#include "prm/wqe.h"

namespace chime::model {
namespace {

constexpr auto ce_mask = static_cast<std::uint8_t>(prm::wqe_ce::always_and_eqe);
constexpr auto ce_always = static_cast<std::uint8_t>(prm::wqe_ce::always);
constexpr auto ce_first_error = static_cast<std::uint8_t>(prm::wqe_ce::on_first_error);

constexpr std::uint32_t short_inline = 32, long_inline = 64;
constexpr unsigned long_stride = 7;  ///< log2 of a CQE with room for 64 bytes before it

Cq& receive_cq_of(const Qp& qp, const Srq* srq) noexcept {
  return srq && srq->type == Srq::Type::xrc ? *srq->cq : *qp.receive_cq;
}
std::uint32_t user_index_of(const Qp& qp, const Srq* srq) noexcept {
  return srq && srq->type == Srq::Type::xrc ? srq->user_index : qp.user_index;
}

}  // namespace

bool QpCompletions::scatters_response(const Qp& qp, const SendEntry& entry) noexcept {
  if (qp.scatter_to_request_cqe == 0 || (entry.mode & ce_always) == 0) return false;
  const bool wide = qp.scatter_to_request_cqe >= long_inline && qp.send_cq->ring.log_stride == long_stride;
  return entry.length <= (wide ? long_inline : short_inline);
}

bool QpCompletions::scatters_receive(const Qp& qp, std::uint32_t length) noexcept {
  if (qp.scatter_to_receive_cqe == 0 || !qp.receive_cq) return false;
  const bool wide = qp.scatter_to_receive_cqe >= long_inline && qp.receive_cq->ring.log_stride == long_stride;
  return length <= (wide ? long_inline : short_inline);
}

/// Up to 32 bytes lie at the beginning of the CQE, up to 64 before it.
std::uint8_t QpCompletions::put_inline(const Cq& cq, prm::Cqe* cqe,
                                       std::span<const std::byte> data) noexcept {
  if (data.empty()) return 0;
  auto* const place = reinterpret_cast<std::byte*>(cqe);
  if (data.size() <= short_inline) {
    std::memcpy(place, data.data(), data.size());
    return prm::cqe_inline_32;
  }
  if (cq.ring.log_stride == long_stride) std::memcpy(place - prm::cqe_size, data.data(), data.size());
  return prm::cqe_inline_64;
}

void QpCompletions::send_done(Qp& qp, const SendEntry& entry, std::span<const std::byte> scattered) noexcept {
  if ((entry.mode & ce_always) == 0) return;
  Cq& cq = *qp.send_cq;
  prm::Cqe* const cqe = shared_.completions.open(cq);
  if (!cqe) [[unlikely]] {
    go_to_error(qp);
    return;
  }
  std::memset(cqe, 0, offsetof(prm::Cqe, sop_drop_qpn));
  cqe->srqn = qp.user_index;
  if (entry.responds) cqe->byte_cnt = entry.length;
  cqe->timestamp = shared_.completions.timestamp(qp.timestamp);
  const std::uint8_t format = put_inline(cq, cqe, scattered);
  shared_.completions.close(cq, cqe, static_cast<std::uint32_t>(entry.opcode) << 24 | qp.number, entry.index,
                            prm::cqe_opcode::requester, (entry.mode & ce_mask) == ce_mask, format);
}

void QpCompletions::receive_done(Qp& qp, const Received& received,
                                 std::span<const std::byte> scattered) noexcept {
  Srq* const srq = shared_.srq;
  const std::uint16_t index = take_index(qp, srq);
  Cq& cq = receive_cq_of(qp, srq);
  prm::Cqe* const cqe = shared_.completions.open(cq);
  if (!cqe) [[unlikely]] {
    go_to_error(qp);
    return;
  }
  std::memset(cqe, 0, offsetof(prm::Cqe, sop_drop_qpn));
  cqe->srqn = user_index_of(qp, srq);
  cqe->flags_rqpn = received.source_qpn | received.network_header;
  cqe->imm_inval_pkey = received.immediate;
  cqe->byte_cnt = received.length;
  cqe->timestamp = shared_.completions.timestamp(qp.timestamp);
  const std::uint8_t format = put_inline(cq, cqe, scattered);
  shared_.completions.close(cq, cqe, qp.number, index, received.opcode, received.solicited, format);
}

// ---- errors ----

void QpCompletions::send_error(Qp& qp, std::uint16_t index, std::uint32_t opcode, Fault fault) noexcept {
  if (qp.q_counter) {
    ++qp.q_counter->req_cqe_error;
    if (fault == Fault::flushed) ++qp.q_counter->req_cqe_flush_error;
  }
  shared_.completions.write_error(*qp.send_cq, prm::cqe_opcode::requester_error, fault,
                                  opcode << 24 | qp.number, index, qp.user_index);
}

void QpCompletions::receive_error(Qp& qp, Srq* srq, Fault fault) noexcept {
  if (qp.q_counter) {
    ++qp.q_counter->resp_cqe_error;
    if (fault == Fault::flushed) ++qp.q_counter->resp_cqe_flush_error;
  }
  shared_.completions.write_error(receive_cq_of(qp, srq), prm::cqe_opcode::responder_error, fault, qp.number,
                                  take_index(qp, srq), user_index_of(qp, srq));
}

void QpCompletions::send_failed(Qp& qp, Fault fault, std::uint32_t detail) noexcept {
  QpRequester& r = qp.transport.requester;
  const SendEntry entry = r.window[r.head & (r.window.size() - 1)];
  const auto opcode = static_cast<std::uint32_t>(entry.opcode);
  report(shared_.card, fault, qp.number, "QP 0x%x: request %u (opcode 0x%02x): %s (0x%x%s)", qp.number,
         entry.index, opcode, info(fault).meaning, detail, key_advice(shared_.card, fault, detail, 0).text);
  send_error(qp, entry.index, opcode, fault);
  ++r.head;
  if (entry.responds) --r.responding;
  if (is_reliable(qp.service)) {
    go_to_error(qp);
    return;
  }
  // An unreliable QP goes on receiving.
  qp.state = QpState::sqer;
  flush_send(qp);
}

void QpCompletions::receive_failed(Qp& qp, Fault fault, std::uint32_t detail) noexcept {
  report(shared_.card, fault, qp.number, "QP 0x%x: receive request %u: %s (0x%x%s)", qp.number,
         shared_.srq ? qp.transport.responder.held_index : qp.transport.responder.consumed,
         info(fault).meaning, detail, key_advice(shared_.card, fault, detail, 0).text);
  receive_error(qp, shared_.srq, fault);
  go_to_error(qp);
}

void QpCompletions::refused(Qp& qp, prm::event_type type) noexcept {
  event(qp, type);
  go_to_error(qp);
}

void QpCompletions::go_to_error(Qp& qp) noexcept {
  if (qp.state == QpState::err) return;
  qp.state = QpState::err;
  flush(qp);
}

void QpCompletions::flush(Qp& qp) noexcept {
  flush_send(qp);
  flush_receive(qp);
}

void QpCompletions::flush_send(Qp& qp) noexcept {
  QpRequester& r = qp.transport.requester;
  r.deadline = 0;
  r.waits_for_timer = false;
  for (; r.head != r.tail; ++r.head) {
    const SendEntry& entry = r.window[r.head & (r.window.size() - 1)];
    if ((entry.mode & ce_mask) == ce_first_error) continue;
    send_error(qp, entry.index, static_cast<std::uint32_t>(entry.opcode), Fault::flushed);
  }
  r.cursor = r.tail;
  r.cursor_packet = r.in_flight = r.responding = 0;
  while (qp.has_send && r.fetched != r.posted) {
    const std::byte* const wqe = qp.send.at(r.fetched);
    if (!wqe) {
      r.fetched = r.posted;
      return;
    }
    constexpr std::uint32_t units = prm::wqebb_size / prm::wqe_unit;
    const auto& ctrl = *reinterpret_cast<const prm::WqeCtrl*>(wqe);
    const std::uint32_t left = static_cast<std::uint16_t>(r.posted - r.fetched);
    const std::uint32_t blocks = ((ctrl.qpn_ds & prm::max_ds) + units - 1) / units;
    if ((ctrl.fm_ce_se & ce_mask) != ce_first_error) {
      send_error(qp, r.fetched, ctrl.opmod_idx_opcode & 0xff, Fault::flushed);
    }
    r.fetched = static_cast<std::uint16_t>(r.fetched + std::clamp(blocks, 1u, left));
  }
}

void QpCompletions::flush_receive(Qp& qp) noexcept {
  QpResponder& responder = qp.transport.responder;
  responder.message = QpResponder::Message::none;
  if (responder.holds) {
    Srq* const srq = shared_.card.srqs.find(responder.held_srqn);
    if (srq) receive_error(qp, srq, Fault::flushed);
    responder.holds = false;
  }
  // What others may use stays; software hears that this queue pair takes no more.
  if (qp.srq) event(qp, prm::event_type::last_wqe_reached);
  if (!qp.has_receive) return;
  while (has_own_receive(qp)) receive_error(qp, nullptr, Fault::flushed);
}

// ---- receive requests ----

/// The request in turn is used up.
std::uint16_t QpCompletions::take_index(Qp& qp, const Srq* srq) noexcept {
  QpResponder& r = qp.transport.responder;
  if (!srq) return r.consumed++;
  r.holds = false;
  return r.held_index;
}

bool QpCompletions::has_receive(Qp& qp) noexcept {
  return shared_.srq ? take_shared(qp, *shared_.srq) : has_own_receive(qp);
}

void QpCompletions::read_shared_record(Srq& srq) noexcept {
  const std::byte* record = srq.record.at(0, sizeof(std::uint32_t));
  if (!record) {
    report(shared_.card, Fault::record_memory, srq.number, "SRQ 0x%x: the doorbell record is not host memory",
           srq.number);
    return;
  }
  const std::uint32_t word =
      __atomic_load_n(reinterpret_cast<const std::uint32_t*>(record), __ATOMIC_ACQUIRE);
  const auto posted = static_cast<std::uint16_t>(prm::host_to_be(word));
  if (static_cast<std::uint16_t>(posted - srq.taken) > srq.ring.size()) {
    report(shared_.card, Fault::rq_record, srq.number,
           "SRQ 0x%x: receive record %u is more than the queue's %u requests ahead of %u, which were taken",
           srq.number, posted, srq.ring.size(), srq.taken);
    return;
  }
  srq.posted = posted;
}

bool QpCompletions::take_shared(Qp& qp, Srq& srq) noexcept {
  QpResponder& r = qp.transport.responder;
  if (r.holds) return true;
  if (srq.failed) return false;
  if (srq.taken == srq.posted) read_shared_record(srq);
  if (srq.taken == srq.posted) return false;
  const std::byte* const wqe = srq.ring.at(srq.head);
  if (!wqe) {
    report(shared_.card, Fault::wqe_memory, srq.number, "SRQ 0x%x: request %u: %s", srq.number, srq.head,
           info(Fault::wqe_memory).meaning);
    srq.failed = true;
    event(prm::event_type::srq_catastrophic_error, srq.number);
    return false;
  }
  r.holds = true;
  r.held_index = srq.head;
  r.held_srqn = srq.number;
  const std::uint16_t next = reinterpret_cast<const prm::WqeNext*>(wqe)->next_wqe_index;
  srq.head = static_cast<std::uint16_t>(next & srq.ring.mask());
  ++srq.taken;
  if (srq.limit != 0 && static_cast<std::uint16_t>(srq.posted - srq.taken) < srq.limit) {
    read_shared_record(srq);
    if (static_cast<std::uint16_t>(srq.posted - srq.taken) < srq.limit) {
      srq.limit = 0;
      event(prm::event_type::srq_rq_limit, srq.number);
    }
  }
  return true;
}

bool QpCompletions::has_own_receive(Qp& qp) noexcept {
  QpResponder& r = qp.transport.responder;
  if (r.consumed != r.posted) return true;
  if (!qp.has_receive) return false;
  const std::byte* record = qp.record.at(0, sizeof(prm::WqRecord));
  if (!record) {
    report(shared_.card, Fault::record_memory, qp.number, "QP 0x%x: the doorbell record is not host memory",
           qp.number);
    return false;
  }
  const auto* receive = reinterpret_cast<const std::uint32_t*>(record + offsetof(prm::WqRecord, receive));
  const auto posted = static_cast<std::uint16_t>(prm::host_to_be(__atomic_load_n(receive, __ATOMIC_ACQUIRE)));
  const auto waiting = static_cast<std::uint16_t>(posted - r.consumed);
  if (waiting > qp.receive.size()) {
    report(shared_.card, Fault::rq_record, qp.number,
           "QP 0x%x: receive record %u is %u requests ahead of what was consumed, the queue has %u",
           qp.number, posted, waiting, qp.receive.size());
    return false;
  }
  r.posted = posted;
  return waiting != 0;
}

void QpCompletions::event(const Qp& qp, prm::event_type type) noexcept {
  event(type, qp.number);
}

void QpCompletions::event(prm::event_type type, std::uint32_t number) noexcept {
  EventData data{};
  data[prm::eqe_number] = number;
  shared_.events.raise(type, 0, data);
}

}  // namespace chime::model
