// SPDX-License-Identifier: BSD-3-Clause
#include "model/command/handlers.h"
#include "model/command/pages.h"

namespace chime::model {
namespace {

using Q = prm::cqc;
using Caps = prm::cmd_hca_cap;

bool take_moderation(Command& c, prm::ConstView<Q> cqc, std::uint32_t select, Cq& cq) noexcept {
  const auto caps = c.card.capabilities.general();
  const std::uint32_t period = select & prm::cq_modify_select::cq_period ? cqc.get(Q::cq_period) : cq.period;
  const std::uint32_t count =
      select & prm::cq_modify_select::cq_max_count ? cqc.get(Q::cq_max_count) : cq.max_count;
  if ((period || count) && !caps.get(Caps::cq_moderation)) {
    c.refuse(Rule::cq_moderation, cq.number, "period %u, count %u; this card does not moderate", period,
             count);
    return false;
  }
  cq.period = static_cast<std::uint16_t>(period);
  cq.max_count = static_cast<std::uint16_t>(count);
  return true;
}

bool take_compression(Command& c, prm::ConstView<Q> cqc, Cq& cq) noexcept {
  if (!cqc.get(Q::cqe_comp_en)) return true;
  const auto caps = c.card.capabilities.general();
  if (!caps.get(Caps::cqe_compression)) return c.absent(1, Rule::cq_feature, "cqe_comp_en"), false;
  if (cqc.get(Q::cqe_sz) != prm::cqc_cqe_sz::bytes_64 || cqc.get(Q::cqe_compression_layout) != 0) {
    c.refuse(Rule::cq_feature, 0,
             "compression of CQEs with cqe_sz %u in layout %u; the card has it for 64 bytes in layout 0",
             static_cast<unsigned>(cqc.get(Q::cqe_sz)), cqc.get(Q::cqe_compression_layout));
    return false;
  }
  const std::uint32_t format = cqc.get(Q::mini_cqe_res_format);
  const bool known = format == static_cast<std::uint32_t>(CqeCompression::hash) ||
                     format == static_cast<std::uint32_t>(CqeCompression::checksum) ||
                     (format == static_cast<std::uint32_t>(CqeCompression::checksum_stride) &&
                      caps.get(Caps::mini_cqe_resp_stride_index));
  if (!known) {
    c.refuse(Rule::cq_feature, format, "mini_cqe_res_format %u; there are 0 (hash), 1 (checksum)%s", format,
             caps.get(Caps::mini_cqe_resp_stride_index) ? ", 3 (checksum and stride)" : "");
    return false;
  }
  cq.compression = static_cast<CqeCompression>(format);
  return true;
}

bool take_features(Command& c, prm::ConstView<Q> cqc, Cq& cq) noexcept {
  const auto caps = c.card.capabilities.general();
  const auto element = static_cast<std::uint32_t>(cqc.get(Q::cqe_sz));
  if (element > static_cast<std::uint32_t>(prm::cqc_cqe_sz::bytes_128)) {
    c.refuse(Rule::cq_feature, 0, "cqe_sz %u; there are 0 (64 bytes) and 1 (128 bytes)", element);
    return false;
  }
  if (!c.absent(cqc.get(Q::apu_cq), Rule::cq_feature, "apu_cq") || !take_compression(c, cqc, cq))
    return false;
  if (cqc.get(Q::oi) && !caps.get(Caps::cq_oi)) {
    return c.absent(1, Rule::cq_feature, "oi"), false;
  }
  cq.ring.log_stride = static_cast<std::uint8_t>(6 + element);
  cq.overrun_ignore = cqc.get(Q::oi);
  cq.collapsed = cqc.get(Q::cc);
  cq.period_mode = static_cast<std::uint8_t>(cqc.get(Q::cq_period_mode));
  return true;
}

prm::cqc_status status_of(const Cq& cq) noexcept {
  switch (cq.state) {
    case Cq::State::ok:
      return prm::cqc_status::ok;
    case Cq::State::overflow:
      return prm::cqc_status::cq_overflow;
    case Cq::State::write_failure:
      return prm::cqc_status::cq_write_fail;
  }
  return prm::cqc_status::ok;
}

prm::cqc_state arm_state_of(const Cq& cq) noexcept {
  switch (cq.arm) {
    case Cq::Arm::solicited:
      return prm::cqc_state::solicited_notification_request_armed;
    case Cq::Arm::any:
      return prm::cqc_state::notification_request_armed;
    case Cq::Arm::fired:
      return prm::cqc_state::fired;
    case Cq::Arm::none:
      break;
  }
  return prm::cqc_state{};
}

void resize(Command& c, In<prm::modify_cq> in, Cq& cq) noexcept {
  using Select = prm::cq_resize_select;
  const auto caps = c.card.capabilities.general();
  if (!caps.get(Caps::cq_resize)) {
    return c.refuse(Rule::cq_modify, cq.number,
                    "this card does not resize completion queues (cq_resize is 0)");
  }
  constexpr std::uint32_t all = Select::log_cq_size | Select::page_offset | Select::log_page_size;
  const auto select = static_cast<std::uint32_t>(prm::get_bits(in.bytes().data(), 0x0c * 8, 32));
  if (select != all) {
    return c.refuse(Rule::cq_modify, cq.number, "resize_field_select %#x; a new ring has all of %#x", select,
                    all);
  }
  if (!c.absent(in.get(prm::modify_cq_in::cq_umem_valid), Rule::cq_modify, "cq_umem_valid")) return;
  const auto cqc = in.at(prm::modify_cq_in::cq_context);
  const std::uint32_t log_size = cqc.get(Q::log_cq_size);
  if (log_size > caps.get(Caps::log_max_cq_sz)) {
    return c.refuse(Rule::cq_size, cq.number, "2^%u entries; the card allows 2^%u (log_max_cq_sz)", log_size,
                    caps.get(Caps::log_max_cq_sz));
  }
  const QueueIn place{.pages = page_list(in.bytes().subspan(prm::modify_cq_in::size),
                                         cqc.get(Q::log_page_size), cqc.get(Q::page_offset)),
                      .length = std::uint64_t{1} << (log_size + cq.ring.log_stride),
                      .alignment = 64};
  Ring next;
  if (!place_queue(c, place, next.buffer)) return;
  next.log_size = static_cast<std::uint8_t>(log_size);
  next.log_stride = cq.ring.log_stride;
  if (!c.card.engine->resize(cq, std::move(next))) {
    c.refuse(Rule::cq_modify, cq.number, "the ring is full: there is no room to say where it goes on");
  }
}

}  // namespace

void create_cq(Command& c, In<prm::create_cq> in, Out<prm::create_cq> out) noexcept {
  const auto cqc = in.at(prm::create_cq_in::cq_context);
  const std::uint32_t log_size = cqc.get(Q::log_cq_size);
  const std::uint32_t largest = c.card.capabilities.general().get(Caps::log_max_cq_sz);
  if (log_size > largest) {
    return c.refuse(Rule::cq_size, 0, "2^%u entries; the card allows 2^%u (log_max_cq_sz)", log_size,
                    largest);
  }
  Eq* eq = c.find_shared(c.card.eqs, cqc.get(Q::c_eqn_or_apu_element));
  Uar* uar = eq ? c.find_shared(c.card.uars, cqc.get(Q::uar_page)) : nullptr;
  if (!uar) return;

  auto cq = c.make<Cq>();
  if (!cq || !take_features(c, cqc, *cq) || !take_moderation(c, cqc, ~0u, *cq)) return;
  const QueueIn place{.umem_valid = in.get(prm::create_cq_in::cq_umem_valid) != 0,
                      .umem_id = in.get(prm::create_cq_in::cq_umem_id),
                      .umem_offset = in.get(prm::create_cq_in::cq_umem_offset),
                      .pages = page_list(in.bytes().subspan(prm::create_cq_in::size),
                                         cqc.get(Q::log_page_size), cqc.get(Q::page_offset)),
                      .length = std::uint64_t{1} << (log_size + cq->ring.log_stride),
                      .alignment = 64};
  if (!place_queue(c, place, cq->ring.buffer)) return;
  if (!place_record(c, cqc.get(Q::dbr_umem_valid) != 0, cqc.get(Q::dbr_umem_id), cqc.get(Q::dbr_addr),
                    cq->record)) {
    return;
  }
  cq->ring.log_size = static_cast<std::uint8_t>(log_size);
  cq->eq = Ref<Eq>(eq);
  cq->uar = Ref<Uar>(uar);
  if (auto* made = c.publish(c.card.cqs, std::move(cq))) out.set(prm::create_cq_out::cqn, made->number);
}

void modify_cq(Command& c, In<prm::modify_cq> in, Out<prm::modify_cq>) noexcept {
  using Select = prm::cq_modify_select;
  Cq* cq = c.find(c.card.cqs, in.get(prm::modify_cq_in::cqn));
  if (!cq) return;
  if (c.op_mod == static_cast<unsigned>(prm::modify_cq_op_mod::resize_cq)) {
    return resize(c, in, *cq);
  }
  if (!c.op_mod_is(static_cast<unsigned>(prm::modify_cq_op_mod::modify_cq))) return;

  const auto cqc = in.at(prm::modify_cq_in::cq_context);
  const auto select = static_cast<std::uint32_t>(prm::get_bits(in.bytes().data(), 0x0c * 8, 32));
  constexpr std::uint32_t known = Select::cq_period | Select::cq_max_count | Select::oi | Select::c_eqn;
  if (select & ~known) {
    return c.refuse(Rule::cq_modify, cq->number, "modify_field_select %#x; there are bits %#x", select,
                    known);
  }
  const auto caps = c.card.capabilities.general();
  Eq* eq = cq->eq.get();
  if (select & Select::c_eqn) {
    if (!caps.get(Caps::cq_eq_remap)) {
      return c.refuse(Rule::cq_modify, cq->number,
                      "this card does not move a CQ to another EQ (cq_eq_remap)");
    }
    eq = c.find_shared(c.card.eqs, cqc.get(Q::c_eqn_or_apu_element));
    if (!eq) return;
  }
  if ((select & Select::oi) && cqc.get(Q::oi) && !caps.get(Caps::cq_oi)) {
    return c.refuse(Rule::cq_feature, cq->number, "this card does not ignore overruns (cq_oi)");
  }
  if (!take_moderation(c, cqc, select, *cq)) return;
  if (select & Select::oi) cq->overrun_ignore = cqc.get(Q::oi);
  if (eq != cq->eq.get()) cq->eq = Ref<Eq>(eq);
  c.card.engine->cq_changed(*cq);
}

void query_cq(Command& c, In<prm::query_cq> in, Out<prm::query_cq> out) noexcept {
  const Cq* cq = c.find(c.card.cqs, in.get(prm::query_cq_in::cqn));
  if (!cq) return;
  out.at(prm::query_cq_out::cq_context)
      .set(Q::status, status_of(*cq))
      .set(Q::st, arm_state_of(*cq))
      .set(Q::cqe_sz, cq->ring.log_stride == 7 ? prm::cqc_cqe_sz::bytes_128 : prm::cqc_cqe_sz::bytes_64)
      .set(Q::cc, cq->collapsed)
      .set(Q::oi, cq->overrun_ignore)
      .set(Q::cq_period_mode, static_cast<prm::cq_period_mode>(cq->period_mode))
      .set(Q::log_cq_size, cq->ring.log_size)
      .set(Q::uar_page, cq->uar->number)
      .set(Q::cq_period, cq->period)
      .set(Q::cq_max_count, cq->max_count)
      .set(Q::c_eqn_or_apu_element, cq->eq->number)
      .set(Q::consumer_counter, cq->consumer)
      .set(Q::producer_counter, cq->producer);
}

void destroy_cq(Command& c, In<prm::destroy_cq> in, Out<prm::destroy_cq>) noexcept {
  auto* cq = c.find(c.card.cqs, in.get(prm::destroy_cq_in::cqn));
  if (!cq || !c.unused(*cq)) return;
  c.card.engine->forget(*cq);
  c.retire(c.card.cqs, *cq);
}

}  // namespace chime::model
