// SPDX-License-Identifier: BSD-3-Clause
// Flow tables, groups, entries, counters and roots.
#include <cstring>

#include "../support/host.h"
#include "model/card.h"

namespace chime::test {
namespace {

using model::Rule;
using F = prm::flow_context;
using L = prm::fte_match_set_lyr_2_4;
using Entry = Call<prm::set_flow_table_entry, 64>;

class Flow : public ::testing::Test {
 protected:
  Host host;
  Bench user{host, host.context()};

  Call<prm::create_flow_table> table_call(std::uint32_t level, std::uint32_t log_size = 10) {
    Call<prm::create_flow_table> call;
    call.in.at(prm::create_flow_table_in::flow_table_context)
        .set(prm::flow_table_context::level, level)
        .set(prm::flow_table_context::log_size, log_size);
    return call;
  }
  std::uint32_t table(std::uint32_t level, std::uint32_t log_size = 10) {
    auto call = table_call(level, log_size);
    EXPECT_TRUE(user.run(call).ok());
    return call.out.get(prm::create_flow_table_out::table_id);
  }
  Call<prm::create_flow_group> group_call(std::uint32_t table, std::uint32_t first, std::uint32_t last) {
    Call<prm::create_flow_group> call;
    call.in.set(prm::create_flow_group_in::table_id, table)
        .set(prm::create_flow_group_in::start_flow_index, first)
        .set(prm::create_flow_group_in::end_flow_index, last)
        .set(prm::create_flow_group_in::match_criteria_enable, prm::match_criteria::outer_headers);
    call.in.at(prm::create_flow_group_in::match_criteria)
        .at(prm::fte_match_param::outer_headers)
        .set(L::udp_dport, 0xffff)
        .set(L::ip_protocol, 0xff);
    return call;
  }
  std::uint32_t group(std::uint32_t table, std::uint32_t first, std::uint32_t last) {
    auto call = group_call(table, first, last);
    const Answer answer = user.run(call);
    EXPECT_TRUE(answer.ok()) << answer.words;
    return call.out.get(prm::create_flow_group_out::group_id);
  }
  /// An entry for a UDP port that is dropped.
  Entry entry_call(std::uint32_t table, std::uint32_t group, std::uint32_t index, std::uint32_t port) {
    Entry call;
    call.in.set(prm::set_fte_in::table_id, table).set(prm::set_fte_in::flow_index, index);
    const auto context = call.in.at(prm::set_fte_in::flow_context);
    context.set(F::group_id, group).set(F::action, prm::flow_action::drop);
    context.at(F::match_value)
        .at(prm::fte_match_param::outer_headers)
        .set(L::udp_dport, port)
        .set(L::ip_protocol, 17)
        .set(L::udp_sport, 0x1234);  // not in the mask
    return call;
  }
  static void forward(Entry& call, prm::flow_destination_type type, std::uint32_t number) {
    const auto context = call.in.at(prm::set_fte_in::flow_context);
    context.set(F::action, prm::flow_action::fwd_dest).set(F::destination_list_size, 1);
    prm::View<prm::dest_format_struct>(context.bytes().subspan(F::size, 8))
        .set(prm::dest_format_struct::destination_type, type)
        .set(prm::dest_format_struct::destination_id, number);
  }
  static void count(Entry& call, std::uint32_t counter) {
    const auto context = call.in.at(prm::set_fte_in::flow_context);
    const std::uint32_t before = context.get(F::destination_list_size);
    context.set(F::action, context.get(F::action) | prm::flow_action::count)
        .set(F::flow_counter_list_size, 1);
    prm::View<prm::flow_counter_list>(context.bytes().subspan(F::size + before * 8, 8))
        .set(prm::flow_counter_list::flow_counter_id, counter);
  }
  template <class C>
  Answer on_table(Call<C> call, std::uint32_t table, auto field) {
    call.in.set(field, table);
    return user.run(call);
  }
  Answer destroy_table(std::uint32_t number) {
    return on_table(Call<prm::destroy_flow_table>{}, number, prm::destroy_flow_table_in::table_id);
  }
  Answer set_root(std::uint32_t number, std::uint32_t op_mod = 0) {
    Call<prm::set_flow_table_root> call;
    call.in.set(prm::set_flow_table_root_in::table_id, number)
        .set(prm::set_flow_table_root_in::op_mod, op_mod);
    return host.run(call);
  }
  std::uint32_t tir() {
    auto call = user.tir_call(user.make_rq());
    EXPECT_TRUE(user.run(call).ok());
    return call.out.get(prm::create_tir_out::tirn);
  }
  const model::FlowEntry* match(std::uint32_t table, std::uint32_t port) {
    prm::Box<prm::fte_match_param> packet;
    packet.at(prm::fte_match_param::outer_headers).set(L::udp_dport, port).set(L::ip_protocol, 17);
    model::MatchParam words;
    std::memcpy(words.data(), packet.bytes().data(), sizeof words);
    for (const auto* g = host.hca().card().flow_tables.find(table)->groups; g; g = g->next) {
      if (const auto* e = g->match(words)) return e;
    }
    return nullptr;
  }
};

TEST_F(Flow, EntriesAreFoundByTheirMaskedValue) {
  const std::uint32_t t = table(3), g = group(t, 0, 99);
  for (std::uint32_t i = 0; i < 100; ++i) {
    auto call = entry_call(t, g, i, 1000 + i);
    const Answer answer = user.run(call);
    ASSERT_TRUE(answer.ok()) << answer.words;
  }
  for (std::uint32_t i = 0; i < 100; ++i) {
    const auto* e = match(t, 1000 + i);
    ASSERT_TRUE(e);
    EXPECT_EQ(e->index, i);
  }
  EXPECT_FALSE(match(t, 999));
  Call<prm::delete_flow_table_entry> remove;
  remove.in.set(prm::delete_fte_in::table_id, t).set(prm::delete_fte_in::flow_index, 7);
  EXPECT_TRUE(user.run(remove).ok());
  EXPECT_FALSE(match(t, 1007));
  EXPECT_TRUE(user.run(remove).is(Rule::entry_index));
  EXPECT_EQ(host.objects()["flow entry"], 99u);
}

TEST_F(Flow, OfEqualEntriesTheLowestCounts) {
  const std::uint32_t t = table(3), g = group(t, 0, 9);
  for (std::uint32_t i : {5u, 2u, 8u}) {
    auto call = entry_call(t, g, i, 53);
    ASSERT_TRUE(user.run(call).ok());
  }
  EXPECT_EQ(match(t, 53)->index, 2u);
}

TEST_F(Flow, TablesAreSparse) {
  const std::uint32_t t = table(3, 24), g = group(t, 0, (1 << 24) - 1);
  auto call = entry_call(t, g, (1 << 24) - 1, 53);
  ASSERT_TRUE(user.run(call).ok());
  EXPECT_EQ(match(t, 53)->index, (1u << 24) - 1);
}

TEST_F(Flow, AnEmptyMaskMatchesAll) {
  const std::uint32_t t = table(3);
  auto call = group_call(t, 0, 0);
  call.in.set(prm::create_flow_group_in::match_criteria_enable, 0);
  ASSERT_TRUE(user.run(call).ok());
  auto entry = entry_call(t, call.out.get(prm::create_flow_group_out::group_id), 0, 1);
  ASSERT_TRUE(user.run(entry).ok());
  EXPECT_TRUE(match(t, 4711));
}

TEST_F(Flow, GroupsAreSearchedInTheOrderOfTheirIndices) {
  const std::uint32_t t = table(3), late = group(t, 10, 19);
  auto any = group_call(t, 0, 0);
  any.in.set(prm::create_flow_group_in::match_criteria_enable, 0);
  ASSERT_TRUE(user.run(any).ok());
  auto first = entry_call(t, late, 10, 53);
  ASSERT_TRUE(user.run(first).ok());
  EXPECT_EQ(match(t, 53)->index, 10u);
  auto second = entry_call(t, any.out.get(prm::create_flow_group_out::group_id), 0, 0);
  ASSERT_TRUE(user.run(second).ok());
  EXPECT_EQ(match(t, 53)->index, 0u);
}

TEST_F(Flow, TablesRefuseWhatIsNotThere) {
  auto type = table_call(0);
  type.in.set(prm::create_flow_table_in::table_type, prm::flow_table_type::fdb);
  EXPECT_TRUE(user.run(type).is(Rule::table_type));
  auto size = table_call(0, 25);
  EXPECT_TRUE(user.run(size).is(Rule::table_size));
  auto owner = table_call(0);
  owner.in.at(prm::create_flow_table_in::flow_table_context).set(prm::flow_table_context::sw_owner, 1);
  EXPECT_TRUE(user.run(owner).is(Rule::table_feature));
  auto vport = table_call(0);
  vport.in.set(prm::create_flow_table_in::other_vport, 1);
  EXPECT_TRUE(user.run(vport).is(Rule::other_vport));
}

TEST_F(Flow, LevelsAreTheCards) {
  auto profile = model::Profile::parse(
      "base = \"connectx6dx\"\n[flow_table]\nflow_table_properties_nic_receive.max_ft_level = 64\n", "test");
  ASSERT_TRUE(profile) << profile.error().text;
  Host shallow(*profile);
  auto last = table_call(64), beyond = table_call(65);
  EXPECT_TRUE(shallow.run(last).ok());
  EXPECT_TRUE(shallow.run(beyond).is(Rule::table_level));
}

TEST_F(Flow, AMissLeadsUpwards) {
  const std::uint32_t low = table(1), high = table(2);
  auto set_miss = [&](std::uint32_t from, std::uint32_t to) {
    Call<prm::modify_flow_table> call;
    call.in.set(prm::modify_flow_table_in::table_id, from)
        .set(prm::modify_flow_table_in::modify_field_select, prm::flow_table_modify_select::miss_table_id);
    call.in.at(prm::modify_flow_table_in::flow_table_context)
        .set(prm::flow_table_context::table_miss_action,
             to ? prm::flow_table_miss_action::fwd : prm::flow_table_miss_action::def)
        .set(prm::flow_table_context::table_miss_id, to);
    return user.run(call);
  };
  EXPECT_TRUE(set_miss(high, low).is(Rule::table_miss));
  EXPECT_TRUE(set_miss(low, low).is(Rule::table_miss));
  EXPECT_TRUE(set_miss(low, high).ok());
  EXPECT_TRUE(destroy_table(high).is(Rule::object_in_use));
  Call<prm::query_flow_table> query;
  query.in.set(prm::query_flow_table_in::table_id, low);
  ASSERT_TRUE(user.run(query).ok());
  EXPECT_EQ(
      query.out.at(prm::query_flow_table_out::flow_table_context).get(prm::flow_table_context::table_miss_id),
      high);
  EXPECT_TRUE(set_miss(low, 0).ok());
  EXPECT_TRUE(destroy_table(high).ok());
}

TEST_F(Flow, TheKernelRootsATable) {
  const std::uint32_t one = table(0), two = table(0);
  model::Hca::Card& card = host.hca().card();
  EXPECT_TRUE(set_root(one).ok());
  EXPECT_EQ(card.root[0]->number, one);
  EXPECT_TRUE(set_root(two).ok());
  EXPECT_EQ(card.root[0]->number, two);
  EXPECT_TRUE(destroy_table(one).ok());
  EXPECT_TRUE(destroy_table(two).ok()) << "the last root goes without being unset";
  EXPECT_FALSE(card.root[0]);
  EXPECT_TRUE(set_root(two).is(Rule::unknown_object));
  EXPECT_TRUE(set_root(0, 1).ok());
  EXPECT_TRUE(set_root(0, 2).is(Rule::op_mod));
}

TEST_F(Flow, TheRootStaysWhereTheCardCanNotChangeIt) {
  auto profile = model::Profile::parse(
      "base = \"connectx6dx\"\n[flow_table]\nflow_table_properties_nic_receive.modify_root = 0\n", "test");
  ASSERT_TRUE(profile) << profile.error().text;
  Host fixed(*profile);
  auto one = table_call(0), two = table_call(0);
  ASSERT_TRUE(fixed.run(one).ok());
  ASSERT_TRUE(fixed.run(two).ok());
  Call<prm::set_flow_table_root> root;
  root.in.set(prm::set_flow_table_root_in::table_id, one.out.get(prm::create_flow_table_out::table_id));
  EXPECT_TRUE(fixed.run(root).ok());
  EXPECT_TRUE(fixed.run(root).ok()) << "the same again";
  root.in.set(prm::set_flow_table_root_in::table_id, two.out.get(prm::create_flow_table_out::table_id));
  EXPECT_TRUE(fixed.run(root).is(Rule::table_root));
}

TEST_F(Flow, GroupsHaveTheirOwnIndices) {
  const std::uint32_t t = table(3);
  group(t, 10, 19);
  for (auto [first, last] : {std::pair(5u, 10u), {19u, 30u}, {12u, 13u}, {0u, 1000u}}) {
    auto call = group_call(t, first, last);
    EXPECT_TRUE(user.run(call).is(Rule::group_overlap));
  }
  auto outside = group_call(t, 1000, 1024);
  EXPECT_TRUE(user.run(outside).is(Rule::group_range));
  auto backwards = group_call(t, 5, 4);
  EXPECT_TRUE(user.run(backwards).is(Rule::group_range));
  auto fits = group_call(t, 20, 1023);
  EXPECT_TRUE(user.run(fits).ok());
}

TEST_F(Flow, GroupsRefuseWhatTheCardDoesNotMatch) {
  const std::uint32_t t = table(3);
  auto vxlan = group_call(t, 0, 1);
  vxlan.in.set(prm::create_flow_group_in::match_criteria_enable, prm::match_criteria::misc_parameters);
  vxlan.in.at(prm::create_flow_group_in::match_criteria)
      .at(prm::fte_match_param::misc_parameters)
      .set(prm::fte_match_set_misc::vxlan_vni, 0xffffff);
  const Answer answer = user.run(vxlan);
  EXPECT_TRUE(answer.is(Rule::group_criteria));
  EXPECT_NE(answer.words.find("0x54"), std::string::npos) << answer.words;
}

TEST_F(Flow, GroupsAreQueriedAndKeepTheirTable) {
  const std::uint32_t t = table(3), g = group(t, 4, 9);
  Call<prm::query_flow_group> query;
  query.in.set(prm::query_flow_group_in::table_id, t).set(prm::query_flow_group_in::group_id, g);
  ASSERT_TRUE(user.run(query).ok());
  EXPECT_EQ(query.out.get(prm::query_flow_group_out::end_flow_index), 9u);
  const auto wanted = group_call(t, 4, 9);
  const auto a = wanted.in.at(prm::create_flow_group_in::match_criteria).bytes();
  const auto b = query.out.at(prm::query_flow_group_out::match_criteria).bytes();
  EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end()));
  EXPECT_TRUE(destroy_table(t).is(Rule::object_in_use));

