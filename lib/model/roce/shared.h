// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "model/card.h"
#include "model/datapath/completions.h"
#include "model/datapath/egress.h"
#include "model/datapath/events.h"
#include "model/datapath/keys.h"
#include "model/datapath/port.h"
#include "model/roce/data_segments.h"
#include "model/roce/outbox.h"
#include "model/roce/qp_list.h"
#include "model/roce/send_wqe.h"
#include "model/roce/timers.h"

namespace chime::model {

/// What the parts of the RoCE engine have in common. One thread steps a card: an operation on memory is
/// atomic against those of every other QP because nothing comes in between.
struct RoceShared {
  RoceShared(Hca::Card& c, Events& e, Completions& done, Keys& k, Port& p, Egress& egress) noexcept
      : card(c), events(e), completions(done), keys(k), port(p), mover(k), outbox(c, p, egress) {}

  /// The QP has something to do at the next step.
  void wake(Qp& qp) noexcept {
    if (qp.transport.busy) return;
    qp.transport.busy = true;
    busy.append(qp);
  }
  void sleep(Qp& qp) noexcept {
    if (!qp.transport.busy) return;
    qp.transport.busy = false;
    busy.remove(qp);
  }

  /// As whom the QP reaches the memory that the other end names; with no PD when an XRC queue is gone.
  KeyUser target_user(const Qp& qp, std::uint32_t srqn) const noexcept {
    if (qp.service != QpService::xrc) return {qp.pd.get(), qp.number};
    const Srq* const named = card.srqs.find(srqn);
    return {named ? named->pd.get() : nullptr, qp.number};
  }
  KeyUser target_user(const Qp& qp) const noexcept {
    return {qp.service != QpService::xrc ? qp.pd.get() : srq ? srq->pd.get() : nullptr, qp.number};
  }

  Hca::Card& card;
  Events& events;
  Completions& completions;
  Keys& keys;
  Port& port;
  DataMover mover;
  Outbox outbox;
  Timers timers;
  QpList<&QpTransport::busy_link> busy;
  Srq* srq = nullptr;  ///< where receive requests of the packet at hand come from; none: from its QP
  SendWqe wqe;         ///< the one that is executed
  SendWqe answered;    ///< the one that a response is for: a response may come while another is executed
};

}  // namespace chime::model
