// SPDX-License-Identifier: BSD-3-Clause
#include "model/command/handlers.h"
#include "model/command/steering.h"

namespace chime::model {
namespace {

using F = prm::flow_table_context;
using P = prm::flow_table_prop_layout;

/// Where a miss leads. @return false when it refused
bool read_miss(Command& c, prm::ConstView<F> context, std::uint32_t level, FlowTable*& miss) noexcept {
  miss = nullptr;
  const auto action = context.get(F::table_miss_action);
  if (action == prm::flow_table_miss_action::def) return true;
  if (action != prm::flow_table_miss_action::fwd) {
    c.refuse(Rule::table_miss, 0, "table_miss_action %u; there are 0 default, 1 forward",
             static_cast<unsigned>(action));
    return false;
  }
  if (!table_properties(c.card).get(P::identified_miss_table_mode)) {
    c.refuse(Rule::table_miss, 0, "a miss can't lead to a table (identified_miss_table_mode)");
    return false;
  }
  FlowTable* to = c.find(c.card.flow_tables, context.get(F::table_miss_id));
  if (!to) return false;
  if (to->level <= level) {
    c.refuse(Rule::table_miss, to->number, "a miss of level %u leads to flow table %#x of level %u", level,
             to->number, to->level);
    return false;
  }
  miss = to;
  return true;
}

}  // namespace

prm::ConstView<P> table_properties(const Hca::Card& card) noexcept {
  using N = prm::flow_table_nic_cap;
  return card.capabilities.view<N>(static_cast<unsigned>(prm::hca_cap_type::flow_table))
      .at(N::flow_table_properties_nic_receive);
}

bool read_table_type(Command& c, prm::flow_table_type wanted, TableType& type) noexcept {
  if (wanted == prm::flow_table_type::nic_rx && table_properties(c.card).get(P::ft_support)) {
    type = TableType::nic_receive;
    return true;
  }
  c.refuse(Rule::table_type, 0, "table type %u; this card has 0 (NIC_RX)", static_cast<unsigned>(wanted));
  return false;
}

bool own_vport(Command& c, std::uint32_t other_vport) noexcept {
  return other_vport == 0 || c.absent(other_vport, Rule::other_vport, "other_vport");
}

FlowTable* find_table(Command& c, prm::flow_table_type wanted, std::uint32_t number) noexcept {
  TableType type;
  return read_table_type(c, wanted, type) ? c.find(c.card.flow_tables, number) : nullptr;
}

void create_flow_table(Command& c, In<prm::create_flow_table> in, Out<prm::create_flow_table> out) noexcept {
  const auto context = in.at(prm::create_flow_table_in::flow_table_context);
  TableType type;
  if (!own_vport(c, in.get(prm::create_flow_table_in::other_vport)) ||
      !read_table_type(c, in.get(prm::create_flow_table_in::table_type), type)) {
    return;
  }
  if (!c.absent(context.get(F::reformat_en), Rule::table_feature, "reformat_en") ||
      !c.absent(context.get(F::decap_en), Rule::table_feature, "decap_en") ||
      !c.absent(context.get(F::sw_owner), Rule::table_feature, "sw_owner") ||
      !c.absent(context.get(F::termination_table), Rule::table_feature, "termination_table")) {
    return;
  }
  const auto properties = table_properties(c.card);
  const std::uint32_t level = context.get(F::level);
  const std::uint32_t log_size = context.get(F::log_size);
  if (level > properties.get(P::max_ft_level)) {
    return c.refuse(Rule::table_level, 0, "level %u; the card has 0 to %u (max_ft_level)", level,
                    properties.get(P::max_ft_level));
  }
  if (log_size > properties.get(P::log_max_ft_size)) {
    return c.refuse(Rule::table_size, 0, "2^%u entries; the card allows 2^%u (log_max_ft_size)", log_size,
                    properties.get(P::log_max_ft_size));
  }
  FlowTable* miss = nullptr;
  if (!read_miss(c, context, level, miss)) return;

  auto table = c.make<FlowTable>();
  if (!table) return;
  table->type = type;
  table->level = static_cast<std::uint8_t>(level);
  table->log_size = static_cast<std::uint8_t>(log_size);
  table->miss = Ref<FlowTable>(miss);
  auto* made = c.publish(c.card.flow_tables, std::move(table));
  if (!made) return;
  out.set(prm::create_flow_table_out::table_id, made->number);
  c.card.engine->steering_changed(*made);
}

void modify_flow_table(Command& c, In<prm::modify_flow_table> in, Out<prm::modify_flow_table>) noexcept {
  FlowTable* table = find_table(c, in.get(prm::modify_flow_table_in::table_type),
                                in.get(prm::modify_flow_table_in::table_id));
  if (!table || !own_vport(c, in.get(prm::modify_flow_table_in::other_vport))) return;
  const std::uint32_t select = in.get(prm::modify_flow_table_in::modify_field_select);
  if (!c.absent(select & ~prm::flow_table_modify_select::miss_table_id, Rule::table_feature,
                "modify_field_select beyond the miss table")) {
    return;
  }
  if (!(select & prm::flow_table_modify_select::miss_table_id)) return;
  if (!table_properties(c.card).get(P::flow_table_modify)) {
    return c.refuse(Rule::table_feature, table->number, "tables can't be modified (flow_table_modify)");
  }
  FlowTable* miss = nullptr;
  if (!read_miss(c, in.at(prm::modify_flow_table_in::flow_table_context), table->level, miss)) {
    return;
  }
  table->miss = Ref<FlowTable>(miss);
  c.card.engine->steering_changed(*table);
}

void query_flow_table(Command& c, In<prm::query_flow_table> in, Out<prm::query_flow_table> out) noexcept {
  const FlowTable* table =
      find_table(c, in.get(prm::query_flow_table_in::table_type), in.get(prm::query_flow_table_in::table_id));
  if (!table) return;
  using Miss = prm::flow_table_miss_action;
  out.at(prm::query_flow_table_out::flow_table_context)
      .set(F::level, table->level)
      .set(F::log_size, table->log_size)
      .set(F::table_miss_action, table->miss ? Miss::fwd : Miss::def)
      .set(F::table_miss_id, table->miss ? table->miss->number : 0);
}

void destroy_flow_table(Command& c, In<prm::destroy_flow_table> in, Out<prm::destroy_flow_table>) noexcept {
  FlowTable* table = find_table(c, in.get(prm::destroy_flow_table_in::table_type),
                                in.get(prm::destroy_flow_table_in::table_id));
  if (!table) return;
  // Being the root keeps no table alive: the kernel takes its last one away without unsetting the root.
  auto& root = c.card.root[static_cast<unsigned>(table->type)];
  const bool only_root = root.get() == table && table->uses == 1;
  if (only_root) root.reset();
  if (!c.unused(*table)) return;
  c.card.engine->forget(*table);
  c.retire(c.card.flow_tables, *table);
}

void set_flow_table_root(Command& c, In<prm::set_flow_table_root> in,
                         Out<prm::set_flow_table_root>) noexcept {
  using I = prm::set_flow_table_root_in;
  constexpr std::uint32_t set = 0;
  constexpr std::uint32_t unset = 1;
  TableType type;
  if (!own_vport(c, in.get(I::other_vport)) || !own_vport(c, in.get(I::table_of_other_vport)) ||
      !c.absent(in.get(I::underlay_qpn), Rule::table_root, "underlay_qpn") ||
      !read_table_type(c, in.get(I::table_type), type)) {
    return;
  }
  auto& root = c.card.root[static_cast<unsigned>(type)];
  if (c.op_mod == unset) {
    FlowTable* before = root.get();
    root.reset();
    if (before) c.card.engine->steering_changed(*before);
    return;
  }
  if (!c.op_mod_is(set)) return;
  FlowTable* table = find_table(c, in.get(I::table_type), in.get(I::table_id));
  if (!table) return;
  if (root && root.get() != table && !table_properties(c.card).get(P::modify_root)) {
    return c.refuse(Rule::table_root, table->number, "%s has a root, which can't be changed (modify_root)",
                    name(type));
  }
  root = Ref<FlowTable>(table);
  c.card.engine->steering_changed(*table);
}

}  // namespace chime::model