  auto call = entry_call(t, g, 4, 53);
  ASSERT_TRUE(user.run(call).ok());
  Call<prm::destroy_flow_group> destroy;
  destroy.in.set(prm::destroy_flow_group_in::table_id, table(4)).set(prm::destroy_flow_group_in::group_id, g);
  EXPECT_TRUE(user.run(destroy).is(Rule::group_table));
  destroy.in.set(prm::destroy_flow_group_in::table_id, t);
  EXPECT_TRUE(user.run(destroy).is(Rule::object_in_use));
  Call<prm::delete_flow_table_entry> remove;
  remove.in.set(prm::delete_fte_in::table_id, t).set(prm::delete_fte_in::flow_index, 4);
  ASSERT_TRUE(user.run(remove).ok());
  EXPECT_TRUE(user.run(destroy).ok());
  EXPECT_TRUE(destroy_table(t).ok());
}

TEST_F(Flow, EntriesLeadToTirsAndHigherTables) {
  const std::uint32_t t = table(3), up = table(4), down = table(2), g = group(t, 0, 99), to = tir();
  auto call = entry_call(t, g, 0, 1);
  forward(call, prm::flow_destination_type::tir, to);
  count(call, host.flow_counter(user.uid));
  call.in.at(prm::set_fte_in::flow_context).set(F::flow_tag, 0xabcde);
  const Answer answer = user.run(call);
  ASSERT_TRUE(answer.ok()) << answer.words;
  EXPECT_EQ(match(t, 1)->verdict.destinations[0].tir->number, to);

  Call<prm::query_flow_table_entry, 0, 64> query;
  query.in.set(prm::query_fte_in::table_id, t);
  ASSERT_TRUE(user.run(query).ok());
  const auto seen = query.out.at(prm::query_fte_out::flow_context);
  EXPECT_EQ(seen.get(F::flow_tag), 0xabcdeu);
  EXPECT_EQ(seen.get(F::flow_counter_list_size), 1u);
  EXPECT_EQ(seen.at(F::match_value).at(prm::fte_match_param::outer_headers).get(L::udp_dport), 1u);
  EXPECT_EQ(seen.at(F::match_value).at(prm::fte_match_param::outer_headers).get(L::udp_sport), 0u);

  auto higher = entry_call(t, g, 1, 2);
  forward(higher, prm::flow_destination_type::flow_table, up);
  EXPECT_TRUE(user.run(higher).ok());
  EXPECT_TRUE(destroy_table(up).is(Rule::object_in_use));
  auto lower = entry_call(t, g, 2, 3);
  forward(lower, prm::flow_destination_type::flow_table, down);
  EXPECT_TRUE(user.run(lower).is(Rule::entry_level));
  lower.in.set(prm::set_fte_in::ignore_flow_level, 1);
  EXPECT_TRUE(user.run(lower).ok());
  auto vport = entry_call(t, g, 3, 4);
  forward(vport, prm::flow_destination_type::vport, 0);
  EXPECT_TRUE(user.run(vport).is(Rule::entry_destination));
}

