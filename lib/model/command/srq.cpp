// SPDX-License-Identifier: BSD-3-Clause
#include "model/command/handlers.h"
#include "model/command/pages.h"
#include "model/command/work_queue.h"

/// @file
/// XRC shared receive queues, and receive memory pools.

namespace chime::model {
namespace {

using X = prm::xrc_srqc;
using P = prm::rmpc;
using Caps = prm::cmd_hca_cap;

constexpr std::uint32_t log_min_stride = 4;
constexpr std::uint32_t arm_op_mod = 1;  ///< Linux: MLX5_ARM_XRC_SRQ_IN_OP_MOD_XRC_SRQ

Srq* find(Command& c, std::uint32_t number, Srq::Type type) noexcept {
  Srq* const srq = c.find(c.card.srqs, number);
  if (!srq || srq->type == type) return srq;
  c.refuse(Rule::unknown_object, number, "SRQ %#x is %s", number,
           type == Srq::Type::xrc ? "a receive memory pool" : "one of XRC");
  return nullptr;
}

/// A request has a next segment and at least one data segment.
bool stride_fits(Command& c, std::uint32_t log_stride) noexcept {
  if ((1u << log_stride) >= Srq::next_segment + prm::wqe_unit) return true;
  c.refuse(Rule::srq_stride, 0, "requests of %u bytes: no room behind the next segment", 1u << log_stride);
  return false;
}

bool place(Command& c, In<prm::create_xrc_srq> in, Srq& srq) noexcept {
  const auto context = in.at(prm::create_xrc_srq_in::xrc_srq_context_entry);
  const std::uint32_t log_size = context.get(X::log_xrc_srq_size);
  const std::uint32_t log_stride = context.get(X::log_rq_stride) + log_min_stride;
  const std::uint32_t largest = c.card.capabilities.general().get(Caps::log_max_srq_sz);
  if (log_size > largest) {
    c.refuse(Rule::srq_size, 0, "2^%u requests; the card allows 2^%u (log_max_srq_sz)", log_size, largest);
    return false;
  }
  if (!stride_fits(c, log_stride)) return false;
  const QueueIn where{.pages = page_list(in.bytes().subspan(prm::create_xrc_srq_in::size),
                                         context.get(X::log_page_size), context.get(X::page_offset)),
                      .length = std::uint64_t{1} << (log_size + log_stride),
                      .alignment = std::uint64_t{1} << log_stride};
  if (!place_queue(c, where, srq.ring.buffer)) return false;
  srq.ring.log_size = static_cast<std::uint8_t>(log_size);
  srq.ring.log_stride = static_cast<std::uint8_t>(log_stride);
  return place_record(c, false, 0, context.get(X::db_record_addr), srq.record);
}

}  // namespace

void create_xrc_srq(Command& c, In<prm::create_xrc_srq> in, Out<prm::create_xrc_srq> out) noexcept {
  const auto context = in.at(prm::create_xrc_srq_in::xrc_srq_context_entry);
  if (!c.card.capabilities.general().get(Caps::xrc)) {
    return c.refuse(Rule::qp_service, 0, "this card has no XRC");
  }
  if (!c.absent(in.get(prm::create_xrc_srq_in::xrc_srq_umem_valid), Rule::srq_feature,
                "xrc_srq_umem_valid") ||
      !c.absent(context.get(X::dbr_umem_valid), Rule::srq_feature, "dbr_umem_valid") ||
      !c.absent(context.get(X::wq_signature), Rule::srq_feature, "wq_signature") ||
      !c.absent(context.get(X::cont_srq), Rule::srq_feature, "cont_srq") ||
      !c.absent(context.get(X::basic_cyclic_rcv_wqe), Rule::srq_feature, "basic_cyclic_rcv_wqe") ||
      !c.absent(context.get(X::rlky), Rule::srq_feature, "rlky")) {
    return;
  }
  auto srq = c.make<Srq>();
  if (!srq || !place(c, in, *srq)) return;
  Pd* const pd = c.find(c.card.pds, context.get(X::pd));
  Xrcd* const xrcd = pd ? c.find_shared(c.card.xrcds, context.get(X::xrcd)) : nullptr;
  Cq* const cq = xrcd ? c.find_shared(c.card.cqs, context.get(X::cqn)) : nullptr;
  if (!cq) return;
  srq->type = Srq::Type::xrc;
  srq->pd = Ref<Pd>(pd);
  srq->xrcd = Ref<Xrcd>(xrcd);
  srq->cq = Ref<Cq>(cq);
  srq->limit = static_cast<std::uint16_t>(context.get(X::lwm));
  srq->user_index = context.get(X::user_index);
  const bool own_number = context.get(X::user_index_equal_xrc_srqn);
  Srq* const made = c.publish(c.card.srqs, std::move(srq));
  if (!made) return;
  if (own_number) made->user_index = made->number;
  out.set(prm::create_xrc_srq_out::xrc_srqn, made->number);
}

void query_xrc_srq(Command& c, In<prm::query_xrc_srq> in, Out<prm::query_xrc_srq> out) noexcept {
  const Srq* const srq = find(c, in.get(prm::query_xrc_srq_in::xrc_srqn), Srq::Type::xrc);
  if (!srq) return;
  out.at(prm::query_xrc_srq_out::xrc_srq_context_entry)
      .set(X::state, srq->failed ? 1u : 0u)
      .set(X::log_xrc_srq_size, srq->ring.log_size)
      .set(X::log_rq_stride, srq->ring.log_stride - log_min_stride)
      .set(X::xrcd, srq->xrcd->number)
      .set(X::cqn, srq->cq->number)
      .set(X::user_index, srq->user_index)
      .set(X::pd, srq->pd->number)
      .set(X::lwm, srq->limit);
}

void arm_xrc_srq(Command& c, In<prm::arm_xrc_srq> in, Out<prm::arm_xrc_srq>) noexcept {
  if (!c.op_mod_is(arm_op_mod)) return;
  Srq* const srq = find(c, in.get(prm::arm_xrc_srq_in::xrc_srqn), Srq::Type::xrc);
  if (srq) srq->limit = static_cast<std::uint16_t>(in.get(prm::arm_xrc_srq_in::lwm));
}

void destroy_xrc_srq(Command& c, In<prm::destroy_xrc_srq> in, Out<prm::destroy_xrc_srq>) noexcept {
  if (Srq* srq = find(c, in.get(prm::destroy_xrc_srq_in::xrc_srqn), Srq::Type::xrc)) {
    c.retire(c.card.srqs, *srq);
  }
}

void create_rmp(Command& c, In<prm::create_rmp> in, Out<prm::create_rmp> out) noexcept {
  const auto context = in.at(prm::create_rmp_in::ctx);
  const auto wq = context.at(P::wq);
  const auto caps = c.card.capabilities.general();
  if (context.get(P::state) != prm::rmpc_state::rdy) {
    return c.refuse(Rule::initial_state, 0, "state %u; a pool is made ready (1)",
                    static_cast<unsigned>(context.get(P::state)));
  }
  if (!c.absent(context.get(P::basic_cyclic_rcv_wqe), Rule::srq_feature, "basic_cyclic_rcv_wqe")) return;
  auto srq = c.make<Srq>();
  if (!srq) return;
  const WorkQueueLimits limits{caps.get(Caps::log_min_stride_sz_rq), caps.get(Caps::log_max_stride_sz_rq),
                               prm::wq_type::linked_list};
  Pd* const pd = c.find(c.card.pds, wq.get(prm::wq::pd));
  if (!pd || !read_work_queue(c, wq, limits, srq->ring, srq->record) ||
      !stride_fits(c, srq->ring.log_stride)) {
    return;
  }
  srq->type = Srq::Type::pool;
  srq->pd = Ref<Pd>(pd);
  srq->limit = static_cast<std::uint16_t>(wq.get(prm::wq::lwm));
  if (auto* made = c.publish(c.card.srqs, std::move(srq))) out.set(prm::create_rmp_out::rmpn, made->number);
}

void modify_rmp(Command& c, In<prm::modify_rmp> in, Out<prm::modify_rmp>) noexcept {
  Srq* const srq = find(c, in.get(prm::modify_rmp_in::rmpn), Srq::Type::pool);
  if (!srq) return;
  const auto context = in.at(prm::modify_rmp_in::ctx);
  const auto wanted = context.get(P::state);
  if (wanted != prm::rmpc_state::rdy && wanted != prm::rmpc_state::err) {
    return c.refuse(Rule::state_transition, srq->number, "state %u; there are 1 (ready) and 3 (error)",
                    static_cast<unsigned>(wanted));
  }
  srq->failed = wanted == prm::rmpc_state::err;
  if (in.at(prm::modify_rmp_in::bitmask).get(prm::rmp_bitmask::lwm)) {
    srq->limit = static_cast<std::uint16_t>(context.at(P::wq).get(prm::wq::lwm));
  }
}

void query_rmp(Command& c, In<prm::query_rmp> in, Out<prm::query_rmp> out) noexcept {
  const Srq* const srq = find(c, in.get(prm::query_rmp_in::rmpn), Srq::Type::pool);
  if (!srq) return;
  const auto context = out.at(prm::query_rmp_out::rmp_context);
  context.set(P::state, srq->failed ? prm::rmpc_state::err : prm::rmpc_state::rdy);
  context.at(P::wq)
      .set(prm::wq::wq_type, prm::wq_type::linked_list)
      .set(prm::wq::pd, srq->pd->number)
      .set(prm::wq::lwm, srq->limit)
      .set(prm::wq::hw_counter, srq->taken)
      .set(prm::wq::sw_counter, srq->posted)
      .set(prm::wq::log_wq_stride, srq->ring.log_stride)
      .set(prm::wq::log_wq_sz, srq->ring.log_size);
}

void destroy_rmp(Command& c, In<prm::destroy_rmp> in, Out<prm::destroy_rmp>) noexcept {
  if (Srq* srq = find(c, in.get(prm::destroy_rmp_in::rmpn), Srq::Type::pool)) c.retire(c.card.srqs, *srq);
}

}  // namespace chime::model
