// SPDX-License-Identifier: BSD-3-Clause
#include "model/command/handlers.h"
#include "model/command/work_queue.h"

namespace chime::model {
namespace {

using S = prm::sqc;
using Caps = prm::cmd_hca_cap;
using Ethernet = prm::per_protocol_networking_offload_caps;

constexpr std::uint32_t log_basic_block = 6;

/// wqe_inline_mode of the Ethernet capabilities: who says how much of a header must be in line.
enum class InlineDemand : std::uint32_t { l2 = 0, vport_context = 1, none = 2 };

std::uint8_t demanded_inline_mode(const Hca::Card& card) noexcept {
  const auto ethernet =
      card.capabilities.view<Ethernet>(static_cast<unsigned>(prm::hca_cap_type::ethernet_offloads));
  switch (static_cast<InlineDemand>(ethernet.get(Ethernet::wqe_inline_mode))) {
    case InlineDemand::l2:
      return 1;
    case InlineDemand::vport_context:
      return card.vport.min_inline_mode;
    case InlineDemand::none:
      break;
  }
  return 0;
}

bool take_features(Command& c, prm::ConstView<S> sqc, Sq& sq) noexcept {
  const auto caps = c.card.capabilities.general();
  const auto ethernet =
      c.card.capabilities.view<Ethernet>(static_cast<unsigned>(prm::hca_cap_type::ethernet_offloads));
  if (!c.absent(sqc.get(S::cd_master), Rule::wq_feature, "cd_master") ||
      !c.absent(sqc.get(S::hairpin), Rule::wq_feature, "hairpin") ||
      !c.absent(sqc.get(S::packet_pacing_rate_limit_index), Rule::wq_feature, "packet pacing") ||
      !c.absent(sqc.get(S::qos_queue_group_id), Rule::wq_feature, "qos_queue_group_id")) {
    return false;
  }
  if (sqc.get(S::reg_umr) && !ethernet.get(Ethernet::reg_umr_sq)) {
    c.refuse(Rule::wq_feature, 0, "reg_umr; this card's send queues take no UMR requests (reg_umr_sq)");
    return false;
  }
  if (sqc.get(S::allow_multi_pkt_send_wqe) && !ethernet.get(Ethernet::enhanced_multi_pkt_send_wqe)) {
    c.refuse(Rule::wq_feature, 0, "allow_multi_pkt_send_wqe; this card has no multi-packet WQEs");
    return false;
  }
  const auto mode = static_cast<std::uint8_t>(sqc.get(S::min_wqe_inline_mode));
  const std::uint8_t demanded = demanded_inline_mode(c.card);
  if (mode < demanded) {
    c.refuse(Rule::sq_inline_mode, 0, "min_wqe_inline_mode %u; the port demands %u at least", mode, demanded);
    return false;
  }
  if (sqc.get(S::rlky) && c.uid != 0) {
    c.refuse(Rule::mkey_physical, 0, "user context %u asks for the reserved lkey (rlky)", c.uid);
    return false;
  }
  sq.min_inline_mode = mode;
  sq.reserved_lkey = sqc.get(S::rlky);
  sq.flush_in_error = sqc.get(S::flush_in_error_en);
  sq.allow_multi_packet = sqc.get(S::allow_multi_pkt_send_wqe);
  sq.takes_umr = sqc.get(S::reg_umr);
  sq.user_index = sqc.get(S::user_index);
  return read_timestamp_format(c, sqc.get(S::ts_format), caps.get(Caps::sq_ts_format), sq.timestamp);
}

}  // namespace

void create_sq(Command& c, In<prm::create_sq> in, Out<prm::create_sq> out) noexcept {
  const auto sqc = in.at(prm::create_sq_in::ctx);
  const auto wq = sqc.at(S::wq);
  if (c.context() && !(c.context()->capabilities & prm::uctx_cap::raw_tx)) {
    return c.refuse(Rule::needs_raw_tx, c.uid, "user context %u was made without RAW_TX (CAP_NET_RAW)",
                    c.uid);
  }
  if (sqc.get(S::state) != prm::sqc_state::rst) {
    return c.refuse(Rule::initial_state, 0, "state %u", static_cast<unsigned>(sqc.get(S::state)));
  }
  // Without a TIS it is one for internal control operations: it has no way to the wire.
  if (sqc.get(S::tis_lst_sz) > 1) {
    return c.refuse(Rule::sq_tis_list, 0, "tis_lst_sz is %u; it can be 0 or 1", sqc.get(S::tis_lst_sz));
  }
  auto sq = c.make<Sq>();
  if (!sq || !take_features(c, sqc, *sq)) return;
  Pd* pd = c.find(c.card.pds, wq.get(prm::wq::pd));
  Cq* cq = pd ? c.find(c.card.cqs, sqc.get(S::cqn)) : nullptr;
  const bool with_tis = sqc.get(S::tis_lst_sz) != 0;
  Tis* tis = cq && with_tis ? c.find(c.card.tises, sqc.get(S::tis_num_0)) : nullptr;
  if (!cq || (with_tis && !tis)) return;
  Uar* uar = c.find_shared(c.card.uars, wq.get(prm::wq::uar_page));
  if (!uar) return;
  if (!read_work_queue(c, wq, {log_basic_block, log_basic_block}, sq->ring, sq->record)) return;
  sq->pd = Ref<Pd>(pd);
  sq->cq = Ref<Cq>(cq);
  sq->tis = Ref<Tis>(tis);
  sq->uar = Ref<Uar>(uar);
  if (auto* made = c.publish(c.card.sqs, std::move(sq))) out.set(prm::create_sq_out::sqn, made->number);
}

void modify_sq(Command& c, In<prm::modify_sq> in, Out<prm::modify_sq>) noexcept {
  Sq* sq = c.find(c.card.sqs, in.get(prm::modify_sq_in::sqn));
  if (!sq) return;
  const auto wanted = static_cast<std::uint32_t>(in.at(prm::modify_sq_in::ctx).get(S::state));
  if (!read_transition(c, *sq, sq->state, static_cast<std::uint32_t>(in.get(prm::modify_sq_in::sq_state)),
                       wanted)) {
    return;
  }
  if (in.get(prm::modify_sq_in::modify_bitmask)) {
    return c.refuse(Rule::queue_modify, sq->number, "modify_bitmask %#llx; this card paces no packets",
                    static_cast<unsigned long long>(in.get(prm::modify_sq_in::modify_bitmask)));
  }
  const QueueState from = sq->state;
  sq->state = static_cast<QueueState>(wanted);
  if (sq->state != from) c.card.engine->state_changed(*sq, from);
}

void query_sq(Command& c, In<prm::query_sq> in, Out<prm::query_sq> out) noexcept {
  const Sq* sq = c.find(c.card.sqs, in.get(prm::query_sq_in::sqn));
  if (!sq) return;
  const auto sqc = out.at(prm::query_sq_out::sq_context);
  sqc.set(S::rlky, sq->reserved_lkey)
      .set(S::flush_in_error_en, sq->flush_in_error)
      .set(S::reg_umr, sq->takes_umr)
      .set(S::allow_multi_pkt_send_wqe, sq->allow_multi_packet)
      .set(S::min_wqe_inline_mode, static_cast<prm::inline_mode>(sq->min_inline_mode))
      .set(S::state, static_cast<prm::sqc_state>(sq->state))
      .set(S::ts_format, static_cast<prm::timestamp_format>(sq->timestamp))
      .set(S::user_index, sq->user_index)
      .set(S::cqn, sq->cq->number)
      .set(S::tis_lst_sz, 1)
      .set(S::tis_num_0, sq->tis ? sq->tis->number : 0);
  sqc.at(S::wq)
      .set(prm::wq::wq_type, prm::wq_type::cyclic)
      .set(prm::wq::pd, sq->pd->number)
      .set(prm::wq::uar_page, sq->uar->number)
      .set(prm::wq::hw_counter, sq->fetched)
      .set(prm::wq::sw_counter, sq->posted)
      .set(prm::wq::log_wq_stride, sq->ring.log_stride)
      .set(prm::wq::log_wq_sz, sq->ring.log_size);
}

void destroy_sq(Command& c, In<prm::destroy_sq> in, Out<prm::destroy_sq>) noexcept {
  auto* sq = c.find(c.card.sqs, in.get(prm::destroy_sq_in::sqn));
  if (!sq || !c.unused(*sq)) return;
  c.card.engine->forget(*sq);
  c.retire(c.card.sqs, *sq);
}

}  // namespace chime::model
