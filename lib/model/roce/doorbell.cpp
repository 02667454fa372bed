// SPDX-License-Identifier: BSD-3-Clause
#include "prm/doorbell.h"

#include <algorithm>

#include "model/datapath/report.h"
#include "model/datapath/send_doorbell.h"
#include "model/roce/roce.h"

/// Doorbells of queue pairs: what the record says is posted counts, as for send queues (datapath/transmit.h).

namespace chime::model {
void Roce::ring(Uar& uar, Qp& qp, std::uint16_t index, std::uint32_t ds) noexcept {
  if (qp.uar.get() != &uar) {
    report(shared_.card, Fault::doorbell_foreign_uar, qp.number,
           "QP 0x%x: doorbell on UAR 0x%x is ignored, the queue pair was created with 0x%x", qp.number,
           uar.number, qp.uar ? qp.uar->number : 0);
    return;
  }
  const bool takes = qp.state == QpState::rts || qp.state == QpState::sqd || qp.state == QpState::sqer ||
                     qp.state == QpState::err;
  if (!qp.has_send || !takes) {
    report(
        shared_.card, Fault::doorbell_queue_state, qp.number,
        "QP 0x%x: doorbell %u, but the queue pair is in %s: nothing can be posted to its send queue before "
        "RTS",
        qp.number, index, name(qp.state));
    return;
  }
  std::uint16_t recorded = 0;
  const DoorbellOwner owner{"QP", qp.number};
  if (!read_send_record(shared_.card, owner, qp.record, recorded)) return;
  constexpr std::uint32_t units = prm::wqebb_size / prm::wqe_unit;
  const std::uint32_t blocks = std::max(1u, (ds + units - 1) / units);
  compare_with_record(shared_.card, owner, qp.transport.requester, static_cast<std::uint16_t>(index + blocks),
                      recorded);
  post(qp, recorded);
}

void Roce::post(Qp& qp, std::uint16_t posted) noexcept {
  QpRequester& r = qp.transport.requester;
  // Blocks of requests that are not completed are not free either.
  const std::uint16_t oldest = r.head != r.tail ? r.window[r.head & (r.window.size() - 1)].index : r.fetched;
  const auto waiting = static_cast<std::uint16_t>(posted - oldest);
  if (waiting > qp.send.size()) {
    report(shared_.card, Fault::doorbell_overrun, qp.number,
           "QP 0x%x: record %u is %u blocks ahead of what was completed, the queue has %u", qp.number, posted,
           waiting, qp.send.size());
    if (qp.state == QpState::err) return;
    shared_.completions.begin_burst();
    completions_.event(qp, prm::event_type::wq_catastrophic_error);
    completions_.go_to_error(qp);
    return;
  }
  r.posted = posted;
  if (r.posted == r.fetched) return;
  if (qp.state == QpState::err || qp.state == QpState::sqer) {
    shared_.completions.begin_burst();
    completions_.flush(qp);
    return;
  }
  shared_.wake(qp);
}

void Roce::replay(Qp& qp) noexcept {
  std::uint16_t recorded = 0;
  const bool takes = qp.state == QpState::rts || qp.state == QpState::sqd || qp.state == QpState::sqer ||
                     qp.state == QpState::err;
  if (!qp.has_send || !takes || !read_send_record(shared_.card, {"QP", qp.number}, qp.record, recorded)) {
    return;
  }
  qp.transport.requester.awaits_announced = false;
  post(qp, recorded);
}

}  // namespace chime::model
