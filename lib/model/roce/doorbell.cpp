// SPDX-License-Identifier: BSD-3-Clause
#include "prm/doorbell.h"

#include <algorithm>

#include "model/datapath/report.h"
#include "model/roce/roce.h"

/// Doorbells of queue pairs: what the record says is posted counts, as for send queues (datapath/transmit.h).

namespace chime::model {
namespace {

constexpr std::int16_t ahead(std::uint16_t of, std::uint16_t index) noexcept {
  return static_cast<std::int16_t>(index - of);
}

}  // namespace

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
  if (!read_record(qp, recorded)) return;
  constexpr std::uint32_t units = prm::wqebb_size / prm::wqe_unit;
  const std::uint32_t blocks = std::max(1u, (ds + units - 1) / units);
  compare(qp, static_cast<std::uint16_t>(index + blocks), recorded);
  post(qp, recorded);
}

bool Roce::read_record(Qp& qp, std::uint16_t& posted) noexcept {
  const std::byte* record = qp.record.at(0, sizeof(prm::WqRecord));
  if (!record) {
    report(shared_.card, Fault::record_memory, qp.number, "QP 0x%x: the doorbell record is not host memory",
           qp.number);
    return false;
  }
  const auto* send = reinterpret_cast<const std::uint32_t*>(record + offsetof(prm::WqRecord, send));
  posted = static_cast<std::uint16_t>(prm::host_to_be(__atomic_load_n(send, __ATOMIC_ACQUIRE)));
  return true;
}

/// Says when doorbell and record disagree.
void Roce::compare(Qp& qp, std::uint16_t counter, std::uint16_t recorded) noexcept {
  QpRequester& r = qp.transport.requester;
  if (ahead(recorded, counter) > 0) {
    report(shared_.card, Fault::doorbell_ahead_of_record, qp.number,
           "QP 0x%x: doorbell counter %u ahead of record %u", qp.number, counter, recorded);
    return;
  }
  if (r.awaits_announced && ahead(counter, r.announced) <= 0) {
    r.awaits_announced = false;
    if (counter != r.announced) {
      report(shared_.card, Fault::doorbell_behind_record, qp.number,
             "QP 0x%x: the doorbell for record %u was behind it, and the next is %u already", qp.number,
             r.announced, counter);
    }
  }
  if (counter != recorded && !r.awaits_announced) {
    r.awaits_announced = true;
    r.announced = recorded;
  }
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
  if (!qp.has_send || !takes || !read_record(qp, recorded)) return;
  qp.transport.requester.awaits_announced = false;
  post(qp, recorded);
}

}  // namespace chime::model
