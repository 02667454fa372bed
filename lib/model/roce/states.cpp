// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <bit>

#include "model/datapath/report.h"
#include "model/datapath/send_doorbell.h"
#include "model/roce/roce.h"
#include "model/roce/route.h"

/// What transitions of a queue pair mean for its transport.

namespace chime::model {
namespace {

/// Requests under way at once; more wait in the ring.
constexpr std::uint32_t largest_window = 256;

std::uint32_t result_room_of(prm::atomic_mode mode) noexcept {
  if (mode == prm::atomic_mode::none) return 0;
  if (mode <= prm::atomic_mode::up_to_8b) return 8;
  return 8u << (static_cast<unsigned>(mode) - static_cast<unsigned>(prm::atomic_mode::up_to_8b));
}

bool sends(QpState state) noexcept {
  return state == QpState::rts || state == QpState::sqd;
}

}  // namespace

Result<> Roce::prepare(Qp& qp, QpState to, const QpAttributes& next) noexcept {
  if (to != QpState::rtr && to != QpState::rts) return {};
  QpTransport& t = qp.transport;
  if (qp.has_send && t.requester.window.empty()) {
    auto window = Array<SendEntry>::make(std::min(qp.send.size(), largest_window),
                                         "requests under way of a queue pair");
    if (!window) return fail(window.error());
    t.requester.window = std::move(*window);
  }
  if (!is_reliable(qp.service) || (to != QpState::rtr && qp.state != QpState::rtr)) return {};
  const std::size_t count = std::size_t{1} << next.log_rra_max;
  const std::uint32_t room = result_room_of(next.atomic_mode);
  if (t.responder.resources.size() == count && t.responder.result_room == room) return {};
  auto resources = Array<ResponderResource>::make(count, "responder resources of a queue pair");
  if (!resources) return fail(resources.error());
  auto results = Array<std::byte>::make(count * room, "atomic results of a queue pair");
  if (!results) return fail(results.error());
  auto pending = Array<PendingResponse>::make(2 * count, "responses of a queue pair");
  if (!pending) return fail(pending.error());
  t.responder.resources = std::move(*resources);
  t.responder.results = std::move(*results);
  t.responder.result_room = room;
  t.responder.pending = std::move(*pending);
  t.responder.pending_head = t.responder.pending_tail = t.responder.next_resource = 0;
  return {};
}

/// Indices, sequence and all; the arrays stay.
void Roce::reset(Qp& qp) noexcept {
  QpTransport& t = qp.transport;
  shared_.sleep(qp);
  shared_.timers.forget(qp);
  QpRequester requester;
  requester.window = std::move(t.requester.window);
  t.requester = std::move(requester);
  QpResponder responder;
  responder.resources = std::move(t.responder.resources);
  responder.results = std::move(t.responder.results);
  responder.result_room = t.responder.result_room;
  responder.pending = std::move(t.responder.pending);
  for (ResponderResource& resource : responder.resources) resource = {};
  t.responder = std::move(responder);
  t.route_ok = false;
}

void Roce::state_changed(Qp& qp, QpState from) noexcept {
  QpTransport& t = qp.transport;
  const QpAttributes& a = qp.attributes;
  shared_.completions.begin_burst();
  shared_.keys.forget();
  if (qp.state == QpState::reset || (from == QpState::reset && qp.state == QpState::init)) {
    reset(qp);
    return;
  }
  if (qp.state == QpState::err) {
    // What the other end waits for is not sent any more.
    t.responder.pending_head = t.responder.pending_tail;
    t.responder.ack_due = t.responder.nak_due = false;
    std::uint16_t posted = 0;
    if (qp.has_send && sends(from) && read_send_record(shared_.card, {"QP", qp.number}, qp.record, posted)) {
      const auto waiting = static_cast<std::uint16_t>(posted - t.requester.fetched);
      if (waiting <= qp.send.size()) t.requester.posted = posted;
    }
    completions_.flush(qp);
    return;
  }
  if (from == QpState::init && qp.state == QpState::rtr) {
    t.responder.expected_psn = a.next_receive_psn & net::psn_mask;
  }
  if (from == QpState::rtr && qp.state == QpState::rts) {
    t.requester.next_psn = t.requester.sent_psn = a.next_send_psn & net::psn_mask;
  }
  if (qp.state == QpState::rts) {
    t.requester.retries_left = a.retry_count;
    t.requester.rnr_retries_left = a.rnr_retry;
    if (from == QpState::sqd || from == QpState::sqer) shared_.wake(qp);
  }
  t.requester.drain_due = from == QpState::rts && qp.state == QpState::sqd;
  if (t.requester.drain_due) shared_.wake(qp);
  t.route_ok = is_connected(qp.service) && connected_route(shared_.card, a.path, t.route);
  if (!t.route_ok && is_connected(qp.service) && from == QpState::init && qp.state == QpState::rtr) {
    report(shared_.card, Fault::qp_address, qp.number,
           "QP 0x%x: src_addr_index %u names no RoCE v2 address of the port: nothing can be sent", qp.number,
           a.path.gid_index);
  }
}

void Roce::forget(Qp& qp) noexcept {
  shared_.sleep(qp);
  shared_.timers.forget(qp);
}

}  // namespace chime::model
