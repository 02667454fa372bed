// SPDX-License-Identifier: BSD-3-Clause
#include "model/command/handlers.h"
#include "model/command/pages.h"

namespace chime::model {
namespace {

using E = prm::eqc;

constexpr unsigned log_eqe_size = 6;

}  // namespace

void create_eq(Command& c, In<prm::create_eq> in, Out<prm::create_eq> out) noexcept {
  const auto eqc = in.at(prm::create_eq_in::eq_context_entry);
  const std::uint32_t log_size = eqc.get(E::log_eq_size);
  const std::uint32_t largest = c.card.capabilities.general().get(prm::cmd_hca_cap::log_max_eq_sz);
  if (log_size > largest) {
    return c.refuse(Rule::eq_size, 0, "2^%u entries; the card allows 2^%u (log_max_eq_sz)", log_size,
                    largest);
  }
  const std::uint32_t vector = eqc.get(E::intr);
  if (vector >= c.card.vectors) {
    return c.refuse(Rule::eq_vector, 0, "interrupt %u; the card has %u", vector, c.card.vectors);
  }
  Uar* uar = c.find_shared(c.card.uars, eqc.get(E::uar_page));
  if (!uar) return;

  auto eq = c.make<Eq>();
  if (!eq) return;
  const QueueIn place{.umem_valid = false,
                      .umem_id = 0,
                      .umem_offset = 0,
                      .pages = {.bytes = in.bytes().subspan(prm::create_eq_in::size),
                                .count = 0,
                                .log_page_size = eqc.get(E::log_page_size) + 12,
                                .page_offset = eqc.get(E::page_offset) * std::uint64_t{64}},
                      .length = std::uint64_t{1} << (log_size + log_eqe_size),
                      .alignment = 64};
  if (!place_queue(c, place, eq->ring.buffer)) return;
  eq->ring.log_size = static_cast<std::uint8_t>(log_size);
  eq->ring.log_stride = log_eqe_size;
  eq->uar = Ref<Uar>(uar);
  eq->event_mask = in.get(prm::create_eq_in::event_bitmask, 0);
  eq->vector = vector;
  eq->overrun_ignore = eqc.get(E::oi);
  if (auto* made = c.publish(c.card.eqs, std::move(eq))) {
    out.set(prm::create_eq_out::eq_number, made->number);
  }
}

void query_eq(Command& c, In<prm::query_eq> in, Out<prm::query_eq> out) noexcept {
  const Eq* eq = c.find_shared(c.card.eqs, in.get(prm::query_eq_in::eq_number));
  if (!eq) return;
  const bool ok = eq->state == Eq::State::ok;
  out.set(prm::query_eq_out::event_bitmask, eq->event_mask)
      .at(prm::query_eq_out::eq_context_entry)
      .set(E::status, ok ? prm::eqc_status::ok : prm::eqc_status::eq_write_failure)
      .set(E::st, eq->armed ? prm::eqc_state::armed : prm::eqc_state::fired)
      .set(E::oi, eq->overrun_ignore)
      .set(E::log_eq_size, eq->ring.log_size)
      .set(E::uar_page, eq->uar->number)
      .set(E::intr, eq->vector)
      .set(E::consumer_counter, eq->consumer)
      .set(E::producer_counter, eq->producer);
}

void destroy_eq(Command& c, In<prm::destroy_eq> in, Out<prm::destroy_eq>) noexcept {
  auto* eq = c.find(c.card.eqs, in.get(prm::destroy_eq_in::eq_number));
  if (!eq || !c.unused(*eq)) return;
  c.card.engine->forget(*eq);
  c.retire(c.card.eqs, *eq);
}

}  // namespace chime::model
