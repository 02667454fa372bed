// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "model/card.h"
#include "model/datapath/report.h"
#include "model/object/memory.h"

/// @file
/// What send queues and queue pairs have in common when a doorbell rings.

namespace chime::model {

/// Whose doorbell it is, for sentences: "SQ" or "QP", and its number.
struct DoorbellOwner {
  const char* kind;
  std::uint32_t number;
};

/// How many basic blocks the record says are posted. @return whether the record is there
bool read_send_record(Hca::Card& card, DoorbellOwner owner, Buffer& record, std::uint16_t& posted) noexcept;

constexpr std::int16_t ahead(std::uint16_t of, std::uint16_t index) noexcept {
  return static_cast<std::int16_t>(index - of);
}

/// Says when doorbell and record disagree. A record that is ahead is usual where doorbells are drained later
/// than they are stored: then a doorbell that comes up to it must follow.
/// @param queue   has the members `announced`, a record that was ahead of its doorbell, and
/// `awaits_announced`
/// @param counter of the doorbell: basic blocks behind its request
template <class Queue>
void compare_with_record(Hca::Card& card, DoorbellOwner owner, Queue& queue, std::uint16_t counter,
                         std::uint16_t recorded) noexcept {
  if (ahead(recorded, counter) > 0) {
    report(card, Fault::doorbell_ahead_of_record, owner.number,
           "%s 0x%x: doorbell counter %u ahead of record %u", owner.kind, owner.number, counter, recorded);
    return;
  }
  if (queue.awaits_announced && ahead(counter, queue.announced) <= 0) {
    queue.awaits_announced = false;
    if (counter != queue.announced) {
      report(card, Fault::doorbell_behind_record, owner.number,
             "%s 0x%x: the doorbell for record %u was behind it, and the next is %u already", owner.kind,
             owner.number, queue.announced, counter);
    }
  }
  if (counter != recorded && !queue.awaits_announced) {
    queue.awaits_announced = true;
    queue.announced = recorded;
  }
}

}  // namespace chime::model
