// SPDX-License-Identifier: BSD-3-Clause
#include "model/datapath/completions.h"

#include <cstring>
#include <utility>

#include "model/datapath/report.h"
#include "prm/doorbell.h"

namespace chime::model {
namespace {

constexpr std::uint64_t ns_in_ms = 1'000'000;
constexpr std::uint64_t ns_in_s = 1'000'000'000;
constexpr std::uint64_t ns_in_us = 1'000;

static_assert(offsetof(prm::Cqe, sop_drop_qpn) == prm::cqe_size - 8 &&
              offsetof(prm::ErrorCqe, s_wqe_opcode_qpn) == prm::cqe_size - 8);

/// Of a CQ error event.
constexpr std::uint32_t overrun = 1, access_violation = 2;

std::uint32_t load_be32(const std::byte* at) noexcept {
  return prm::host_to_be(__atomic_load_n(reinterpret_cast<const std::uint32_t*>(at), __ATOMIC_ACQUIRE));
}

}  // namespace

Completions::Completions(Hca::Card& card, Events& events) noexcept
    : card_(card),
      events_(events),
      khz_(card.capabilities.general().get(prm::cmd_hca_cap::device_frequency_khz)) {
  if (khz_ == 0) khz_ = 1'000'000;
}

void Completions::begin_burst() noexcept {
  now_ = card_.around.clock.nanoseconds();
  counter_ = khz_ == 1'000'000 ? now_ : now_ / ns_in_ms * khz_ + now_ % ns_in_ms * khz_ / ns_in_ms;
}

std::uint64_t Completions::timestamp(TimestampFormat format) const noexcept {
  if (format == TimestampFormat::real_time) return now_ / ns_in_s << 32 | now_ % ns_in_s;
  return counter_;
}

bool Completions::write_error(Cq& cq, prm::cqe_opcode opcode, Fault fault, std::uint32_t wqe_opcode_qpn,
                              std::uint16_t wqe_counter, std::uint32_t user_index) noexcept {
  prm::Cqe* const cqe = open(cq);
  if (!cqe) return false;
  prm::ErrorCqe error{};
  error.srqn = user_index;
  error.vendor_err_synd = static_cast<std::uint8_t>(fault);
  error.syndrome = static_cast<std::uint8_t>(info(fault).syndrome);
  std::memcpy(cqe, &error, offsetof(prm::ErrorCqe, s_wqe_opcode_qpn));
  close(cq, cqe, wqe_opcode_qpn, wqe_counter, opcode, true);
  return true;
}

bool Completions::resize(Cq& cq, Ring next) noexcept {
  if (cq.state != Cq::State::ok || !has_room(cq, 1)) return false;
  prm::Cqe* const cqe = open(cq);
  if (!cqe) return false;
  std::memset(cqe, 0, offsetof(prm::Cqe, sop_drop_qpn));
  // It is no completion: nobody is told.
  const Cq::Arm arm = std::exchange(cq.arm, Cq::Arm::none);
  close(cq, cqe, 0, 0, prm::cqe_opcode::resize_cq);
  cq.arm = arm;
  cq.ring = std::move(next);
  return true;
}

void Completions::read_consumer(Cq& cq) noexcept {
  const std::byte* record = cq.record.at(0, sizeof(prm::CqRecord));
  if (!record) {
    report(card_, Fault::record_memory, cq.number, "CQ 0x%x: the doorbell record is not host memory",
           cq.number);
    return;
  }
  const std::uint32_t consumer = load_be32(record) & index_mask;
  const std::uint32_t waiting = (cq.producer - consumer) & index_mask;
  if (waiting > ((cq.producer - cq.consumer) & index_mask)) {
    report(card_, Fault::cq_consumer, cq.number,
           "CQ 0x%x: consumer index %u in the doorbell record is not between %u and %u", cq.number, consumer,
           cq.consumer & index_mask, cq.producer & index_mask);
    return;
  }
  cq.consumer = cq.producer - waiting;
}

bool Completions::make_room(Cq& cq) noexcept {
  if (cq.overrun_ignore || cq.collapsed) return true;
  read_consumer(cq);
  if (((cq.producer - cq.consumer) & index_mask) < cq.ring.size()) return true;
  report(card_, Fault::cq_overflow, cq.number,
         "CQ 0x%x: all %u CQEs are unconsumed (consumer index %u), the next has no room", cq.number,
         cq.ring.size(), cq.consumer & index_mask);
  fail(cq, Cq::State::overflow, overrun);
  return false;
}

std::byte* Completions::memory_gone(Cq& cq) noexcept {
  report(card_, Fault::cq_memory, cq.number, "CQ 0x%x: element %u is not host memory", cq.number,
         cq.producer & cq.ring.mask());
  fail(cq, Cq::State::write_failure, access_violation);
  return nullptr;
}

void Completions::fail(Cq& cq, Cq::State state, std::uint32_t syndrome) noexcept {
  cq.state = state;
  EventData data{};
  data[0] = cq.number;
  data[2] = syndrome;
  events_.raise(prm::event_type::cq_error, 0, data);
}

void Completions::ring(Uar& uar, std::uint64_t value) noexcept {
  const std::uint64_t words = prm::host_to_be(value);
  const std::uint32_t number = words & index_mask;
  const auto word = static_cast<std::uint32_t>(words >> 32);
  Cq* const cq = card_.cqs.find(number);
  if (!cq) {
    report(card_, Fault::doorbell_unknown_queue, number,
           "UAR 0x%x: doorbell for CQ 0x%x, which does not exist", uar.number, number);
    return;
  }
  if (cq->uar.get() != &uar) {
    report(card_, Fault::doorbell_foreign_uar, number,
           "CQ 0x%x: doorbell on UAR 0x%x is ignored, the CQ was created with 0x%x", number, uar.number,
           cq->uar ? cq->uar->number : 0);
    return;
  }
  const std::byte* record = cq->record.at(0, sizeof(prm::CqRecord));
  if (record) {
    // The record may be ahead (of the next doorbell), never behind.
    const std::uint32_t recorded = load_be32(record + offsetof(prm::CqRecord, arm));
    const std::uint32_t behind = (word - recorded) & index_mask;
    if (behind != 0 && behind < index_mask / 2) {
      report(card_, Fault::cq_arm_record, number,
             "CQ 0x%x: arm doorbell 0x%08x, but the arm record says 0x%08x", number, word, recorded);
    }
  }
  arm(*cq, word);
}

void Completions::replay(Cq& cq) noexcept {
  const std::byte* record = cq.record.at(0, sizeof(prm::CqRecord));
  if (!record) return;
  const std::uint32_t word = load_be32(record + offsetof(prm::CqRecord, arm));
  const bool never_armed = cq.arm == Cq::Arm::none && word != 0;
  const bool armed_again = cq.arm == Cq::Arm::fired && (word >> 28 & 3) != cq.arm_sequence;
  if (never_armed || armed_again) arm(cq, word);
}

void Completions::arm(Cq& cq, std::uint32_t word) noexcept {
  const std::uint32_t sequence = word >> 28 & 3;
  const bool solicited = (word & static_cast<std::uint32_t>(prm::cq_arm::solicited)) != 0;
  if (cq.arm == Cq::Arm::fired && sequence == cq.arm_sequence) {
    // Software that has not come to the event yet may arm as before: it will look when it does.
    if (!cq.eq || cq.eq->consumer == cq.eq->producer)
      report(card_, Fault::cq_stale_arm, cq.number,
             "CQ 0x%x: arm with sequence number %u, which has fired already", cq.number, sequence);
    return;
  }
  cq.arm_sequence = sequence;
  cq.arm = solicited ? Cq::Arm::solicited : Cq::Arm::any;
  // What came since software looked last is worth an event at once.
  const std::uint32_t unseen = (cq.producer - word) & index_mask;
  const std::uint32_t since_solicited = (cq.producer - cq.solicited) & index_mask;
  if (unseen != 0 && (!solicited || unseen > since_solicited)) fire(cq);
}

void Completions::event_due(Cq& cq) noexcept {
  if (cq.period == 0 && cq.max_count == 0) {
    fire(cq);
    return;
  }
  ++cq.moderated_count;
  if (cq.max_count != 0 && cq.moderated_count >= cq.max_count) {
    fire(cq);
    return;
  }
  if (cq.period == 0) return;
  if (cq.period_mode == 1) {
    cq.moderated_since = now_;  // starts again with every CQE
  } else if (now_ - cq.moderated_since >= cq.period * ns_in_us) {
    fire(cq);
    return;
  }
  if (!cq.pending) {
    cq.pending = true;
    cq.next_pending = pending_;
    pending_ = &cq;
  }
}

void Completions::fire(Cq& cq) noexcept {
  cq.arm = Cq::Arm::fired;
  cq.moderated_count = 0;
  cq.moderated_since = now_;
  if (cq.eq) events_.completion(*cq.eq, cq.number);
}

void Completions::changed(Cq& cq) noexcept {
  // What waits for a moderation that is no more need not wait.
  if (cq.moderated_count != 0 && (cq.arm == Cq::Arm::any || cq.arm == Cq::Arm::solicited)) fire(cq);
}

void Completions::unlink(Cq& cq) noexcept {
  Cq** at = &pending_;
  while (*at && *at != &cq) at = &(*at)->next_pending;
  if (*at) *at = cq.next_pending;
  cq.next_pending = nullptr;
  cq.pending = false;
}

void Completions::forget(Cq& cq) noexcept {
  if (cq.pending) unlink(cq);
}

unsigned Completions::run() noexcept {
  if (!pending_) return 0;
  begin_burst();
  unsigned raised = 0;
  for (Cq* cq = pending_; cq;) {
    Cq* const next = cq->next_pending;
    const bool armed = cq->arm == Cq::Arm::any || cq->arm == Cq::Arm::solicited;
    const bool waits = armed && cq->moderated_count != 0;
    if (waits && now_ - cq->moderated_since >= cq->period * ns_in_us) {
      fire(*cq);
      ++raised;
    }
    if (!waits || cq->arm == Cq::Arm::fired) unlink(*cq);
    cq = next;
  }
  return raised;
}

}  // namespace chime::model
