// SPDX-License-Identifier: BSD-3-Clause
#include "model/command/handlers.h"
#include "model/command/work_queue.h"

namespace chime::model {
namespace {

using R = prm::rqc;
using Caps = prm::cmd_hca_cap;
using Ethernet = prm::per_protocol_networking_offload_caps;

/// Counter set 0 is the device's own, which counts for nobody.
bool take_counter(Command& c, std::uint32_t number, Rq& rq) noexcept {
  if (number == 0) {
    rq.q_counter.reset();
    return true;
  }
  QCounter* counter = c.find(c.card.q_counters, number);
  if (!counter) return false;
  rq.q_counter = Ref<QCounter>(counter);
  return true;
}

bool scatter_fcs_allowed(Command& c, prm::ConstView<R> rqc) noexcept {
  const auto ethernet =
      c.card.capabilities.view<Ethernet>(static_cast<unsigned>(prm::hca_cap_type::ethernet_offloads));
  if (!rqc.get(R::scatter_fcs) || ethernet.get(Ethernet::scatter_fcs)) return true;
  c.refuse(Rule::wq_feature, 0, "scatter_fcs; this card does not keep the FCS");
  return false;
}

bool take_features(Command& c, prm::ConstView<R> rqc, Rq& rq) noexcept {
  if (!c.absent(rqc.get(R::delay_drop_en), Rule::wq_feature, "delay_drop_en") ||
      !c.absent(rqc.get(R::hairpin), Rule::wq_feature, "hairpin") || !scatter_fcs_allowed(c, rqc)) {
    return false;
  }
  if (rqc.get(R::mem_rq_type) != prm::mem_rq_type::memory_rq_inline) {
    c.refuse(Rule::rq_memory_type, 0, "mem_rq_type %u; this card has 0 (inline)",
             static_cast<unsigned>(rqc.get(R::mem_rq_type)));
    return false;
  }
  if (rqc.get(R::rlky) && c.uid != 0) {
    c.refuse(Rule::mkey_physical, 0, "user context %u asks for the reserved lkey (rlky)", c.uid);
    return false;
  }
  rq.reserved_lkey = rqc.get(R::rlky);
  rq.vlan_strip = !rqc.get(R::vsd);
  rq.scatter_fcs = rqc.get(R::scatter_fcs);
  rq.flush_in_error = rqc.get(R::flush_in_error_en);
  rq.user_index = rqc.get(R::user_index);
  return read_timestamp_format(c, rqc.get(R::ts_format),
                               c.card.capabilities.general().get(Caps::rq_ts_format), rq.timestamp);
}

/// Units of log_wqe_num_of_strides and log_wqe_stride_size.
constexpr std::uint32_t log_strides_base = 9, log_stride_bytes_base = 6;

prm::wq_type type_of(const Strides& strides) noexcept {
  if (!strides) return prm::wq_type::cyclic;
  return strides.linked ? prm::wq_type::linked_list_striding_rq : prm::wq_type::cyclic_striding_rq;
}

bool take_strides(Command& c, prm::ConstView<prm::wq> wq, Rq& rq) noexcept {
  using W = prm::wq;
  const prm::wq_type type = wq.get(W::wq_type);
  if (type == prm::wq_type::cyclic) return true;
  // A 4-bit number with a sign, since ext_stride_num_range.
  const std::uint32_t field = wq.get(W::log_wqe_num_of_strides);
  const int log_count = static_cast<int>(log_strides_base + field) - (field & 8 ? 16 : 0);
  const int least = c.card.capabilities.general().get(Caps::ext_stride_num_range) ? 3 : int{log_strides_base};
  const std::uint32_t log_bytes = log_stride_bytes_base + wq.get(W::log_wqe_stride_size);
  if (log_count < least) {
    c.refuse(Rule::wq_stride, 0, "2^%d strides a request; the card has 2^%d and more", log_count, least);
    return false;
  }
  constexpr std::uint32_t least_log_wqe = 5;  // next segment and data segment
  if (rq.ring.log_stride < least_log_wqe) {
    c.refuse(Rule::wq_stride, 0, "requests of 2^%u bytes; with strides they have 2^%u and more",
             rq.ring.log_stride, least_log_wqe);
    return false;
  }
  rq.strides = {.log_count = static_cast<std::uint8_t>(log_count),
                .log_bytes = static_cast<std::uint8_t>(log_bytes),
                .linked = type == prm::wq_type::linked_list_striding_rq,
                .two_byte_shift = wq.get(W::two_byte_shift_en) != 0};
  return true;
}

}  // namespace

void create_rq(Command& c, In<prm::create_rq> in, Out<prm::create_rq> out) noexcept {
  const auto rqc = in.at(prm::create_rq_in::ctx);
  const auto wq = rqc.at(R::wq);
  const auto caps = c.card.capabilities.general();
  if (rqc.get(R::state) != prm::rqc_state::rst) {
    return c.refuse(Rule::initial_state, 0, "state %u", static_cast<unsigned>(rqc.get(R::state)));
  }
  auto rq = c.make<Rq>();
  if (!rq || !take_features(c, rqc, *rq)) return;
  // Linux makes its drop RQ, which never has a buffer, in PD 0, which nobody allocates.
  const bool without_pd = c.uid == 0 && wq.get(prm::wq::pd) == 0;
  Pd* pd = without_pd ? nullptr : c.find(c.card.pds, wq.get(prm::wq::pd));
  Cq* cq = pd || without_pd ? c.find(c.card.cqs, rqc.get(R::cqn)) : nullptr;
  if (!cq || !take_counter(c, rqc.get(R::counter_set_id), *rq)) return;
  const WorkQueueLimits limits{caps.get(Caps::log_min_stride_sz_rq), caps.get(Caps::log_max_stride_sz_rq),
                               prm::wq_type::cyclic, caps.get(Caps::striding_rq) != 0};
  if (!read_work_queue(c, wq, limits, rq->ring, rq->record) || !take_strides(c, wq, *rq)) return;
  rq->pd = Ref<Pd>(pd);
  rq->cq = Ref<Cq>(cq);
  if (auto* made = c.publish(c.card.rqs, std::move(rq))) out.set(prm::create_rq_out::rqn, made->number);
}

void modify_rq(Command& c, In<prm::modify_rq> in, Out<prm::modify_rq>) noexcept {
  using Select = prm::modify_rq_select;
  Rq* rq = c.find(c.card.rqs, in.get(prm::modify_rq_in::rqn));
  if (!rq) return;
  const auto rqc = in.at(prm::modify_rq_in::ctx);
  const auto wanted = static_cast<std::uint32_t>(rqc.get(R::state));
  if (!read_transition(c, *rq, rq->state, static_cast<std::uint32_t>(in.get(prm::modify_rq_in::rq_state)),
                       wanted)) {
    return;
  }
  const std::uint64_t select = in.get(prm::modify_rq_in::modify_bitmask);
  constexpr std::uint64_t known = Select::vsd | Select::scatter_fcs | Select::rq_counter_set_id;
  if (select & ~known) {
    return c.refuse(Rule::queue_modify, rq->number, "modify_bitmask %#llx; there are bits %#llx",
                    static_cast<unsigned long long>(select), static_cast<unsigned long long>(known));
  }
  if ((select & Select::scatter_fcs) && !scatter_fcs_allowed(c, rqc)) return;
  if ((select & Select::rq_counter_set_id) && !take_counter(c, rqc.get(R::counter_set_id), *rq)) return;
  if (select & Select::vsd) rq->vlan_strip = !rqc.get(R::vsd);
  if (select & Select::scatter_fcs) rq->scatter_fcs = rqc.get(R::scatter_fcs);

  const QueueState from = rq->state;
  rq->state = static_cast<QueueState>(wanted);
  if (rq->state != from) c.card.engine->state_changed(*rq, from);
}

void query_rq(Command& c, In<prm::query_rq> in, Out<prm::query_rq> out) noexcept {
  const Rq* rq = c.find(c.card.rqs, in.get(prm::query_rq_in::rqn));
  if (!rq) return;
  const auto rqc = out.at(prm::query_rq_out::rq_context);
  rqc.set(R::rlky, rq->reserved_lkey)
      .set(R::scatter_fcs, rq->scatter_fcs)
      .set(R::vsd, !rq->vlan_strip)
      .set(R::mem_rq_type, prm::mem_rq_type::memory_rq_inline)
      .set(R::state, static_cast<prm::rqc_state>(rq->state))
      .set(R::flush_in_error_en, rq->flush_in_error)
      .set(R::ts_format, static_cast<prm::timestamp_format>(rq->timestamp))
      .set(R::user_index, rq->user_index)
      .set(R::cqn, rq->cq->number)
      .set(R::counter_set_id, rq->q_counter ? rq->q_counter->number : 0);
  rqc.at(R::wq)
      .set(prm::wq::wq_type, type_of(rq->strides))
      .set(prm::wq::pd, rq->pd ? rq->pd->number : 0)
      .set(prm::wq::hw_counter, rq->consumed)
      .set(prm::wq::sw_counter, rq->posted)
      .set(prm::wq::log_wq_stride, rq->ring.log_stride)
      .set(prm::wq::log_wq_sz, rq->ring.log_size)
      .set(prm::wq::two_byte_shift_en, rq->strides.two_byte_shift);
  if (rq->strides) {
    rqc.at(R::wq)
        .set(prm::wq::log_wqe_num_of_strides, rq->strides.log_count - log_strides_base)
        .set(prm::wq::log_wqe_stride_size, rq->strides.log_bytes - log_stride_bytes_base);
  }
}

void destroy_rq(Command& c, In<prm::destroy_rq> in, Out<prm::destroy_rq>) noexcept {
  auto* rq = c.find(c.card.rqs, in.get(prm::destroy_rq_in::rqn));
  if (!rq || !c.unused(*rq)) return;
  c.card.engine->forget(*rq);
  c.retire(c.card.rqs, *rq);
}

}  // namespace chime::model
