// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <utility>

#include "base/array.h"
#include "wire/factory.h"
#include "wire/neighbour_answers.h"

namespace chime::wire {

/// A wire beside which somebody answers ARP and neighbour discovery for the port's addresses, as a host's
/// kernel does for a card. What is answered, the port does not see. Answers go out at the next poll.
class AnsweringWire final : public Port, private model::WirePort {
 public:
  AnsweringWire(Owned<Port> wire, Executor& executor) noexcept
      : wire_(std::move(wire)), executor_(executor) {}

  void plug(model::WirePort* port) noexcept override;
  void transmit(std::span<const model::Frame> frames) noexcept override { wire_->transmit(frames); }
  unsigned poll(unsigned budget) noexcept override;
  model::WireLink link() const noexcept override { return wire_->link(); }
  std::uint32_t largest_frame() const noexcept override { return wire_->largest_frame(); }
  bool cuts() const noexcept override { return wire_->cuts(); }
  bool loops() const noexcept override { return wire_->loops(); }

  Result<> ready() noexcept override { return wire_->ready(); }
  void begin() noexcept override { wire_->begin(); }
  void end() noexcept override { wire_->end(); }
  int descriptor() const noexcept override { return wire_->descriptor(); }
  WireStatistics statistics() const noexcept override { return wire_->statistics(); }
  Result<> set_faults(const FaultSpec& faults) noexcept override { return wire_->set_faults(faults); }
  bool answers() const noexcept override { return true; }
  Result<> answer_for(std::span<const OwnAddress> addresses) noexcept override;

 private:
  void deliver(std::span<const model::Frame> frames) noexcept override;
  void wire_changed() noexcept override;

  Owned<Port> wire_;
  Executor& executor_;
  model::WirePort* port_ = nullptr;
  NeighbourAnswers answers_;
};

}  // namespace chime::wire
