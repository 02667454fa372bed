// SPDX-License-Identifier: BSD-3-Clause
#include <cstring>

#include "model/command/handlers.h"
#include "model/command/steering.h"

namespace chime::model {
namespace {

using F = prm::flow_context;
using Set = prm::set_fte_in;

constexpr std::uint32_t op_mod_add = 0;
constexpr std::uint32_t op_mod_modify = 1;

bool read_value(Command& c, prm::ConstView<F> context, FlowEntry& entry) noexcept {
  const Array<MatchWord>& mask = entry.group->mask;
  if (!c.make_array(entry.value, mask.size(), "a flow entry's value")) return false;
  const auto bytes = context.at(F::match_value).bytes();
  for (std::size_t i = 0; i < mask.size(); ++i) {
    std::uint32_t word;
    std::memcpy(&word, bytes.data() + std::size_t{mask[i].word} * 4, 4);
    entry.value[i] = word & mask[i].mask;
  }
  return true;
}

void add_entry(Command& c, In<prm::set_flow_table_entry> in, FlowTable& table) noexcept {
  const auto context = in.at(Set::flow_context);
  const std::uint32_t index = in.get(Set::flow_index);
  FlowGroup* group = c.find(c.card.flow_groups, context.get(F::group_id));
  if (!group) return;
  if (group->table.get() != &table) {
    return c.refuse(Rule::group_table, group->number, "flow group %#x belongs to flow table %#x, not to %#x",
                    group->number, group->table->number, table.number);
  }
  if (index < group->first || index > group->last) {
    return c.refuse(Rule::entry_index, index, "index %u; flow group %#x has %u to %u", index, group->number,
                    group->first, group->last);
  }
  if (table.entries.find(index)) {
    return c.refuse(Rule::entry_index, index, "flow table %#x has an entry at index %u; op_mod 1 changes it",
                    table.number, index);
  }
  auto entry = c.make<FlowEntry>();
  if (!entry) return;
  entry->index = index;
  entry->group = Ref<FlowGroup>(group);
  if (!read_value(c, context, *entry) ||
      !read_verdict(c, context, table, in.get(Set::ignore_flow_level) != 0, entry->verdict) ||
      !c.good(table.entries.insert(index, entry.get()), "the flow table")) {
    return;
  }
  if (!c.good(group->add(*entry), "the flow group")) {
    table.entries.take(index);
    return;
  }
  entry.release();
  ++c.card.flow_entries;
  c.card.engine->steering_changed(table);
}

void modify_entry(Command& c, In<prm::set_flow_table_entry> in, FlowTable& table) noexcept {
  using Mask = prm::fte_modify_mask;
  constexpr std::uint32_t known =
      Mask::action | Mask::flow_tag | Mask::destination_list | Mask::flow_counters;
  const auto context = in.at(Set::flow_context);
  const std::uint32_t index = in.get(Set::flow_index);
  const std::uint32_t mask = in.get(Set::modify_enable_mask);
  FlowEntry* entry = table.entries.find(index);
  if (!entry) {
    return c.refuse(Rule::entry_index, index, "flow table %#x has no entry at index %u", table.number, index);
  }
  if (!table_properties(c.card).get(prm::flow_table_prop_layout::flow_modify_en)) {
    return c.refuse(Rule::entry_modify, index, "this card does not modify entries (flow_modify_en)");
  }
  if (mask & ~known) {
    return c.refuse(Rule::entry_modify, index, "modify_enable_mask %#x; there are bits %#x", mask, known);
  }
  // What is not selected must be right too: the verdict is read as a whole.
  FlowVerdict verdict;
  if (!read_verdict(c, context, table, in.get(Set::ignore_flow_level) != 0, verdict)) return;
  if (!(mask & Mask::flow_tag)) verdict.flow_tag = entry->verdict.flow_tag;
  entry->verdict = std::move(verdict);
  c.card.engine->steering_changed(table);
}

}  // namespace

void set_flow_table_entry(Command& c, In<prm::set_flow_table_entry> in,
                          Out<prm::set_flow_table_entry>) noexcept {
  FlowTable* table = find_table(c, in.get(Set::table_type), in.get(Set::table_id));
  if (!table || !own_vport(c, in.get(Set::other_vport))) return;
  if (c.op_mod == op_mod_modify) return modify_entry(c, in, *table);
  if (c.op_mod_is(op_mod_add)) add_entry(c, in, *table);
}

void query_flow_table_entry(Command& c, In<prm::query_flow_table_entry> in,
                            Out<prm::query_flow_table_entry> out) noexcept {
  using I = prm::query_fte_in;
  const FlowTable* table = find_table(c, in.get(I::table_type), in.get(I::table_id));
  if (!table) return;
  const std::uint32_t index = in.get(I::flow_index);
  const FlowEntry* entry = table->entries.find(index);
  if (!entry) {
    return c.refuse(Rule::entry_index, index, "flow table %#x has no entry at index %u", table->number,
                    index);
  }
  const auto context = out.at(prm::query_fte_out::flow_context);
  const FlowVerdict& verdict = entry->verdict;
  const auto list = context.bytes().subspan(F::size);
  const std::size_t needed = (verdict.destinations.size() + verdict.counters.size()) * 8;
  if (list.size() < needed) {
    return c.refuse(Rule::output_length, index, "the lists take %zu bytes, the output has room for %zu",
                    needed, list.size());
  }
  context.set(F::group_id, entry->group->number)
      .set(F::flow_tag, verdict.flow_tag)
      .set(F::action, verdict.action)
      .set(F::destination_list_size, static_cast<std::uint32_t>(verdict.destinations.size()))
      .set(F::flow_counter_list_size, static_cast<std::uint32_t>(verdict.counters.size()));
  const auto value = context.at(F::match_value).bytes();
  for (std::size_t i = 0; i < entry->value.size(); ++i) {
    std::memcpy(value.data() + std::size_t{entry->group->mask[i].word} * 4, &entry->value[i], 4);
  }
  std::size_t at = 0;
  for (const FlowDestination& d : verdict.destinations) {
    using D = prm::dest_format_struct;
    prm::View<D>(list.subspan(at, D::size))
        .set(D::destination_type,
             d.tir ? prm::flow_destination_type::tir : prm::flow_destination_type::flow_table)
        .set(D::destination_id, d.tir ? d.tir->number : d.table->number);
    at += D::size;
  }
  for (const Ref<FlowCounter>& counter : verdict.counters) {
    using L = prm::flow_counter_list;
    prm::View<L>(list.subspan(at, L::size)).set(L::flow_counter_id, counter->number);
    at += L::size;
  }
}

void delete_flow_table_entry(Command& c, In<prm::delete_flow_table_entry> in,
                             Out<prm::delete_flow_table_entry>) noexcept {
  using I = prm::delete_fte_in;
  FlowTable* table = find_table(c, in.get(I::table_type), in.get(I::table_id));
  if (!table || !own_vport(c, in.get(I::other_vport))) return;
  const std::uint32_t index = in.get(I::flow_index);
  FlowEntry* entry = table->entries.find(index);
  if (!entry) {
    return c.refuse(Rule::entry_index, index, "flow table %#x has no entry at index %u", table->number,
                    index);
  }
  entry->group->remove(*entry);
  Owned<FlowEntry>(table->entries.take(index)).reset();
  --c.card.flow_entries;
  c.card.engine->steering_changed(*table);
}

}  // namespace chime::model