TEST_F(Flow, EntriesRefuseWhatMakesNoSense) {
  const std::uint32_t t = table(3), g = group(t, 0, 9);
  auto refused = [&](auto change) {
    auto call = entry_call(t, g, 0, 1);
    change(call);
    return user.run(call);
  };
  auto context = [](Entry& call) { return call.in.at(prm::set_fte_in::flow_context); };
  auto action = [&](std::uint32_t value) {
    return refused([&](Entry& call) { context(call).set(F::action, value); });
  };
  EXPECT_TRUE(action(0).is(Rule::entry_action));
  EXPECT_TRUE(action(prm::flow_action::drop | prm::flow_action::fwd_dest).is(Rule::entry_action));
  EXPECT_TRUE(action(prm::flow_action::allow).is(Rule::entry_action));
  EXPECT_TRUE(action(prm::flow_action::mod_hdr | prm::flow_action::drop).is(Rule::entry_action));
  EXPECT_TRUE(action(prm::flow_action::fwd_dest).is(Rule::entry_destination));
  EXPECT_TRUE(action(prm::flow_action::drop | prm::flow_action::count).is(Rule::entry_counter));
  EXPECT_TRUE(
      refused([&](Entry& c) { context(c).set(F::extended_destination, 1); }).is(Rule::entry_destination));
  EXPECT_TRUE(refused([&](Entry& c) { c.in.set(prm::set_fte_in::flow_index, 10); }).is(Rule::entry_index));
  EXPECT_TRUE(refused([&](Entry& c) { c.in.set(prm::set_fte_in::op_mod, 5); }).is(Rule::op_mod));
  EXPECT_TRUE(refused([&](Entry& c) { context(c).set(F::group_id, 0x999); }).is(Rule::unknown_object));
  EXPECT_TRUE(refused([&](Entry& c) { count(c, 0x999); }).is(Rule::unknown_object));
  auto taken = entry_call(t, g, 0, 1);
  EXPECT_TRUE(user.run(taken).ok());
  EXPECT_TRUE(user.run(taken).is(Rule::entry_index));
  EXPECT_EQ(host.objects()["flow entry"], 1u);
}

