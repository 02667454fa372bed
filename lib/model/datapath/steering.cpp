// SPDX-License-Identifier: BSD-3-Clause
#include "model/datapath/steering.h"

#include "model/datapath/report.h"

namespace chime::model {

void Steering::too_many_tables(const FlowTable& table) noexcept {
  report(card_, Fault::steering_loop, table.number, "flow table 0x%x: a packet visited %u tables before it",
         table.number, max_tables);
}

void Steering::too_many_destinations(const FlowEntry& entry) noexcept {
  report(card_, Fault::steering_destinations, entry.group ? entry.group->number : 0,
         "flow entry %u: more than %u tables at once", entry.index, max_pending);
}

}  // namespace chime::model
