// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "model/command/handlers.h"

namespace chime::model {

void alloc_flow_counter(Command& c, In<prm::alloc_flow_counter> in,
                        Out<prm::alloc_flow_counter> out) noexcept {
  if (!c.absent(in.get(prm::alloc_flow_counter_in::flow_counter_bulk), Rule::counter_bulk,
                "flow_counter_bulk") ||
      !c.absent(in.get(prm::alloc_flow_counter_in::flow_counter_bulk_log_size), Rule::counter_bulk,
                "flow_counter_bulk_log_size")) {
    return;
  }
  auto counter = c.make<FlowCounter>();
  if (!counter) return;
  if (auto* made = c.publish(c.card.flow_counters, std::move(counter))) {
    out.set(prm::alloc_flow_counter_out::flow_counter_id, made->number);
  }
}

void query_flow_counter(Command& c, In<prm::query_flow_counter> in,
                        Out<prm::query_flow_counter> out) noexcept {
  using O = prm::query_flow_counter_out;
  const std::uint32_t first = in.get(prm::query_flow_counter_in::flow_counter_id);
  const std::uint32_t count = std::max(in.get(prm::query_flow_counter_in::num_of_counters), 1u);
  if (out.count(O::flow_statistics) < count) {
    return c.refuse(Rule::output_length, first, "%u counters are asked for, the output has room for %zu",
                    count, out.count(O::flow_statistics));
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    FlowCounter* counter = c.find(c.card.flow_counters, first + i);
    if (!counter) return;
    out.at(O::flow_statistics, i)
        .set(prm::traffic_counter::packets, counter->packets)
        .set(prm::traffic_counter::octets, counter->octets);
  }
  if (!in.get(prm::query_flow_counter_in::clear)) return;
  for (std::uint32_t i = 0; i < count; ++i) {
    FlowCounter* counter = c.card.flow_counters.find(first + i);
    counter->packets = 0;
    counter->octets = 0;
  }
}

void dealloc_flow_counter(Command& c, In<prm::dealloc_flow_counter> in,
                          Out<prm::dealloc_flow_counter>) noexcept {
  if (auto* counter = c.find(c.card.flow_counters, in.get(prm::dealloc_flow_counter_in::flow_counter_id))) {
    c.retire(c.card.flow_counters, *counter);
  }
}

}  // namespace chime::model
