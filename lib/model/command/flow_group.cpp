// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "model/command/handlers.h"
#include "model/command/steering.h"

namespace chime::model {
namespace {

/// @return false when it refused
bool read_range(Command& c, const FlowTable& table, std::uint32_t first, std::uint32_t last) noexcept {
  const std::uint64_t size = std::uint64_t{1} << table.log_size;
  if (first > last || last >= size) {
    c.refuse(Rule::group_range, table.number, "indices %u to %u of flow table %#x, which has 0 to %llu",
             first, last, table.number, static_cast<unsigned long long>(size - 1));
    return false;
  }
  for (const FlowGroup* other = table.groups; other; other = other->next) {
    if (first <= other->last && other->first <= last) {
      c.refuse(Rule::group_overlap, other->number, "indices %u to %u: flow group %#x has %u to %u", first,
               last, other->number, other->first, other->last);
      return false;
    }
  }
  return true;
}

FlowGroup* find_group(Command& c, const FlowTable& table, std::uint32_t number) noexcept {
  FlowGroup* group = c.find(c.card.flow_groups, number);
  if (!group || group->table.get() == &table) return group;
  c.refuse(Rule::group_table, number, "flow group %#x belongs to flow table %#x, not to %#x", number,
           group->table->number, table.number);
  return nullptr;
}

}  // namespace

void create_flow_group(Command& c, In<prm::create_flow_group> in, Out<prm::create_flow_group> out) noexcept {
  using I = prm::create_flow_group_in;
  FlowTable* table = find_table(c, in.get(I::table_type), in.get(I::table_id));
  if (!table || !own_vport(c, in.get(I::other_vport))) return;
  if (!c.absent(static_cast<std::uint64_t>(in.get(I::group_type)), Rule::group_criteria, "group_type") ||
      !c.absent(in.get(I::match_definer_id), Rule::group_criteria, "match_definer_id") ||
      !read_range(c, *table, in.get(I::start_flow_index), in.get(I::end_flow_index))) {
    return;
  }
  auto group = c.make<FlowGroup>();
  if (!group) return;
  const std::uint32_t enable = in.get(I::match_criteria_enable);
  if (!read_mask(c, enable, in.at(I::match_criteria).bytes(), group->mask)) return;
  group->table = Ref<FlowTable>(table);
  group->first = in.get(I::start_flow_index);
  group->last = in.get(I::end_flow_index);
  group->criteria_enable = static_cast<std::uint8_t>(enable);
  auto* made = c.publish(c.card.flow_groups, std::move(group));
  if (!made) return;
  table->link(*made);
  out.set(prm::create_flow_group_out::group_id, made->number);
  c.card.engine->steering_changed(*table);
}

void query_flow_group(Command& c, In<prm::query_flow_group> in, Out<prm::query_flow_group> out) noexcept {
  using I = prm::query_flow_group_in;
  using O = prm::query_flow_group_out;
  const FlowTable* table = find_table(c, in.get(I::table_type), in.get(I::table_id));
  const FlowGroup* group = table ? find_group(c, *table, in.get(I::group_id)) : nullptr;
  if (!group) return;
  out.set(O::start_flow_index, group->first)
      .set(O::end_flow_index, group->last)
      .set(O::match_criteria_enable, group->criteria_enable);
  const auto criteria = out.at(O::match_criteria).bytes();
  for (const MatchWord& m : group->mask) {
    prm::set_bits(criteria.data(), std::size_t{m.word} * 32, 32, prm::host_to_be(m.mask));
  }
}

void destroy_flow_group(Command& c, In<prm::destroy_flow_group> in, Out<prm::destroy_flow_group>) noexcept {
  using I = prm::destroy_flow_group_in;
  FlowTable* table = find_table(c, in.get(I::table_type), in.get(I::table_id));
  FlowGroup* group = table ? find_group(c, *table, in.get(I::group_id)) : nullptr;
  if (!group || !c.unused(*group)) return;
  table->unlink(*group);
  c.retire(c.card.flow_groups, *group);
  c.card.engine->steering_changed(*table);
}

}  // namespace chime::model
