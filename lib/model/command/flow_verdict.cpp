// SPDX-License-Identifier: BSD-3-Clause
#include "model/command/steering.h"

/// @file
/// What a flow entry does with packets: actions, destinations, counters.

namespace chime::model {
namespace {

using F = prm::flow_context;
using D = prm::dest_format_struct;
using P = prm::flow_table_prop_layout;

bool read_action(Command& c, std::uint32_t action, const FlowTable& table) noexcept {
  constexpr std::uint32_t known = action_drop | action_forward | action_count;
  if (action & ~known) {
    c.refuse(Rule::entry_action, table.number, "action %#x; this card has %#x: drop, forward, count", action,
             known);
    return false;
  }
  const std::uint32_t fate = action & ~std::uint32_t{action_count};
  if (fate != action_drop && fate != action_forward) {
    c.refuse(Rule::entry_action, table.number, "action %#x: it must be one of drop and forward", action);
    return false;
  }
  return true;
}

bool read_destination(Command& c, prm::ConstView<D> in, const FlowTable& table, bool ignore_level,
                      FlowDestination& out) noexcept {
  const std::uint32_t number = in.get(D::destination_id);
  switch (in.get(D::destination_type)) {
    case prm::flow_destination_type::flow_table: {
      FlowTable* to = c.find(c.card.flow_tables, number);
      if (!to) return false;
      if (to->level <= table.level && !ignore_level) {
        c.refuse(Rule::entry_level, number, "an entry of level %u leads to flow table %#x of level %u",
                 table.level, number, to->level);
        return false;
      }
      out.table = Ref<FlowTable>(to);
      return true;
    }
    case prm::flow_destination_type::tir: {
      Tir* tir = c.find(c.card.tirs, number);
      if (!tir) return false;
      out.tir = Ref<Tir>(tir);
      return true;
    }
    default:
      break;
  }
  c.refuse(Rule::entry_destination, number, "destination type %u; there are 1 flow table, 2 TIR",
           static_cast<unsigned>(in.get(D::destination_type)));
  return false;
}

/// Several destinations of one packet: what the card can do of it.
bool read_fan_out(Command& c, const FlowTable& table, const Array<FlowDestination>& destinations) noexcept {
  using N = prm::flow_table_nic_cap;
  const auto nic = c.card.capabilities.view<N>(static_cast<unsigned>(prm::hca_cap_type::flow_table));
  std::size_t tirs = 0;
  for (const FlowDestination& d : destinations) tirs += d.tir ? 1 : 0;
  const std::size_t tables = destinations.size() - tirs;
  if (tables > 1 || (tirs > 1 && !nic.get(N::nic_rx_multi_path_tirs)) ||
      (tirs && tables && !nic.get(N::nic_rx_multi_path_tirs_fts))) {
    c.refuse(Rule::entry_destination, table.number,
             "%zu TIRs and %zu tables: more than this card serves at once", tirs, tables);
    return false;
  }
  return true;
}

}  // namespace

bool read_verdict(Command& c, prm::ConstView<F> context, const FlowTable& table, bool ignore_level,
                  FlowVerdict& verdict) noexcept {
  const auto properties = table_properties(c.card);
  const std::uint32_t action = context.get(F::action);
  const std::size_t destinations = context.get(F::destination_list_size);
  const std::size_t counters = context.get(F::flow_counter_list_size);
  if (!c.absent(context.get(F::extended_destination), Rule::entry_destination, "extended_destination") ||
      !read_action(c, action, table)) {
    return false;
  }
  if (ignore_level && !properties.get(P::ignore_flow_level)) {
    c.refuse(Rule::entry_level, table.number, "this card does not ignore levels (ignore_flow_level)");
    return false;
  }
  const bool forward = action & action_forward;
  const std::size_t most = std::size_t{1} << properties.get(P::log_max_destination);
  if (forward != (destinations > 0) || destinations > most) {
    c.refuse(Rule::entry_destination, table.number,
             "%zu destinations with action %#x; forwarding takes 1 to %zu, other actions none", destinations,
             action, most);
    return false;
  }
  const bool count = action & action_count;
  if (count != (counters > 0) || counters > 1) {
    c.refuse(Rule::entry_counter, table.number, "%zu counters with action %#x; counting takes 1", counters,
             action);
    return false;
  }
  if (count && !properties.get(P::flow_counter)) {
    c.refuse(Rule::entry_counter, table.number, "tables of this card have no counters (flow_counter)");
    return false;
  }
  const auto list = context.bytes().subspan(F::size);
  if (list.size() / D::size < destinations + counters) {
    c.refuse(Rule::input_length, table.number, "%zu destinations and counters announced, the list has %zu",
             destinations + counters, list.size() / D::size);
    return false;
  }
  if (!c.make_array(verdict.destinations, destinations, "a flow entry's destinations") ||
      !c.make_array(verdict.counters, counters, "a flow entry's counters")) {
    return false;
  }
  for (std::size_t i = 0; i < destinations; ++i) {
    const prm::ConstView<D> d(list.subspan(i * D::size, D::size));
    if (!read_destination(c, d, table, ignore_level, verdict.destinations[i])) return false;
  }
  if (!read_fan_out(c, table, verdict.destinations)) return false;
  for (std::size_t i = 0; i < counters; ++i) {
    using L = prm::flow_counter_list;
    const prm::ConstView<L> l(list.subspan((destinations + i) * L::size, L::size));
    FlowCounter* counter = c.find(c.card.flow_counters, l.get(L::flow_counter_id));
    if (!counter) return false;
    verdict.counters[i] = Ref<FlowCounter>(counter);
  }
  verdict.action = action;
  verdict.flow_tag = context.get(F::flow_tag);
  return true;
}

}  // namespace chime::model
