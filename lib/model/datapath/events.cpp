// SPDX-License-Identifier: BSD-3-Clause
#include "model/datapath/events.h"

#include <cstring>

#include "model/datapath/report.h"

namespace chime::model {
namespace {

constexpr std::uint32_t index_mask = 0xffffff;  ///< consumer indices have 24 bits

}  // namespace

void Events::completion(Eq& eq, std::uint32_t number) noexcept {
  prm::Eqe eqe{};
  eqe.type = static_cast<std::uint8_t>(prm::event_type::completion);
  eqe.data[prm::eqe_number] = number;
  write(eq, eqe);
}

void Events::raise(prm::event_type type, std::uint8_t sub_type, const EventData& data) noexcept {
  prm::Eqe eqe{};
  eqe.type = static_cast<std::uint8_t>(type);
  eqe.sub_type = sub_type;
  for (std::size_t i = 0; i < data.size(); ++i) eqe.data[i] = data[i];
  const std::uint64_t bit = std::uint64_t{1} << static_cast<unsigned>(type);
  card_.eqs.for_each([&](Eq& eq) {
    if (eq.event_mask & bit) write(eq, eqe);
  });
}

void Events::write(Eq& eq, prm::Eqe& eqe) noexcept {
  if (eq.state != Eq::State::ok) return;
  if (((eq.producer - eq.consumer) & index_mask) >= eq.ring.size() && !eq.overrun_ignore) {
    report(card_, Fault::eq_overflow, eq.number,
           "EQ 0x%x: %u events are not consumed, the next (type 0x%x) is lost", eq.number, eq.ring.size(),
           eqe.type);
    return;
  }
  std::byte* const at = eq.ring.at(eq.producer);
  if (!at) {
    eq.state = Eq::State::write_failure;
    report(card_, Fault::eq_memory, eq.number, "EQ 0x%x: element %u is not host memory", eq.number,
           eq.producer & eq.ring.mask());
    return;
  }
  // The owner bit is what software looks at: it comes last.
  eqe.owner = eq.ring.owner(eq.producer);
  constexpr std::size_t last = prm::eqe_size - sizeof(std::uint32_t);
  std::uint32_t word;
  std::memcpy(&word, reinterpret_cast<const std::byte*>(&eqe) + last, sizeof word);
  std::memcpy(at, &eqe, last);
  __atomic_store_n(reinterpret_cast<std::uint32_t*>(at + last), word, __ATOMIC_RELEASE);
  ++eq.producer;
  if (eq.armed) interrupt(eq);
}

void Events::interrupt(Eq& eq) noexcept {
  eq.armed = false;
  card_.around.interrupts.raise(eq.vector);
}

void Events::ring(Uar& uar, std::uint32_t word, bool arm) noexcept {
  const std::uint32_t number = word >> 24;
  Eq* const eq = card_.eqs.find(number);
  if (!eq) {
    report(card_, Fault::doorbell_unknown_queue, number,
           "UAR 0x%x: doorbell for EQ 0x%x, which does not exist", uar.number, number);
    return;
  }
  if (eq->uar.get() != &uar) {
    report(card_, Fault::doorbell_foreign_uar, number,
           "EQ 0x%x: doorbell on UAR 0x%x, but it was created with 0x%x", number, uar.number,
           eq->uar ? eq->uar->number : 0);
    return;
  }
  const std::uint32_t waiting = (eq->producer - (word & index_mask)) & index_mask;
  if (waiting > ((eq->producer - eq->consumer) & index_mask)) {
    report(card_, Fault::cq_consumer, number,
           "EQ 0x%x: consumer index %u of the doorbell is not between %u and %u", number, word & index_mask,
           eq->consumer & index_mask, eq->producer & index_mask);
    return;
  }
  eq->consumer = eq->producer - waiting;
  if (!arm) return;
  eq->armed = true;
  if (waiting != 0) interrupt(*eq);
}

}  // namespace chime::model
