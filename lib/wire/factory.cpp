// SPDX-License-Identifier: BSD-3-Clause
#include "wire/factory.h"

#include <cstring>

#include "wire/answering_wire.h"
#include "wire/cable.h"
#include "wire/ethdev.h"
#include "wire/ethdev_events.h"
#include "wire/faulty_wire.h"
#include "wire/loop.h"
#include "wire/registry.h"
#include "wire/tap.h"

namespace chime::wire {

namespace {

bool is_tap(const char* wire) noexcept {
  return std::strncmp(wire, "tap:", 4) == 0;
}

}  // namespace

struct Factory::State {
  Registry registry;
  CableBoard cables;
  EthdevEvents events;

  Result<Owned<BareWire>> make_bare(const WireSpec& spec, Executor& executor, model::Clock& clock) noexcept;
};

Factory::Factory(Owned<State> state) noexcept : state_(std::move(state)) {}
Factory::~Factory() = default;

Result<Owned<Factory>> Factory::create() noexcept {
  auto state = make_owned<State>("the wires of a process");
  if (!state) return fail(state.error());
  if (auto ok = (*state)->events.start(); !ok) return fail(ok.error());
  Owned<Factory> factory(new (std::nothrow) Factory(std::move(*state)));
  if (!factory) return fail(ENOMEM, "no memory for the wires of a process");
  return factory;
}

Result<Owned<BareWire>> Factory::State::make_bare(const WireSpec& spec, Executor& executor,
                                                  model::Clock& clock) noexcept {
  if (std::strcmp(spec.wire, "loop") == 0) {
    auto loop = make_owned<LoopWire>("a looped wire");
    if (!loop) return fail(loop.error());
    return Owned<BareWire>(std::move(*loop));
  }
  if (is_cable(spec.wire)) return cables.take_end(spec.wire + 6, spec.port_name, executor);
  if (is_tap(spec.wire)) return TapWire::make(spec.port_name, spec.wire + 4);
  auto ethdev = EthdevWire::make(spec.port_name, spec.wire, events, executor, clock);
  if (!ethdev) return fail(ethdev.error());
  return Owned<BareWire>(std::move(*ethdev));
}

Result<Owned<Port>> Factory::make(const WireSpec& spec, Executor& executor, model::Clock& clock) noexcept {
  const char* name = is_cable(spec.wire) ? spec.wire + 6 : spec.wire;
  if (*spec.port_name == '\0' || !Name::fits(spec.port_name)) {
    return fail(EINVAL, "a wire's port needs a name of 1 to %zu characters", Name::capacity - 1);
  }
  if (*name == '\0' || !Name::fits(spec.wire)) {
    return fail(EINVAL,
                "%s: \"%.80s\" is not a wire: it is loop, cable:NAME, tap:INTERFACE or the name of an "
                "ethdev, up to %zu characters",
                spec.port_name, spec.wire, Name::capacity - 1);
  }

  bool looped = std::strcmp(spec.wire, "loop") == 0;
  auto wire = make_owned<FaultyWire>("a wire", looped, state_->registry, executor, clock);
  if (!wire) return fail(wire.error());
  Registry::Entry& entry = (*wire)->entry();
  entry.port = spec.port_name;
  entry.wire_name = spec.wire;
  if (auto ok = state_->registry.add(entry); !ok) return fail(ok.error());
  auto bare = state_->make_bare(spec, executor, clock);
  if (!bare) return fail(bare.error());
  (*wire)->carry(std::move(*bare), spec.link_mbps);
  if (auto ok = (*wire)->set_faults(spec.faults); !ok) {
    return fail(ok.error().within("%s: faults of wire %s", spec.port_name, spec.wire));
  }
  if (!spec.responder) return Owned<Port>(std::move(*wire));
  auto answering = make_owned<AnsweringWire>("a wire's responder", Owned<Port>(std::move(*wire)), executor);
  if (!answering) return fail(answering.error());
  return Owned<Port>(std::move(*answering));
}

Result<WireStatistics> Factory::statistics(const char* port_name) const noexcept {
  return state_->registry.with(
      port_name, [](Port& wire) noexcept -> Result<WireStatistics> { return wire.statistics(); });
}

Result<> Factory::set_faults(const char* port_name, const FaultSpec& faults) noexcept {
  return state_->registry.with(port_name, [&](Port& wire) noexcept { return wire.set_faults(faults); });
}

}  // namespace chime::wire