TEST_F(Flow, EntriesAreModified) {
  const std::uint32_t t = table(3), g = group(t, 0, 9), to = tir();
  auto call = entry_call(t, g, 0, 1);
  call.in.at(prm::set_fte_in::flow_context).set(F::flow_tag, 7);
  ASSERT_TRUE(user.run(call).ok());
  forward(call, prm::flow_destination_type::tir, to);
  call.in.set(prm::set_fte_in::op_mod, 1)
      .set(prm::set_fte_in::modify_enable_mask,
           prm::fte_modify_mask::action | prm::fte_modify_mask::destination_list);
  call.in.at(prm::set_fte_in::flow_context).set(F::flow_tag, 8);
  ASSERT_TRUE(user.run(call).ok());
  EXPECT_EQ(match(t, 1)->verdict.action, prm::flow_action::fwd_dest);
  EXPECT_EQ(match(t, 1)->verdict.flow_tag, 7u) << "not selected";
  call.in.set(prm::set_fte_in::flow_index, 1);
  EXPECT_TRUE(user.run(call).is(Rule::entry_index));
  call.in.set(prm::set_fte_in::flow_index, 0).set(prm::set_fte_in::modify_enable_mask, 0x80);
  EXPECT_TRUE(user.run(call).is(Rule::entry_modify));
}

