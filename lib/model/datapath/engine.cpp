// SPDX-License-Identifier: BSD-3-Clause
#include "model/datapath/engine.h"

#include "model/card.h"
#include "model/datapath/completions.h"
#include "model/datapath/egress.h"
#include "model/datapath/events.h"
#include "model/datapath/keys.h"
#include "model/datapath/port.h"
#include "model/datapath/receive.h"
#include "model/datapath/send_batch.h"
#include "model/datapath/transmit.h"
#include "model/roce/roce.h"

namespace chime::model {

struct Engine::State {
  explicit State(Hca::Card& c) noexcept
      : card(c),
        events(c),
        completions(c, events),
        keys(c),
        port(c, events),
        egress(c, port),
        transmit(c, events, completions, keys, port, egress, batch),
        roce(c, events, completions, keys, port, egress),
        receive(c, completions, keys, port, roce) {
    egress.turn_back_to(receive);
  }

  Hca::Card& card;
  Events events;
  Completions completions;
  Keys keys;
  Port port;
  Egress egress;
  SendBatch batch;
  Transmit transmit;
  Roce roce;
  Receive receive;
};

Engine::Engine(Owned<State> state) noexcept : state_(std::move(state)) {}

Result<Owned<Engine>> Engine::create(Hca::Card& card) noexcept {
  auto state = make_owned<State>("the card's datapath", card);
  if (!state) return fail(state.error());
  Owned<Engine> engine(new (std::nothrow) Engine(std::move(*state)));
  if (!engine) return fail(ENOMEM, "no memory for the card's datapath");
  engine->state_->port.changed();
  return engine;
}

Engine::~Engine() = default;

void Engine::ring_send(Uar& uar, std::uint64_t value) noexcept {
  state_->card.host.refresh();
  const std::uint64_t words = prm::host_to_be(value);
  if (Qp* const qp = state_->card.qps.find(static_cast<std::uint32_t>(words) >> 8)) {
    state_->roce.ring(uar, *qp, static_cast<std::uint16_t>(words >> 40), words & prm::max_ds);
    return;
  }
  state_->transmit.ring(uar, value);
}

void Engine::ring_cq(Uar& uar, std::uint64_t value) noexcept {
  state_->card.host.refresh();
  state_->completions.ring(uar, value);
}

void Engine::ring_eq(Uar& uar, std::uint32_t word, bool arm) noexcept {
  state_->events.ring(uar, word, arm);
}

void Engine::replay_records(Uar& uar) noexcept {
  state_->card.host.refresh();
  state_->card.sqs.for_each([&](Sq& sq) {
    if (sq.uar.get() == &uar) state_->transmit.replay(sq);
  });
  state_->card.qps.for_each([&](Qp& qp) {
    if (qp.uar.get() == &uar) state_->roce.replay(qp);
  });
  state_->card.cqs.for_each([&](Cq& cq) {
    if (cq.uar.get() == &uar) state_->completions.replay(cq);
  });
}

unsigned Engine::run() noexcept {
  constexpr unsigned frames_per_step = 128;
  state_->card.host.refresh();
  unsigned work = state_->transmit.run();
  work += state_->roce.run();
  work += state_->card.around.wire.poll(frames_per_step);
  return work + state_->completions.run();
}

void Engine::deliver(std::span<const Frame> frames) noexcept {
  state_->card.host.refresh();
  state_->receive.deliver(frames);
}

void Engine::wire_changed() noexcept {
  state_->card.host.refresh();
  state_->port.changed();
}

Result<> Engine::prepare(Tir& tir) noexcept {
  if (tir.hash != Tir::HashFunction::toeplitz) {
    tir.toeplitz.reset();
    return {};
  }
  auto key = net::Toeplitz::create(std::as_bytes(std::span(tir.toeplitz_key)));
  if (!key) return fail(key.error());
  tir.toeplitz = std::move(*key);
  return {};
}

void Engine::state_changed(Sq& sq, QueueState from) noexcept {
  state_->transmit.state_changed(sq, from);
}

void Engine::state_changed(Rq& rq, QueueState from) noexcept {
  state_->receive.state_changed(rq, from);
}

Result<> Engine::prepare(Qp& qp, QpState to, const QpAttributes& next) noexcept {
  return state_->roce.prepare(qp, to, next);
}

void Engine::state_changed(Qp& qp, QpState from) noexcept {
  state_->card.host.refresh();
  state_->roce.state_changed(qp, from);
}

void Engine::port_changed() noexcept {
  state_->port.changed();
}

void Engine::cq_changed(Cq& cq) noexcept {
  state_->completions.changed(cq);
}

bool Engine::resize(Cq& cq, Ring next) noexcept {
  state_->completions.begin_burst();
  return state_->completions.resize(cq, std::move(next));
}

void Engine::steering_changed(FlowTable&) noexcept {
  // Tables are searched as they are: nothing is compiled.
}

void Engine::forget(Sq& sq) noexcept {
  state_->transmit.forget(sq);
}

void Engine::forget(Rq&) noexcept {}

void Engine::forget(Qp& qp) noexcept {
  state_->roce.forget(qp);
}

void Engine::forget(Cq& cq) noexcept {
  state_->completions.forget(cq);
}

void Engine::forget(Eq&) noexcept {}

void Engine::forget(FlowTable&) noexcept {}

QpProgress Engine::progress(const Qp& qp) const noexcept {
  return qp.transport.progress();
}

void Engine::raise(prm::event_type type, std::uint8_t sub_type, const EventData& data) noexcept {
  state_->events.raise(type, sub_type, data);
}

}  // namespace chime::model
