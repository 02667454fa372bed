// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstring>

#include "model/datapath/report.h"
#include "model/roce/requester.h"

/// The requester's other half: what acknowledgements, responses and timers do to the window.

namespace chime::model {
namespace {

constexpr std::uint64_t ack_timeout_unit = 4096;  ///< nanoseconds
constexpr std::uint8_t retry_for_ever = 7;        ///< rnr_retry

/// The AETH's RNR timer, 10 us.
constexpr std::uint16_t rnr_times[32] = {
    65535, 1,   2,   3,   4,    6,    8,    12,   16,   24,   32,   48,    64,    96,    128,   192,
    256,   384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};
constexpr std::uint64_t rnr_unit = 10'000;
constexpr std::uint64_t rnr_longest = 655'360'000;  ///< number 0

std::uint64_t rnr_nanoseconds(std::uint8_t number) noexcept {
  return (number & 0x1f) == 0 ? rnr_longest : rnr_times[number & 0x1f] * rnr_unit;
}

}  // namespace

void Requester::receive(Qp& qp, const net::RocePacket& packet, const std::byte* payload) noexcept {
  QpRequester& r = qp.transport.requester;
  if ((qp.state != QpState::rts && qp.state != QpState::sqd) || r.head == r.tail) return;
  const SendEntry& oldest = entry(r, r.head);
  const bool ghost = net::psn_distance(packet.psn, r.sent_psn) >= 0;
  const bool old = net::psn_distance(packet.psn, net::psn_add(oldest.first_psn, oldest.done)) < 0;
  if (ghost || old) return;
  switch (packet.shape.kind) {
    case net::RoceKind::acknowledge:
      acknowledged(qp, packet);
      break;
    case net::RoceKind::read_response:
      read_response(qp, packet, payload);
      break;
    default:
      atomic_response(qp, packet, payload);
      break;
  }
  if (qp.state == QpState::rts || qp.state == QpState::sqd) {
    const bool drained = r.drain_due && r.head == r.tail;
    if (drained || (!r.waits_for_timer && (r.cursor != r.tail || r.fetched != r.posted))) shared_.wake(qp);
  }
}

/// All before `psn` has arrived at the other end.
/// @param missing set when a read or atomic before it has no response yet: nothing behind is settled
/// @return whether the QP still works
bool Requester::settle(Qp& qp, std::uint32_t psn, bool& missing) noexcept {
  QpRequester& r = qp.transport.requester;
  missing = false;
  bool moved = false;
  while (r.head != r.tail) {
    SendEntry& e = entry(r, r.head);
    if (e.fault == Fault::none && e.packets != 0) {
      const std::int32_t ahead = net::psn_distance(psn, net::psn_add(e.first_psn, e.done));
      if (ahead <= 0) break;
      if (e.responds) {
        missing = true;
        break;
      }
      const std::uint32_t count = std::min(static_cast<std::uint32_t>(ahead), e.packets - e.done);
      e.done += count;
      r.in_flight -= std::min(r.in_flight, count);
      moved = true;
      if (e.done != e.packets) break;
    }
    const std::uint32_t head = r.head;
    retire(qp);
    if (qp.state == QpState::err || r.head == head) break;
  }
  if (moved) progress(qp);
  return qp.state != QpState::err;
}

/// Completes what is done at the window's head.
void Requester::retire(Qp& qp) noexcept {
  QpRequester& r = qp.transport.requester;
  const std::uint32_t before = r.head;
  while (r.head != r.tail) {
    const SendEntry& e = entry(r, r.head);
    if (e.fault != Fault::none) {
      completions_.send_failed(qp, e.fault, e.detail);
      return;
    }
    const bool begun = r.head != r.cursor || e.packets != 0;
    if (e.done != e.packets || !begun) break;
    ++r.head;
    if (e.responds) --r.responding;
    completions_.send_done(qp, e);
    if (qp.state == QpState::err) return;
  }
  if (r.head != before) progress(qp);
}

/// The cursor never stays behind what has arrived.
void Requester::progress(Qp& qp) noexcept {
  QpRequester& r = qp.transport.requester;
  if (static_cast<std::int32_t>(r.cursor - r.head) < 0) {
    r.cursor = r.head;
    r.cursor_packet = 0;
  }
  if (r.cursor == r.head && r.head != r.tail) {
    const SendEntry& e = entry(r, r.head);
    r.cursor_packet = std::max(r.cursor_packet, e.done);
    if (e.packets != 0 && r.cursor_packet >= e.packets) {
      ++r.cursor;
      r.cursor_packet = 0;
    }
  }
  if (!is_reliable(qp.service)) return;
  r.retries_left = qp.attributes.retry_count;
  r.rnr_retries_left = qp.attributes.rnr_retry;
  r.gap_seen = false;
  restart_timer(qp);
}

void Requester::restart_timer(Qp& qp) noexcept {
  QpRequester& r = qp.transport.requester;
  if (r.waits_for_timer) return;
  const bool outstanding = r.head != r.cursor || r.cursor_packet != 0;
  const std::uint8_t exponent = qp.attributes.path.ack_timeout & 0x1f;
  if (!outstanding || exponent == 0) {
    r.deadline = 0;
    return;
  }
  r.deadline = shared_.completions.now() + (ack_timeout_unit << exponent);
  shared_.timers.set(qp);
}

/// Sends again from the first packet that is missing.
void Requester::go_back(Qp& qp) noexcept {
  QpRequester& r = qp.transport.requester;
  r.cursor = r.head;
  r.cursor_packet = r.head != r.tail ? entry(r, r.head).done : 0;
  r.in_flight = 0;
  shared_.wake(qp);
}

void Requester::retry(Qp& qp) noexcept {
  QpRequester& r = qp.transport.requester;
  if (r.retries_left == 0) {
    completions_.send_failed(qp, Fault::retries_exceeded, qp.attributes.remote_qpn);
    return;
  }
  --r.retries_left;
  go_back(qp);
  restart_timer(qp);
}

void Requester::timeout(Qp& qp) noexcept {
  QpRequester& r = qp.transport.requester;
  r.deadline = 0;
  if (qp.state != QpState::rts && qp.state != QpState::sqd) return;
  if (r.waits_for_timer) {
    r.waits_for_timer = false;
    go_back(qp);
    return;
  }
  if (r.head == r.tail) return;
  if (qp.q_counter) ++qp.q_counter->local_ack_timeout_err;
  r.gap_seen = false;
  const bool nothing_sent = r.head == r.cursor && r.cursor_packet == 0;
  if (nothing_sent) return;
  retry(qp);
}

// ---- acknowledgements ----

void Requester::acknowledged(Qp& qp, const net::RocePacket& packet) noexcept {
  bool missing = false;
  switch (packet.syndrome & 0x60) {
    case 0:
      // One for a read or atomic itself says nothing: its response is waited for.
      if (!settle(qp, net::psn_add(packet.psn, 1), missing)) return;
      if (missing) {
        QpRequester& r = qp.transport.requester;
        const SendEntry& e = entry(r, r.head);
        if (net::psn_distance(packet.psn, net::psn_add(e.first_psn, e.packets)) >= 0) response_missing(qp);
      }
      return;
    case net::aeth_rnr:
      if (!settle(qp, packet.psn, missing)) return;
      missing ? response_missing(qp) : not_ready(qp, packet.syndrome & 0x1f);
      return;
    case net::aeth_nak:
      if (!settle(qp, packet.psn, missing)) return;
      missing ? response_missing(qp) : refused(qp, packet);
      return;
    default:
      return;
  }
}

/// Something behind a read or atomic was answered: its own response is lost. Once until there is progress:
/// all that were under way say the same.
void Requester::response_missing(Qp& qp) noexcept {
  QpRequester& r = qp.transport.requester;
  if (r.gap_seen) return;
  r.gap_seen = true;
  if (qp.q_counter) ++qp.q_counter->implied_nak_seq_err;
  retry(qp);
}

void Requester::not_ready(Qp& qp, std::uint8_t timer) noexcept {
  QpRequester& r = qp.transport.requester;
  if (r.head == r.tail || r.waits_for_timer) return;
  if (qp.q_counter) ++qp.q_counter->rnr_nak_retry_err;
  if (qp.attributes.rnr_retry != retry_for_ever) {
    if (r.rnr_retries_left == 0) {
      completions_.send_failed(qp, Fault::rnr_retries_exceeded, qp.attributes.rnr_retry);
      return;
    }
    --r.rnr_retries_left;
  }
  go_back(qp);
  r.waits_for_timer = true;
  r.deadline = shared_.completions.now() + rnr_nanoseconds(timer);
  shared_.timers.set(qp);
}

void Requester::refused(Qp& qp, const net::RocePacket& packet) noexcept {
  QpRequester& r = qp.transport.requester;
  if (r.head == r.tail) return;
  const SendEntry& e = entry(r, r.head);
  switch (static_cast<net::Nak>(packet.syndrome & 0x1f)) {
    case net::Nak::sequence_error:
      if (qp.q_counter) ++qp.q_counter->packet_seq_err;
      retry(qp);
      return;
    case net::Nak::invalid_request: {
      if (qp.q_counter) ++qp.q_counter->req_remote_invalid_request;
      SendWqe& wqe = shared_.answered;
      const bool known = read_send_wqe(shared_.card, qp, e.index, wqe).fault == Fault::none;
      const bool misaligned = known && wqe.atomic && wqe.address % wqe.atomic_size != 0;
      completions_.send_failed(qp, misaligned ? Fault::remote_misaligned : Fault::remote_invalid_request,
                               misaligned ? static_cast<std::uint32_t>(wqe.address) : e.first_psn);
      return;
    }
    case net::Nak::remote_access: {
      if (qp.q_counter) ++qp.q_counter->req_remote_access_errors;
      SendWqe& wqe = shared_.answered;
      const bool known = read_send_wqe(shared_.card, qp, e.index, wqe).fault == Fault::none;
      completions_.send_failed(qp, Fault::remote_access, known ? wqe.rkey : 0);
      return;
    }
    case net::Nak::remote_operation:
      completions_.send_failed(qp, Fault::remote_operation, e.first_psn);
      return;
    default:
      completions_.send_failed(qp, Fault::bad_response, packet.syndrome);
      return;
  }
}

// ---- responses ----

void Requester::read_response(Qp& qp, const net::RocePacket& packet, const std::byte* payload) noexcept {
  QpRequester& r = qp.transport.requester;
  bool missing = false;
  if (!settle(qp, packet.psn, missing) || r.head == r.tail) return;
  SendEntry& e = entry(r, r.head);
  if (!e.responds || e.opcode != prm::wqe_opcode::rdma_read) {
    if (!missing) return;
  }
  const std::int32_t ahead = net::psn_distance(packet.psn, net::psn_add(e.first_psn, e.done));
  if (ahead < 0) return;
  if (ahead > 0 || missing) {
    response_missing(qp);
    return;
  }
  const std::uint32_t mtu = qp.attributes.mtu();
  const std::uint32_t offset = e.done << qp.attributes.log_mtu;
  const bool last = e.done + 1 == e.packets;
  const std::uint32_t expected = last ? e.length - offset : mtu;
  if (packet.payload_length != expected || packet.shape.last != last) {
    completions_.send_failed(qp, Fault::bad_response, packet.payload_length);
    return;
  }
  const bool to_cqe = QpCompletions::scatters_response(qp, e);
  if (!to_cqe && expected != 0) {
    SendWqe& wqe = shared_.answered;
    DataOutcome outcome = read_send_wqe(shared_.card, qp, e.index, wqe);
    if (outcome.fault == Fault::none)
      outcome = shared_.mover.scatter(qp, qp.pd.get(), wqe.data, offset, payload, expected);
    if (outcome.fault != Fault::none) {
      completions_.send_failed(qp, outcome.fault, outcome.detail);
      return;
    }
  }
  ++e.done;
  if (!last) {
    progress(qp);
    return;
  }
  ++r.head;
  --r.responding;
  completions_.send_done(qp, e, to_cqe ? std::span(payload, expected) : std::span<const std::byte>{});
  if (qp.state == QpState::err) return;
  progress(qp);
  retire(qp);
}

void Requester::atomic_response(Qp& qp, const net::RocePacket& packet, const std::byte* payload) noexcept {
  QpRequester& r = qp.transport.requester;
  bool missing = false;
  if (!settle(qp, packet.psn, missing) || r.head == r.tail) return;
  SendEntry& e = entry(r, r.head);
  if (missing || packet.psn != e.first_psn) {
    if (missing) response_missing(qp);
    return;
  }
  if (!e.responds || e.opcode == prm::wqe_opcode::rdma_read) return;
  std::byte value[largest_atomic];
  const bool extended = packet.shape.kind == net::RoceKind::extended_acknowledge;
  const std::uint32_t length = extended ? packet.payload_length : sizeof packet.original;
  if (length != e.length) {
    completions_.send_failed(qp, Fault::bad_response, length);
    return;
  }
  if (extended) {
    std::memcpy(value, payload, length);
  } else {
    const std::uint64_t original = prm::host_to_be(packet.original);
    std::memcpy(value, &original, sizeof original);
  }
  const bool to_cqe = QpCompletions::scatters_response(qp, e);
  if (!to_cqe) {
    if (length == sizeof(std::uint64_t) && atomic_mode_1(shared_.card))
      reorder_atomic(value, length, AtomicOrder::host);
    SendWqe& wqe = shared_.answered;
    DataOutcome outcome = read_send_wqe(shared_.card, qp, e.index, wqe);
    if (outcome.fault == Fault::none)
      outcome = shared_.mover.scatter(qp, qp.pd.get(), wqe.data, 0, value, length);
    if (outcome.fault != Fault::none) {
      completions_.send_failed(qp, outcome.fault, outcome.detail);
      return;
    }
  }
  e.done = e.packets;
  ++r.head;
  --r.responding;
  completions_.send_done(qp, e,
                         to_cqe ? std::span<const std::byte>(value, length) : std::span<const std::byte>{});
  if (qp.state == QpState::err) return;
  progress(qp);
  retire(qp);
}

}  // namespace chime::model