TEST_F(Flow, CountersAreReadAndCleared) {
  const std::uint32_t number = host.flow_counter(user.uid);
  host.hca().card().flow_counters.find(number)->packets = 3;
  host.hca().card().flow_counters.find(number)->octets = 300;
  Call<prm::query_flow_counter, 0, 16> query;
  query.in.set(prm::query_flow_counter_in::flow_counter_id, number).set(prm::query_flow_counter_in::clear, 1);
  ASSERT_TRUE(user.run(query).ok());
  EXPECT_EQ(query.out.at(prm::query_flow_counter_out::flow_statistics, 0).get(prm::traffic_counter::octets),
            300u);
  ASSERT_TRUE(user.run(query).ok());
  EXPECT_EQ(query.out.at(prm::query_flow_counter_out::flow_statistics, 0).get(prm::traffic_counter::packets),
            0u);
  query.in.set(prm::query_flow_counter_in::num_of_counters, 2);
  EXPECT_TRUE(user.run(query).is(Rule::output_length));
  Call<prm::alloc_flow_counter> bulk;
  bulk.in.set(prm::alloc_flow_counter_in::flow_counter_bulk, 1);
  EXPECT_TRUE(user.run(bulk).is(Rule::counter_bulk));
}

}  // namespace
}  // namespace chime::test
