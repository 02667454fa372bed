// SPDX-License-Identifier: BSD-3-Clause
#include "model/command/handlers.h"
#include "model/command/qp_attributes.h"

/// @file
/// The states of a queue pair:
///
///      RST --> INIT --> RTR --> RTS <-- SQER (a send failed: UC, UD)
///               |_^             |_^ <-- SQD
///
/// and from each to ERR and to RST. The command says which; the state in its context counts for nothing.
/// No command leads to SQD: mlx5_ifc.h has SQD_RTS_QP (0x50c) alone, which leads out of it, so it is always
/// refused with BAD_QP_STATE_ERR.

namespace chime::model {
namespace {

using Optional = prm::qp_opt_param;

/// All transitions have one layout; this is it.
using Layout = prm::rst2init_qp_in;
template <class... C>
constexpr bool same_layout = ((C::in::size == Layout::size) && ...);
static_assert(same_layout<prm::init2init_qp, prm::init2rtr_qp, prm::rtr2rts_qp, prm::rts2rts_qp,
                          prm::sqerr2rts_qp, prm::sqd_rts_qp>);

struct Transition {
  QpState from;
  QpState to;
  bool (QpAttributeReader::*required)() noexcept;
  std::uint32_t optional[3];  ///< by service: RC, UC, UD
};

/// RC and XRC, UC, UD and GSI have a row each; a queue pair for UMR has no options.
std::uint32_t options_of(const Transition& step, QpService service) noexcept {
  if (service == QpService::umr) return 0;
  return step.optional[is_reliable(service) ? 0 : service == QpService::uc ? 1 : 2];
}

constexpr std::uint32_t rights = Optional::rre | Optional::rae | Optional::rwe;

constexpr Transition rst2init{QpState::reset, QpState::init, &QpAttributeReader::to_init, {0, 0, 0}};
constexpr Transition init2init{QpState::init,
                               QpState::init,
                               nullptr,
                               {rights | Optional::pkey_index | Optional::pri_port,
                                Optional::rwe | Optional::pkey_index | Optional::pri_port,
                                Optional::q_key | Optional::pkey_index | Optional::pri_port}};
constexpr Transition init2rtr{QpState::init,
                              QpState::rtr,
                              &QpAttributeReader::to_rtr,
                              {rights | Optional::pkey_index, Optional::rwe | Optional::pkey_index,
                               Optional::q_key | Optional::pkey_index}};
constexpr Transition rtr2rts{QpState::rtr,
                             QpState::rts,
                             &QpAttributeReader::to_rts,
                             {rights | Optional::rnr_timeout, Optional::rwe, Optional::q_key}};
constexpr Transition rts2rts{
    QpState::rts,
    QpState::rts,
    nullptr,
    {rights | Optional::rnr_timeout | Optional::counter_set_id, Optional::rwe | Optional::counter_set_id,
     Optional::q_key | Optional::counter_set_id}};
constexpr Transition sqerr2rts{
    QpState::sqer, QpState::rts, nullptr, {rights | Optional::rnr_timeout, Optional::rwe, Optional::q_key}};
constexpr Transition sqd2rts{
    QpState::sqd, QpState::rts, nullptr, {rights | Optional::rnr_timeout, Optional::rwe, Optional::q_key}};

/// The counters that RTS to RTS names. @return false when it refused
bool read_counter(Command& c, const Qp& qp, std::uint32_t number, QCounter*& counter) noexcept {
  if (!c.card.capabilities.general().get(prm::cmd_hca_cap::rts2rts_qp_counters_set_id)) {
    c.refuse(Rule::qp_optional, qp.number,
             "counter_set_id; this card does not change it (rts2rts_qp_counters_set_id)");
    return false;
  }
  counter = number ? c.find(c.card.q_counters, number) : nullptr;
  return !number || counter;
}

void transit(Command& c, std::span<const std::byte> input, const Transition& step) noexcept {
  const prm::ConstView<Layout> in(input);
  Qp* const qp = c.find(c.card.qps, in.get(Layout::qpn));
  if (!qp) return;
  if (qp->state != step.from) {
    return c.refuse(Rule::qp_state, qp->number, "QP %#x is in state %s; this leads from %s to %s", qp->number,
                    name(qp->state), name(step.from), name(step.to));
  }
  const std::uint32_t mask = in.get(Layout::opt_param_mask);
  const std::uint32_t possible = options_of(step, qp->service);
  if (mask & ~possible) {
    return c.refuse(Rule::qp_optional, qp->number,
                    "opt_param_mask %#x; from %s to %s a %s queue pair has %#x", mask, name(step.from),
                    name(step.to), name(qp->service), possible);
  }
  const auto context = in.at(Layout::qpc);
  QpAttributeReader reader(c, *qp, context);
  if (step.required && !(reader.*step.required)()) return;
  if (!reader.optional(mask)) return;
  QCounter* counter = qp->q_counter.get();
  if ((mask & Optional::counter_set_id) &&
      !read_counter(c, *qp, context.get(prm::qpc::counter_set_id), counter)) {
    return;
  }
  // A new queue pair may be told at once where it counts.
  const std::uint32_t first_counter = context.get(prm::qpc::counter_set_id);
  if (step.from == QpState::reset && first_counter != 0) {
    counter = c.find(c.card.q_counters, first_counter);
    if (!counter) return;
  }
  if (!c.good(c.card.engine->prepare(*qp, step.to, reader.next()), "the transport of a queue pair")) return;

  if (counter != qp->q_counter.get()) qp->q_counter = Ref<QCounter>(counter);
  qp->attributes = reader.next();
  qp->state = step.to;
  c.card.engine->state_changed(*qp, step.from);
}

/// To ERR or RST, from wherever it is.
void leave(Command& c, std::uint32_t number, QpState to) noexcept {
  Qp* const qp = c.find(c.card.qps, number);
  if (!qp || qp->state == to) return;
  const QpState from = qp->state;
  if (to == QpState::reset) {
    qp->attributes = {};
    qp->attributes.atomic_like_write = qp->atomic_like_write;
  }
  qp->state = to;
  c.card.engine->state_changed(*qp, from);
}

}  // namespace

void rst2init_qp(Command& c, In<prm::rst2init_qp> in, Out<prm::rst2init_qp>) noexcept {
  transit(c, in.bytes(), rst2init);
}

void init2init_qp(Command& c, In<prm::init2init_qp> in, Out<prm::init2init_qp>) noexcept {
  transit(c, in.bytes(), init2init);
}

void init2rtr_qp(Command& c, In<prm::init2rtr_qp> in, Out<prm::init2rtr_qp>) noexcept {
  transit(c, in.bytes(), init2rtr);
}

void rtr2rts_qp(Command& c, In<prm::rtr2rts_qp> in, Out<prm::rtr2rts_qp>) noexcept {
  transit(c, in.bytes(), rtr2rts);
}

void rts2rts_qp(Command& c, In<prm::rts2rts_qp> in, Out<prm::rts2rts_qp>) noexcept {
  transit(c, in.bytes(), rts2rts);
}

void sqerr2rts_qp(Command& c, In<prm::sqerr2rts_qp> in, Out<prm::sqerr2rts_qp>) noexcept {
  transit(c, in.bytes(), sqerr2rts);
}

void sqd_rts_qp(Command& c, In<prm::sqd_rts_qp> in, Out<prm::sqd_rts_qp>) noexcept {
  transit(c, in.bytes(), sqd2rts);
}

void qp_2err(Command& c, In<prm::qp_2err> in, Out<prm::qp_2err>) noexcept {
  leave(c, in.get(prm::qp_2err_in::qpn), QpState::err);
}

void qp_2rst(Command& c, In<prm::qp_2rst> in, Out<prm::qp_2rst>) noexcept {
  leave(c, in.get(prm::qp_2rst_in::qpn), QpState::reset);
}

}  // namespace chime::model
