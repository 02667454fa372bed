// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "model/card.h"
#include "prm/eqe.h"

namespace chime::model {

/// Event queues: writes EQEs, raises interrupts.
class Events {
 public:
  explicit Events(Hca::Card& card) noexcept : card_(card) {}

  /// A completion event of CQ `number` for the EQ that it was created with.
  void completion(Eq& eq, std::uint32_t number) noexcept;
  /// An event for every EQ that listens to its type.
  void raise(prm::event_type type, std::uint8_t sub_type, const EventData& data) noexcept;
  /// A store to an EQ doorbell: EQ number [31:24], consumer index [23:0].
  void ring(Uar& uar, std::uint32_t word, bool arm) noexcept;

 private:
  void write(Eq& eq, prm::Eqe& eqe) noexcept;
  void interrupt(Eq& eq) noexcept;

  Hca::Card& card_;
};

}  // namespace chime::model
