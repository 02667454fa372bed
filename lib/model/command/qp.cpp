// SPDX-License-Identifier: BSD-3-Clause
#include "model/command/gid.h"
#include "model/command/handlers.h"
#include "model/command/pages.h"
#include "model/command/work_queue.h"

namespace chime::model {
namespace {

using Q = prm::qpc;
using A = prm::ads;
using Caps = prm::cmd_hca_cap;
using Create = prm::create_qp_in;

constexpr std::uint32_t log_basic_block = 6;
constexpr std::uint32_t log_min_stride = 4;

bool take_service(Command& c, prm::ConstView<Q> qpc, Qp& qp) noexcept {
  const auto caps = c.card.capabilities.general();
  const auto wanted = qpc.get(Q::st);
  const bool kernels = wanted == prm::qpc_st::qp1 || wanted == prm::qpc_st::reg_umr;
  const bool offered = (wanted == prm::qpc_st::rc && caps.get(Caps::rc)) ||
                       (wanted == prm::qpc_st::uc && caps.get(Caps::uc)) ||
                       (wanted == prm::qpc_st::ud && caps.get(Caps::ud)) ||
                       (wanted == prm::qpc_st::xrc && caps.get(Caps::xrc)) || (kernels && c.uid == 0);
  if (!offered) {
    c.refuse(Rule::qp_service, 0, "st %u; this card has%s%s%s%s, for the kernel QP1 (8) and UMR (0xc)",
             static_cast<unsigned>(wanted), caps.get(Caps::rc) ? " RC (0)" : "",
             caps.get(Caps::uc) ? " UC (1)" : "", caps.get(Caps::ud) ? " UD (2)" : "",
             caps.get(Caps::xrc) ? " XRC (3)" : "");
    return false;
  }
  if (wanted == prm::qpc_st::qp1 && c.card.gsi) {
    c.refuse(Rule::qp_service, c.card.gsi->number, "QP %#x is QP1 already", c.card.gsi->number);
    return false;
  }
  qp.service = static_cast<QpService>(wanted);
  return true;
}

bool take_features(Command& c, prm::ConstView<Q> qpc, Qp& qp) noexcept {
  const auto caps = c.card.capabilities.general();
  if (!c.absent(qpc.get(Q::wq_signature), Rule::qp_feature, "wq_signature") ||
      !c.absent(qpc.get(Q::offload_type), Rule::qp_feature, "offload_type") ||
      !c.absent(qpc.get(Q::ulp_stateless_offload_mode), Rule::qp_feature, "ulp_stateless_offload_mode") ||
      !c.absent(qpc.get(Q::isolate_vl_tc), Rule::qp_feature, "isolate_vl_tc") ||
      !c.absent(qpc.get(Q::lag_tx_port_affinity), Rule::qp_feature, "lag_tx_port_affinity") ||
      !c.absent(qpc.get(Q::cd_master), Rule::qp_feature, "cd_master") ||
      !c.absent(qpc.get(Q::cd_slave_send), Rule::qp_feature, "cd_slave_send") ||
      !c.absent(qpc.get(Q::cd_slave_receive), Rule::qp_feature, "cd_slave_receive")) {
    return false;
  }
  if (!caps.get(Caps::end_pad) &&
      !c.absent(static_cast<unsigned>(qpc.get(Q::end_padding_mode)), Rule::qp_feature, "end_padding_mode")) {
    return false;
  }
  if (!caps.get(Caps::sctr_data_cqe) &&
      (!c.absent(static_cast<unsigned>(qpc.get(Q::cs_req)), Rule::qp_feature, "cs_req") ||
       !c.absent(static_cast<unsigned>(qpc.get(Q::cs_res)), Rule::qp_feature, "cs_res"))) {
    return false;
  }
  if (qpc.get(Q::rlky) && c.uid != 0) {
    c.refuse(Rule::mkey_physical, 0, "user context %u asks for the reserved lkey (rlky)", c.uid);
    return false;
  }
  const auto request = qpc.get(Q::cs_req);
  const auto response = qpc.get(Q::cs_res);
  if ((request != prm::qpc_cs_req::disable && request != prm::qpc_cs_req::up_to_32b &&
       request != prm::qpc_cs_req::up_to_64b) ||
      response > prm::qpc_cs_res::up_to_64b) {
    c.refuse(Rule::qp_feature, 0, "cs_req %#x, cs_res %#x; there are 0, 0x11, 0x22 and 0, 1, 2",
             static_cast<unsigned>(request), static_cast<unsigned>(response));
    return false;
  }
  auto bytes_of = [](unsigned low_bits) { return static_cast<std::uint8_t>(low_bits * 32); };
  qp.scatter_to_request_cqe = bytes_of(static_cast<unsigned>(request) & 3);
  qp.scatter_to_receive_cqe = bytes_of(static_cast<unsigned>(response));
  qp.pad_to_cache_line = qpc.get(Q::end_padding_mode) != prm::qpc_end_padding_mode::scatter_as_is;
  qp.reserved_lkey = qpc.get(Q::rlky);
  qp.block_own_multicast = qpc.get(Q::block_lb_mc);
  qp.user_index = qpc.get(Q::user_index);
  qp.atomic_like_write = qpc.get(Q::atomic_like_write_en);
  qp.attributes.atomic_like_write = qp.atomic_like_write;
  const auto roce = c.card.capabilities.view<prm::roce_cap>(static_cast<unsigned>(prm::hca_cap_type::roce));
  return read_timestamp_format(c, qpc.get(Q::ts_format), roce.get(prm::roce_cap::qp_ts_format), qp.timestamp);
}

bool take_sizes(Command& c, prm::ConstView<Q> qpc, Qp& qp) noexcept {
  const auto caps = c.card.capabilities.general();
  const auto rq_type = qpc.get(Q::rq_type);
  if (rq_type != prm::qpc_rq_type::regular && rq_type != prm::qpc_rq_type::srq &&
      rq_type != prm::qpc_rq_type::zero) {
    c.refuse(Rule::qp_feature, 0, "rq_type %u; this card has 0 (a receive ring), 1 (a shared one), 3 (none)",
             static_cast<unsigned>(rq_type));
    return false;
  }
  qp.has_receive = rq_type == prm::qpc_rq_type::regular;
  qp.has_send = !qpc.get(Q::no_sq);
  qp.receive.log_size = static_cast<std::uint8_t>(qpc.get(Q::log_rq_size));
  qp.receive.log_stride = static_cast<std::uint8_t>(qpc.get(Q::log_rq_stride) + log_min_stride);
  qp.send.log_size = static_cast<std::uint8_t>(qpc.get(Q::log_sq_size));
  qp.send.log_stride = log_basic_block;

  const std::uint32_t largest = caps.get(Caps::log_max_qp_sz);
  auto fits = [&](bool has, const Ring& ring, const char* field) {
    if (!has || ring.log_size <= largest) return true;
    c.refuse(Rule::qp_size, 0, "%s %u; the card allows %u (log_max_qp_sz)", field, ring.log_size, largest);
    return false;
  };
  if (!fits(qp.has_receive, qp.receive, "log_rq_size") || !fits(qp.has_send, qp.send, "log_sq_size")) {
    return false;
  }
  const std::uint32_t longest = caps.get(Caps::max_wqe_sz_rq);
  if (qp.has_receive && (1u << qp.receive.log_stride) > longest) {
    c.refuse(Rule::qp_stride, 0, "receive requests of %u bytes; the card allows %u (max_wqe_sz_rq)",
             1u << qp.receive.log_stride, longest);
    return false;
  }
  return true;
}

/// The receive ring comes first, the send ring behind it.
bool place_rings(Command& c, In<prm::create_qp> in, Qp& qp) noexcept {
  const auto qpc = in.at(Create::qpc);
  QueueIn place{.umem_valid = in.get(Create::wq_umem_valid) != 0,
                .umem_id = in.get(Create::wq_umem_id),
                .umem_offset = in.get(Create::wq_umem_offset),
                .pages = page_list(in.bytes().subspan(Create::size), qpc.get(Q::log_page_size),
                                   qpc.get(Q::page_offset))};
  if (qp.has_receive) {
    place.length = std::uint64_t{1} << (qp.receive.log_size + qp.receive.log_stride);
    place.alignment = std::uint64_t{1} << qp.receive.log_stride;
    if (!place_queue(c, place, qp.receive.buffer)) return false;
    place.skip = place.length;
  }
  if (qp.has_send) {
    place.length = std::uint64_t{1} << (qp.send.log_size + qp.send.log_stride);
    place.alignment = std::uint64_t{1} << qp.send.log_stride;
    if (!place_queue(c, place, qp.send.buffer)) return false;
  }
  return place_record(c, qpc.get(Q::dbr_umem_valid) != 0, qpc.get(Q::dbr_umem_id), qpc.get(Q::dbr_addr),
                      qp.record);
}

/// What it receives into is another's: the kernel's own is for user contexts, too.
bool take_shared(Command& c, prm::ConstView<Q> qpc, Qp& qp) noexcept {
  if (qp.service == QpService::xrc) {
    Xrcd* const xrcd = c.find_shared(c.card.xrcds, qpc.get(Q::xrcd));
    if (!xrcd) return false;
    qp.xrcd = Ref<Xrcd>(xrcd);
    return true;
  }
  if (qpc.get(Q::rq_type) != prm::qpc_rq_type::srq) return true;
  Srq* const srq = c.find_shared(c.card.srqs, qpc.get(Q::srqn_rmpn_xrqn));
  if (!srq) return false;
  if (srq->type != Srq::Type::pool) {
    c.refuse(Rule::srq_feature, srq->number, "SRQ %#x is of XRC, and the queue pair is not", srq->number);
    return false;
  }
  qp.srq = Ref<Srq>(srq);
  return true;
}

void put_path(prm::View<A> ads, const QpPath& path) noexcept {
  write_gid(path.remote_gid, ads, A::rgid_rip);
  const Mac& m = path.remote_mac;
  ads.set(A::rmac_47_32, std::uint32_t{m[0]} << 8 | m[1])
      .set(A::rmac_31_0,
           std::uint32_t{m[2]} << 24 | std::uint32_t{m[3]} << 16 | std::uint32_t{m[4]} << 8 | m[5])
      .set(A::src_addr_index, path.gid_index)
      .set(A::hop_limit, path.hop_limit)
      .set(A::tclass, path.traffic_class)
      .set(A::flow_label, path.flow_label)
      .set(A::udp_sport, path.udp_source_port)
      .set(A::dscp, path.dscp)
      .set(A::ecn, path.ecn)
      .set(A::eth_prio, path.priority)
      .set(A::dei_cfi, path.dei)
      .set(A::sl, path.service_level)
      .set(A::vhca_port_num, path.port)
      .set(A::pkey_index, path.pkey_index)
      .set(A::ack_timeout, path.ack_timeout);
}

void put_attributes(prm::View<Q> qpc, const QpAttributes& a) noexcept {
  constexpr unsigned mtu_code_bias = 7;
  qpc.set(Q::mtu, static_cast<prm::qpc_mtu>(a.log_mtu ? a.log_mtu - mtu_code_bias : 0))
      .set(Q::log_msg_max, a.log_max_message)
      .set(Q::remote_qpn, a.remote_qpn)
      .set(Q::log_ack_req_freq, a.log_ack_req_freq)
      .set(Q::log_sra_max, a.log_sra_max)
      .set(Q::log_rra_max, a.log_rra_max)
      .set(Q::retry_count, a.retry_count)
      .set(Q::rnr_retry, a.rnr_retry)
      .set(Q::min_rnr_nak, a.min_rnr_nak)
      .set(Q::rre, a.remote_read)
      .set(Q::rwe, a.remote_write)
      .set(Q::rae, a.remote_atomic)
      .set(Q::atomic_mode, a.atomic_mode)
      .set(Q::atomic_like_write_en, a.atomic_like_write)
      .set(Q::q_key, a.qkey);
  put_path(qpc.at(Q::primary_address_path), a.path);
}

void put_progress(prm::View<Q> qpc, const QpProgress& p) noexcept {
  qpc.set(Q::next_send_psn, p.next_send_psn)
      .set(Q::last_acked_psn, p.last_acked_psn)
      .set(Q::next_rcv_psn, p.next_receive_psn)
      .set(Q::ssn, p.send_sequence)
      .set(Q::rmsn, p.receive_sequence)
      .set(Q::hw_sq_wqebb_counter, p.send_taken)
      .set(Q::sw_sq_wqebb_counter, p.send_posted)
      .set(Q::hw_rq_counter, p.receive_taken)
      .set(Q::sw_rq_counter, p.receive_posted);
}

prm::qpc_cs_req cs_req_of(const Qp& qp) noexcept {
  return static_cast<prm::qpc_cs_req>(qp.scatter_to_request_cqe / 32 * 0x11);
}

}  // namespace

void create_qp(Command& c, In<prm::create_qp> in, Out<prm::create_qp> out) noexcept {
  const auto qpc = in.at(Create::qpc);
  if (qpc.get(Q::state) != prm::qpc_state::rst) {
    return c.refuse(Rule::initial_state, 0, "state %u", static_cast<unsigned>(qpc.get(Q::state)));
  }
  if (!c.absent(in.get(Create::input_qpn), Rule::qp_feature, "input_qpn")) return;
  auto qp = c.make<Qp>();
  if (!qp || !take_service(c, qpc, *qp) || !take_features(c, qpc, *qp) || !take_sizes(c, qpc, *qp)) return;

  // An XRC target is made of the kernel's own PD and CQ, and has no UAR.
  const bool target = qp->service == QpService::xrc && !qp->has_send;
  const bool any_pd = qp->service == QpService::umr;
  Pd* pd = any_pd   ? nullptr
           : target ? c.find_shared(c.card.pds, qpc.get(Q::pd))
                    : c.find(c.card.pds, qpc.get(Q::pd));
  if (!pd && !any_pd) return;
  Cq* send_cq = nullptr;
  Cq* receive_cq = nullptr;
  Uar* uar = nullptr;
  if (qp->has_send && !(send_cq = c.find(c.card.cqs, qpc.get(Q::cqn_snd)))) return;
  if (qp->has_send && !(uar = c.find_shared(c.card.uars, qpc.get(Q::uar_page)))) return;
  const bool receives = qpc.get(Q::rq_type) != prm::qpc_rq_type::zero && qp->service != QpService::xrc;
  if (receives && !(receive_cq = c.find(c.card.cqs, qpc.get(Q::cqn_rcv)))) return;
  if (!take_shared(c, qpc, *qp)) return;
  const std::uint32_t counter_number = qpc.get(Q::counter_set_id);
  QCounter* counter = counter_number ? c.find(c.card.q_counters, counter_number) : nullptr;
  if (counter_number && !counter) return;
  if (!place_rings(c, in, *qp)) return;

  qp->pd = Ref<Pd>(pd);
  qp->send_cq = Ref<Cq>(send_cq);
  qp->receive_cq = Ref<Cq>(receive_cq);
  qp->uar = Ref<Uar>(uar);
  qp->q_counter = Ref<QCounter>(counter);
  if (!c.good(c.card.engine->prepare(*qp, QpState::reset, qp->attributes), "the transport of a queue pair")) {
    return;
  }
  Qp* const made = c.publish(c.card.qps, std::move(qp));
  if (!made) return;
  if (made->service == QpService::gsi) c.card.gsi = made;
  out.set(prm::create_qp_out::qpn, made->number);
}

void query_qp(Command& c, In<prm::query_qp> in, Out<prm::query_qp> out) noexcept {
  const Qp* qp = c.find(c.card.qps, in.get(prm::query_qp_in::qpn));
  if (!qp) return;
  const auto qpc = out.at(prm::query_qp_out::qpc);
  qpc.set(Q::state, static_cast<prm::qpc_state>(qp->state))
      .set(Q::st, static_cast<prm::qpc_st>(qp->service))
      .set(Q::pm_state, prm::qpc_pm_state::migrated)
      .set(Q::end_padding_mode, qp->pad_to_cache_line ? prm::qpc_end_padding_mode::pad_to_cache_line_alignment
                                                      : prm::qpc_end_padding_mode::scatter_as_is)
      .set(Q::block_lb_mc, qp->block_own_multicast)
      .set(Q::pd, qp->pd ? qp->pd->number : 0)
      .set(Q::no_sq, !qp->has_send)
      .set(Q::rq_type, qp->has_receive ? prm::qpc_rq_type::regular
                       : qp->srq       ? prm::qpc_rq_type::srq
                                       : prm::qpc_rq_type::zero)
      .set(Q::srqn_rmpn_xrqn, qp->srq ? qp->srq->number : 0)
      .set(Q::xrcd, qp->xrcd ? qp->xrcd->number : 0)
      .set(Q::ts_format, static_cast<prm::timestamp_format>(qp->timestamp))
      .set(Q::rlky, qp->reserved_lkey)
      .set(Q::counter_set_id, qp->q_counter ? qp->q_counter->number : 0)
      .set(Q::uar_page, qp->uar ? qp->uar->number : 0)
      .set(Q::user_index, qp->user_index)
      .set(Q::cqn_snd, qp->send_cq ? qp->send_cq->number : 0)
      .set(Q::cqn_rcv, qp->receive_cq ? qp->receive_cq->number : 0)
      .set(Q::cs_req, cs_req_of(*qp))
      .set(Q::cs_res, static_cast<prm::qpc_cs_res>(qp->scatter_to_receive_cqe / 32));
  if (qp->has_send) qpc.set(Q::log_sq_size, qp->send.log_size);
  if (qp->has_receive) {
    qpc.set(Q::log_rq_size, qp->receive.log_size)
        .set(Q::log_rq_stride, qp->receive.log_stride - log_min_stride);
  }
  put_attributes(qpc, qp->attributes);
  put_progress(qpc, c.card.engine->progress(*qp));
}

void destroy_qp(Command& c, In<prm::destroy_qp> in, Out<prm::destroy_qp>) noexcept {
  auto* qp = c.find(c.card.qps, in.get(prm::destroy_qp_in::qpn));
  if (!qp || !c.unused(*qp)) return;
  c.card.engine->forget(*qp);
  if (c.card.gsi == qp) c.card.gsi = nullptr;
  c.retire(c.card.qps, *qp);
}

}  // namespace chime::model
