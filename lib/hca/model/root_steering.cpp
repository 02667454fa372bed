// SPDX-License-Identifier: BSD-3-Clause
#include "hca/model/root_steering.h"

#include <algorithm>
#include <utility>

#include "prm/layouts.h"
#include "prm/view.h"

namespace chime::hca::embedded {
namespace {

using Match = std::array<std::byte, prm::fte_match_param::size>;

constexpr auto table_type = prm::flow_table_type::nic_rx;
constexpr std::uint32_t root_set = 0;
constexpr std::uint32_t root_unset = 1;
constexpr std::uint32_t groups_a_table =
    (std::uint32_t{1} << RootTables::log_table_size) / RootTables::group_entries;

Result<Match> to_match(std::span<const std::byte> bytes) noexcept {
  Match match{};
  if (bytes.size() > match.size()) {
    return fail(EINVAL, "match parameters of %zu bytes; the card has %zu", bytes.size(), match.size());
  }
  std::ranges::copy(bytes, match.begin());
  return match;
}

}  // namespace

struct RootTables::Group {
  std::uint32_t id = 0;
  std::uint32_t first = 0;
  std::uint8_t criteria_enable = 0;
  Match mask{};
  std::bitset<group_entries> used;
  Group* next = nullptr;
};

RootTables::~RootTables() {
  for (unsigned priority = 0; priority < priorities; ++priority) {
    while (Group* group = tables_[priority].groups) {
      group->used.reset();  // a rule that could not be removed goes with TEARDOWN_HCA
      drop_group(priority, *group);
    }
    drop_table(priority);
  }
}

Result<RootTables::Place> RootTables::add(std::uint8_t criteria_enable, std::span<const std::byte> mask,
                                          std::span<const std::byte> value, unsigned priority,
                                          RootDestination destination) noexcept {
  if (priority >= priorities) {
    return fail(EINVAL, "priority %u of a root rule; 0 (first) to %u are possible", priority, priorities - 1);
  }
  auto made = make_table(priority);
  if (!made) return fail(made.error());
  auto group = group_for(priority, criteria_enable, mask);
  if (!group) {
    drop_table(priority);
    return fail(group.error());
  }
  std::uint32_t free = 0;
  while ((*group)->used[free]) ++free;
  const Place place{priority, *group, (*group)->first + free};
  if (auto written = write_entry(place, value, destination); !written) {
    drop_group(priority, **group);
    drop_table(priority);
    return fail(written.error());
  }
  (*group)->used.set(free);
  return place;
}

Result<> RootTables::remove(const Place& place) noexcept {
  prm::Box<prm::delete_fte_in> in;
  prm::Box<prm::delete_fte_out> out;
  in.set(prm::delete_fte_in::table_type, table_type)
      .set(prm::delete_fte_in::table_id, tables_[place.priority].id)
      .set(prm::delete_fte_in::flow_index, place.index);
  if (auto done = kernel_.execute(in, out); !done) return done;
  place.group->used.reset(place.index - place.group->first);
  drop_group(place.priority, *place.group);
  drop_table(place.priority);
  return {};
}

/// Unless it is there.
Result<> RootTables::make_table(unsigned priority) noexcept {
  Table& table = tables_[priority];
  if (table.exists) return {};
  const Table* next = below(priority);
  prm::Box<prm::create_flow_table_in> in;
  prm::Box<prm::create_flow_table_out> out;
  in.set(prm::create_flow_table_in::table_type, table_type);
  const auto context = in.at(prm::create_flow_table_in::flow_table_context);
  context.set(prm::flow_table_context::level, priority)
      .set(prm::flow_table_context::log_size, log_table_size);
  if (next) {
    context.set(prm::flow_table_context::table_miss_action, prm::flow_table_miss_action::fwd)
        .set(prm::flow_table_context::table_miss_id, next->id);
  }
  if (auto done = kernel_.execute(in, out); !done) return done;
  table.id = out.get(prm::create_flow_table_out::table_id);
  table.exists = true;
  auto led = lead(priority, &table);
  if (!led) drop_table(priority);
  return led;
}

/// Unless it has groups.
void RootTables::drop_table(unsigned priority) noexcept {
  Table& table = tables_[priority];
  if (!table.exists || table.groups) return;
  if (auto led = lead(priority, below(priority)); !led) kernel_.report(led.error());
  prm::Box<prm::destroy_flow_table_in> in;
  prm::Box<prm::destroy_flow_table_out> out;
  in.set(prm::destroy_flow_table_in::table_type, table_type)
      .set(prm::destroy_flow_table_in::table_id, table.id);
  kernel_.undo(in.bytes(), out.bytes());
  table = {};
}

const RootTables::Table* RootTables::below(unsigned priority) const noexcept {
  for (unsigned p = priority + 1; p < priorities; ++p) {
    if (tables_[p].exists) return &tables_[p];
  }
  return nullptr;
}

Result<> RootTables::lead(unsigned priority, const Table* to) noexcept {
  while (priority-- > 0) {
    if (tables_[priority].exists) return set_miss(tables_[priority], to);
  }
  return set_root(to);
}

Result<> RootTables::set_root(const Table* table) noexcept {
  prm::Box<prm::set_flow_table_root_in> in;
  prm::Box<prm::set_flow_table_root_out> out;
  in.set(prm::set_flow_table_root_in::op_mod, table ? root_set : root_unset)
      .set(prm::set_flow_table_root_in::table_type, table_type)
      .set(prm::set_flow_table_root_in::table_id, table ? table->id : 0);
  return kernel_.execute(in, out);
}

Result<> RootTables::set_miss(const Table& table, const Table* miss) noexcept {
  prm::Box<prm::modify_flow_table_in> in;
  prm::Box<prm::modify_flow_table_out> out;
  in.set(prm::modify_flow_table_in::table_type, table_type)
      .set(prm::modify_flow_table_in::table_id, table.id)
      .set(prm::modify_flow_table_in::modify_field_select, prm::flow_table_modify_select::miss_table_id);
  if (miss) {
    in.at(prm::modify_flow_table_in::flow_table_context)
        .set(prm::flow_table_context::table_miss_action, prm::flow_table_miss_action::fwd)
        .set(prm::flow_table_context::table_miss_id, miss->id);
  }
  return kernel_.execute(in, out);
}

/// One of this mask with a free entry: one that is there, or a new one.
Result<RootTables::Group*> RootTables::group_for(unsigned priority, std::uint8_t criteria_enable,
                                                 std::span<const std::byte> mask) noexcept {
  Table& table = tables_[priority];
  auto match = to_match(mask);
  if (!match) return fail(match.error());
  std::bitset<groups_a_table> taken;
  for (Group* group = table.groups; group; group = group->next) {
    taken.set(group->first / group_entries);
    if (group->criteria_enable == criteria_enable && group->mask == *match && !group->used.all()) {
      return group;
    }
  }
  if (taken.all()) {
    return fail(ENOSPC, "priority %u has %u groups of root rules already", priority, groups_a_table);
  }
  std::uint32_t slot = 0;
  while (taken[slot]) ++slot;

  auto group = make_owned<Group>("a group of root rules");
  if (!group) return fail(group.error());
  (*group)->first = slot * group_entries;
  (*group)->criteria_enable = criteria_enable;
  (*group)->mask = *match;
  prm::Box<prm::create_flow_group_in> in;
  prm::Box<prm::create_flow_group_out> out;
  in.set(prm::create_flow_group_in::table_type, table_type)
      .set(prm::create_flow_group_in::table_id, table.id)
      .set(prm::create_flow_group_in::start_flow_index, (*group)->first)
      .set(prm::create_flow_group_in::end_flow_index, (*group)->first + group_entries - 1)
      .set(prm::create_flow_group_in::match_criteria_enable, criteria_enable);
  std::ranges::copy(*match, in.at(prm::create_flow_group_in::match_criteria).bytes().begin());
  if (auto done = kernel_.execute(in, out); !done) return fail(done.error());
  (*group)->id = out.get(prm::create_flow_group_out::group_id);
  (*group)->next = table.groups;
  table.groups = group->release();
  return table.groups;
}

/// Unless it has rules.
void RootTables::drop_group(unsigned priority, Group& group) noexcept {
  if (group.used.any()) return;
  Table& table = tables_[priority];
  prm::Box<prm::destroy_flow_group_in> in;
  prm::Box<prm::destroy_flow_group_out> out;
  in.set(prm::destroy_flow_group_in::table_type, table_type)
      .set(prm::destroy_flow_group_in::table_id, table.id)
      .set(prm::destroy_flow_group_in::group_id, group.id);
  kernel_.undo(in.bytes(), out.bytes());
  Group** link = &table.groups;
  while (*link != &group) link = &(*link)->next;
  *link = group.next;
  Owned<Group>(&group).reset();
}

Result<> RootTables::write_entry(const Place& place, std::span<const std::byte> value,
                                 RootDestination destination) noexcept {
  using Context = prm::flow_context;
  auto match = to_match(value);
  if (!match) return fail(match.error());
  prm::Box<prm::set_fte_in, prm::dest_format_struct::size> in;
  prm::Box<prm::set_fte_out> out;
  in.set(prm::set_fte_in::table_type, table_type)
      .set(prm::set_fte_in::table_id, tables_[place.priority].id)
      .set(prm::set_fte_in::flow_index, place.index);
  const auto context = in.at(prm::set_fte_in::flow_context);
  context.set(Context::group_id, place.group->id)
      .set(Context::action, prm::flow_action::fwd_dest)
      .set(Context::destination_list_size, 1);
  std::ranges::copy(*match, context.at(Context::match_value).bytes().begin());
  const bool table = destination.kind == RootDestination::Kind::table;
  context.at(Context::destination, 0)
      .set(prm::dest_format_struct::destination_type,
           table ? prm::flow_destination_type::flow_table : prm::flow_destination_type::tir)
      .set(prm::dest_format_struct::destination_id, destination.number);
  return kernel_.execute(in, out);
}

}  // namespace chime::hca::embedded
