// SPDX-License-Identifier: BSD-3-Clause
#include "wire/faulty_wire.h"

namespace chime::wire {

FaultyWire::~FaultyWire() {
  registry_.remove(entry_);
}

void FaultyWire::carry(Owned<BareWire> wire, std::uint32_t link_mbps) noexcept {
  wire_ = std::move(wire);
  link_mbps_ = link_mbps;
  registry_.publish(entry_, *this);
}

void FaultyWire::plug(model::WirePort* port) noexcept {
  if (!port) {
    in_.clear();
    out_.clear();
  }
  port_ = port;
  wire_->plug(port ? this : nullptr);
  wire_changed();
}

void FaultyWire::transmit(std::span<const model::Frame> frames) noexcept {
  if (!out_.active()) {
    wire_->transmit(frames);
    return;
  }
  out_.pass(frames, clock_.nanoseconds());
}

void FaultyWire::deliver(std::span<const model::Frame> frames) noexcept {
  if (!in_.active()) {
    inwards_.take(frames);
    return;
  }
  in_.pass(frames, clock_.nanoseconds());
}

unsigned FaultyWire::poll(unsigned budget) noexcept {
  unsigned done = 0;
  if (out_.holding() || in_.holding()) {
    std::uint64_t now = clock_.nanoseconds();
    done = out_.release(now) + in_.release(now);
  }
  return done + wire_->poll(budget);
}

model::WireLink FaultyWire::link() const noexcept {
  model::WireLink link = wire_->link();
  link.up = link.up && !link_down_;
  if (link_mbps_ != 0) link.speed_mbps = link_mbps_;
  return link;
}

void FaultyWire::wire_changed() noexcept {
  if (port_) port_->wire_changed();
}

WireStatistics FaultyWire::statistics() const noexcept {
  WireStatistics s = wire_->counters().snapshot();
  for (const InjectedFaults& way : {out_.injected(), in_.injected()}) {
    s.injected.lost += way.lost;
    s.injected.duplicated += way.duplicated;
    s.injected.reordered += way.reordered;
    s.injected.corrupted += way.corrupted;
    s.injected.delayed += way.delayed;
    s.injected.link_down += way.link_down;
    s.injected.no_room += way.no_room;
  }
  return s;
}

Result<> FaultyWire::set_faults(const FaultSpec& faults) noexcept {
  Result<> result;
  executor_.run([&]() noexcept {
    result = out_.reserve(faults);
    if (result && !one_way_) result = in_.reserve(faults);
    if (!result) return;
    out_.set(faults, 0);
    if (!one_way_) in_.set(faults, 1);
    if (link_down_ == faults.link_down) return;
    link_down_ = faults.link_down;
    wire_changed();
  });
  return result;
}

}  // namespace chime::wire
