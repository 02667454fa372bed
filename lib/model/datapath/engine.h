// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/array.h"
#include "base/error.h"
#include "model/hca.h"
#include "model/object/qp.h"
#include "model/object/queue.h"
#include "model/object/steering.h"
#include "model/wire.h"
#include "prm/eqe.h"

/// @file
/// The seam between the card's two halves: what doorbells and commands ask of the datapath.

namespace chime::model {

/// Data words of an event, in host order.
using EventData = std::array<std::uint32_t, 7>;

/// Executes work requests, steers and receives packets, writes CQEs and EQEs.
class Engine final : public WirePort {
 public:
  static Result<Owned<Engine>> create(Hca::Card& card) noexcept;
  ~Engine() override;

  // Doorbells; `uar` was looked up.
  void ring_send(Uar& uar, std::uint64_t value) noexcept;
  void ring_cq(Uar& uar, std::uint64_t value) noexcept;
  void ring_eq(Uar& uar, std::uint32_t word, bool arm) noexcept;
  void replay_records(Uar& uar) noexcept;

  /// One step: the wire's frames and rung queues. @return units of work done
  unsigned run() noexcept;

  // The wire.
  void deliver(std::span<const Frame> frames) noexcept override;
  void wire_changed() noexcept override;

  // Commands, before they take effect.
  /// A TIR that was made, or whose hash function or key is to change: call it with the new values in place,
  /// and refuse the command when it fails (ENOMEM; the TIR hashes as before then).
  static Result<> prepare(Tir& tir) noexcept;
  /// A QP that goes from `qp.state` to `to` (the same state: some attributes change) with the attributes
  /// `next`: makes what its transport will need. Called when all else of the command is found good; the
  /// command is refused when it fails (ENOMEM), and the QP stays as it is.
  Result<> prepare(Qp& qp, QpState to, const QpAttributes& next) noexcept;

  // Commands, after they took effect.
  /// The state was `from`; a queue that went to error is flushed, one that went to reset forgets its indices.
  void state_changed(Sq& sq, QueueState from) noexcept;
  void state_changed(Rq& rq, QueueState from) noexcept;
  /// `qp.state` and `qp.attributes` are the new ones. `from` is the same state where attributes changed only.
  void state_changed(Qp& qp, QpState from) noexcept;
  /// PAOS or the vport's admin state changed.
  void port_changed() noexcept;
  /// A CQ was made or modified: it may have an event to raise (moderation).
  void cq_changed(Cq& cq) noexcept;
  /// A CQ is to go on in another ring. @return false, and it stays where it is, when there is no room to say
  /// so
  bool resize(Cq& cq, Ring next) noexcept;
  /// A table's groups, entries, miss or a root changed. `table` stays until forget().
  void steering_changed(FlowTable& table) noexcept;

  // Commands, before the object goes. Nothing may remember it afterwards.
  void forget(Sq& sq) noexcept;
  void forget(Rq& rq) noexcept;
  void forget(Qp& qp) noexcept;
  void forget(Cq& cq) noexcept;
  void forget(Eq& eq) noexcept;
  void forget(FlowTable& table) noexcept;

  /// For QUERY_QP.
  QpProgress progress(const Qp& qp) const noexcept;

  /// Raises an event on every EQ that listens to its type.
  void raise(prm::event_type type, std::uint8_t sub_type, const EventData& data) noexcept;

 private:
  struct State;
  explicit Engine(Owned<State> state) noexcept;
  Owned<State> state_;
};

}  // namespace chime::model
