// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>

#include "base/error.h"
#include "hca/model/memory.h"
#include "model/hca.h"
#include "prm/eqe.h"

namespace chime::hca::embedded {

class Kernel;

/// Who is told of events.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void event(const prm::Eqe& eqe) noexcept = 0;
};

/// An event queue of the kernel's: a ring of EQEs in its memory.
class EventQueue {
 public:
  static constexpr unsigned log_size = 10;

  /// @param vector     interrupt that it raises
  /// @param event_mask bit n: events of type n; completions come to where their CQ says
  /// @param uar        on which it is armed
  Result<> create(Kernel& kernel, model::Hca& hca, RegisteredMemory& memory, unsigned vector,
                  std::uint64_t event_mask, std::uint32_t uar) noexcept;
  void destroy(Kernel& kernel, RegisteredMemory& memory) noexcept;

  bool exists() const noexcept { return ring_.data() != nullptr; }
  std::uint32_t number() const noexcept { return number_; }

  /// Hands over what the card has written, tells it so, and arms the queue again. @return events
  unsigned poll(model::Hca& hca, EventSink& sink) noexcept;

 private:
  prm::Eqe& at(std::uint32_t i) noexcept;
  void ring_doorbell(model::Hca& hca, std::uint32_t offset) noexcept;

  Pages ring_;
  PageRange range_;
  std::uint32_t number_ = 0;
  std::uint32_t uar_ = 0;
  std::uint32_t consumer_ = 0;
};

}  // namespace chime::hca::embedded
