// SPDX-License-Identifier: BSD-3-Clause
#include "wire/answering_wire.h"

namespace chime::wire {

void AnsweringWire::plug(model::WirePort* port) noexcept {
  port_ = port;
  wire_->plug(port ? this : nullptr);
}

void AnsweringWire::deliver(std::span<const model::Frame> frames) noexcept {
  if (!port_) return;
  std::size_t first = 0;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (!answers_.take(frames[i])) continue;
    if (i != first) port_->deliver(frames.subspan(first, i - first));
    first = i + 1;
  }
  if (first != frames.size()) port_->deliver(frames.subspan(first));
}

void AnsweringWire::wire_changed() noexcept {
  if (port_) port_->wire_changed();
}

unsigned AnsweringWire::poll(unsigned budget) noexcept {
  if (answers_.waiting())
    answers_.flush([&](std::span<const model::Frame> frames) { wire_->transmit(frames); });
  return wire_->poll(budget);
}

Result<> AnsweringWire::answer_for(std::span<const OwnAddress> addresses) noexcept {
  Result<> result;
  executor_.run([&]() noexcept { result = answers_.set(addresses); });
  return result;
}

}  // namespace chime::wire
