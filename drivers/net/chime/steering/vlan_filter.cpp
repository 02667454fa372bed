// SPDX-License-Identifier: BSD-3-Clause
#include "steering/vlan_filter.h"

#include <bit>

#include "keep.h"
#include "steering/match.h"

namespace chime::net {

namespace {

constexpr std::uint8_t log_table_size = 13;
using fields = prm::fte_match_set_lyr_2_4;

hca::EntryConfig entry(const hca::Object& table, const hca::Object& group, std::uint32_t index,
                       const Destination& next) noexcept {
  return {.table = table.number(),
          .group = group.number(),
          .index = index,
          .value = {},
          .action = hca::EntryConfig::Action::forward,
          .destinations = {&next, 1},
          .counters = {},
          .flow_tag = 0};
}

template <class F>
void for_each(const VlanSet& set, F&& f) noexcept {
  for (std::uint32_t word = 0; word < set.size(); ++word)
    for (std::uint64_t left = set[word]; left != 0; left &= left - 1)
      f(word * 64 + static_cast<std::uint32_t>(std::countr_zero(left)));
}

}  // namespace

Result<Owned<VlanFilter>> VlanFilter::create(hca::Device& device, std::uint8_t level, Destination next,
                                             const VlanSet& vlans) noexcept {
  Result<Owned<VlanFilter>> made = make_owned<VlanFilter>("a VLAN filter", Token{}, device, next);
  if (!made) return made;
  VlanFilter& filter = **made;
  Result<> done = keep(filter.entries_, Array<hca::Object>::make(vlan_ids, "a VLAN filter's entries"));
  if (!done) return fail(done.error());
  done = keep(filter.table_,
              hca::create_flow_table(device, {.level = level, .log_size = log_table_size, .miss_table = {}}));
  if (!done) return fail(done.error());

  Match match;
  match.mask.at(prm::fte_match_param::outer_headers).set(fields::cvlan_tag, 1).set(fields::svlan_tag, 1);
  done = keep(filter.no_tag_,
              hca::create_flow_group(device, filter.table_.number(), 0, 0, match_outer, match.mask.bytes()));
  if (!done) return fail(done.error());
  hca::EntryConfig untagged = entry(filter.table_, filter.no_tag_, 0, filter.next_);
  untagged.value = match.value.bytes();
  done = keep(filter.untagged_, hca::create_flow_entry(device, untagged));
  if (!done) return fail(done.error());

  match.mask.at(prm::fte_match_param::outer_headers)
      .set(fields::cvlan_tag, 0)
      .set(fields::svlan_tag, 0)
      .set(fields::first_vid, 0xfff);
  done = keep(filter.by_id_, hca::create_flow_group(device, filter.table_.number(), 1, vlan_ids, match_outer,
                                                    match.mask.bytes()));
  if (!done) return fail(done.error());
  done = filter.extend(vlans);
  if (!done) return fail(done.error());
  return made;
}

Result<> VlanFilter::extend(const VlanSet& vlans) noexcept {
  const VlanSet before = vlans_;
  Result<> done;
  for_each(vlans, [&](std::uint32_t id) {
    if (!done || entries_[id]) return;
    prm::Box<prm::fte_match_param> value;
    value.at(prm::fte_match_param::outer_headers).set(fields::first_vid, id);
    hca::EntryConfig config = entry(table_, by_id_, 1 + id, next_);
    config.value = value.bytes();
    done = keep(entries_[id], hca::create_flow_entry(device_, config));
    if (done) vlans_[id / 64] |= std::uint64_t{1} << id % 64;
  });
  if (!done) reduce(before);
  return done;
}

void VlanFilter::reduce(const VlanSet& vlans) noexcept {
  VlanSet gone;
  for (std::size_t word = 0; word < gone.size(); ++word) gone[word] = vlans_[word] & ~vlans[word];
  for_each(gone, [&](std::uint32_t id) { entries_[id] = {}; });
  for (std::size_t word = 0; word < gone.size(); ++word) vlans_[word] &= vlans[word];
}

}  // namespace chime::net
