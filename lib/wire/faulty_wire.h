// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/array.h"
#include "wire/bare_wire.h"
#include "wire/factory.h"
#include "wire/fault_stage.h"
#include "wire/name.h"
#include "wire/registry.h"

namespace chime::wire {

/// Any wire, with fault injection on both ways; what the factory hands out. A good wire costs one call a
/// batch.
class FaultyWire final : public Port, private model::WirePort {
 public:
  /// @param one_way what is sent comes back through transmit() alone: injects on that way only
  FaultyWire(bool one_way, Registry& registry, Executor& executor, model::Clock& clock) noexcept
      : registry_(registry), executor_(executor), clock_(clock), one_way_(one_way) {}
  ~FaultyWire() override;

  void plug(model::WirePort* port) noexcept override;
  void transmit(std::span<const model::Frame> frames) noexcept override;
  unsigned poll(unsigned budget) noexcept override;
  model::WireLink link() const noexcept override;
  std::uint32_t largest_frame() const noexcept override { return wire_->largest_frame(); }
  /// Faults befall single frames.
  bool cuts() const noexcept override { return !out_.active() && wire_->cuts(); }
  bool loops() const noexcept override { return wire_->loops(); }

  Result<> ready() noexcept override { return wire_->ready(); }
  void begin() noexcept override { wire_->begin(); }
  void end() noexcept override { wire_->end(); }
  int descriptor() const noexcept override { return wire_->descriptor(); }
  WireStatistics statistics() const noexcept override;
  Result<> set_faults(const FaultSpec& faults) noexcept override;

  Registry::Entry& entry() noexcept { return entry_; }
  /// Completes it: from now on the registry knows it.
  /// @param link_mbps announced; 0: the wire's own
  void carry(Owned<BareWire> wire, std::uint32_t link_mbps) noexcept;

 private:
  void deliver(std::span<const model::Frame> frames) noexcept override;
  void wire_changed() noexcept override;

  struct Outwards final : FrameSink {
    explicit Outwards(FaultyWire& wire) noexcept : wire_(wire) {}
    void take(std::span<const model::Frame> frames) noexcept override { wire_.wire_->transmit(frames); }
    FaultyWire& wire_;
  };
  struct Inwards final : FrameSink {
    explicit Inwards(FaultyWire& wire) noexcept : wire_(wire) {}
    void take(std::span<const model::Frame> frames) noexcept override {
      if (wire_.port_) wire_.port_->deliver(frames);
    }
    FaultyWire& wire_;
  };

  Owned<BareWire> wire_;
  Registry& registry_;
  Executor& executor_;
  model::Clock& clock_;
  const bool one_way_;
  bool link_down_ = false;
  std::uint32_t link_mbps_ = 0;
  model::WirePort* port_ = nullptr;
  Outwards outwards_{*this};
  Inwards inwards_{*this};
  FaultStage out_{outwards_}, in_{inwards_};
  Registry::Entry entry_;
};

}  // namespace chime::wire
