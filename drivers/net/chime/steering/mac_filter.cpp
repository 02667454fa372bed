// SPDX-License-Identifier: BSD-3-Clause
#include "steering/mac_filter.h"

#include <algorithm>
#include <utility>

#include "keep.h"
#include "steering/match.h"

namespace chime::net {

namespace {

constexpr std::uint8_t log_table_size = 14;
constexpr std::uint64_t broadcast = 0xffffffffffff;
constexpr std::uint64_t group_bit = 0x010000000000;

std::uint64_t number(const hca::MacAddress& mac) noexcept {
  std::uint64_t value = 0;
  for (std::uint8_t byte : mac) value = value << 8 | byte;
  return value;
}

void set_destination(prm::Box<prm::fte_match_param>& param, std::uint64_t address) noexcept {
  using fields = prm::fte_match_set_lyr_2_4;
  param.at(prm::fte_match_param::outer_headers)
      .set(fields::dmac_47_16, static_cast<std::uint32_t>(address >> 16))
      .set(fields::dmac_15_0, static_cast<std::uint32_t>(address & 0xffff));
}

}  // namespace

Result<Owned<MacFilter>> MacFilter::make_empty(hca::Device& device, std::uint8_t level,
                                               Destination next) noexcept {
  Result<Owned<MacFilter>> made = make_owned<MacFilter>("a MAC filter", Token{}, device, next);
  if (!made) return made;
  MacFilter& filter = **made;
  Result<> done = keep(filter.indices_, IndexPool::make(max_addresses, "a MAC filter's indices"));
  if (!done) return fail(done.error());
  done = keep(filter.table_,
              hca::create_flow_table(device, {.level = level, .log_size = log_table_size, .miss_table = {}}));
  if (!done) return fail(done.error());
  prm::Box<prm::fte_match_param> mask;
  set_destination(mask, broadcast);
  done = keep(filter.exact_, hca::create_flow_group(device, filter.table_.number(), 0, max_addresses - 1,
                                                    match_outer, mask.bytes()));
  if (!done) return fail(done.error());
  set_destination(mask, group_bit);
  done = keep(filter.group_addresses_, hca::create_flow_group(device, filter.table_.number(), max_addresses,
                                                              max_addresses, match_outer, mask.bytes()));
  if (!done) return fail(done.error());
  return made;
}

Result<Owned<MacFilter>> MacFilter::create(hca::Device& device, std::uint8_t level, Destination next,
                                           std::span<const hca::MacAddress> unicast,
                                           std::span<const hca::MacAddress> multicast,
                                           bool all_multicast) noexcept {
  Result<Owned<MacFilter>> made = make_empty(device, level, next);
  if (!made) return made;
  Result<> done = (*made)->update(unicast, multicast, all_multicast);
  if (!done) return fail(done.error());
  return made;
}

Result<Owned<MacFilter>> MacFilter::copy(std::uint8_t level, Destination next) const noexcept {
  Result<Owned<MacFilter>> made = make_empty(device_, level, next);
  if (!made) return made;
  Result<Array<std::uint64_t>> list = Array<std::uint64_t>::make(entries_.size(), "a list of MAC addresses");
  if (!list) return fail(list.error());
  for (std::size_t i = 0; i < entries_.size(); ++i) (*list)[i] = entries_[i].address;
  Result<> done = (*made)->set(list->span(), static_cast<bool>(all_multicast_));
  if (!done) return fail(done.error());
  return made;
}

Result<hca::Object> MacFilter::make_entry(std::uint32_t group, std::uint32_t index,
                                          std::uint64_t address) noexcept {
  prm::Box<prm::fte_match_param> value;
  set_destination(value, address);
  return hca::create_flow_entry(device_, {.table = table_.number(),
                                          .group = group,
                                          .index = index,
                                          .value = value.bytes(),
                                          .action = hca::EntryConfig::Action::forward,
                                          .destinations = {&next_, 1},
                                          .counters = {},
                                          .flow_tag = 0});
}

MacFilter::Entry* MacFilter::find(std::uint64_t address) noexcept {
  Entry* entry = std::lower_bound(entries_.begin(), entries_.end(), address,
                                  [](const Entry& e, std::uint64_t a) { return e.address < a; });
  return entry != entries_.end() && entry->address == address ? entry : nullptr;
}

Result<> MacFilter::add_missing(Array<Entry>& wanted) noexcept {
  for (Entry& entry : wanted) {
    if (find(entry.address)) continue;
    entry.index = indices_.take();
    if (entry.index == IndexPool::none)
      return fail(ENOSPC, "the MAC filter has room for %u addresses, old and new ones of a change together",
                  max_addresses);
    Result<> done = keep(entry.object, make_entry(exact_.number(), entry.index, entry.address));
    if (!done) {
      indices_.give_back(entry.index);
      return done;
    }
  }
  return {};
}

Result<> MacFilter::update(std::span<const hca::MacAddress> unicast,
                           std::span<const hca::MacAddress> multicast, bool all_multicast) noexcept {
  Result<Array<std::uint64_t>> list =
      Array<std::uint64_t>::make(unicast.size() + multicast.size() + 1, "a list of MAC addresses");
  if (!list) return fail(list.error());
  std::uint64_t* end = list->begin();
  *end++ = broadcast;
  for (const hca::MacAddress& mac : unicast) *end++ = number(mac);
  for (const hca::MacAddress& mac : multicast) *end++ = number(mac);
  std::sort(list->begin(), end);
  end = std::unique(list->begin(), end);
  return set({list->begin(), end}, all_multicast);
}

Result<> MacFilter::set(std::span<const std::uint64_t> addresses, bool all_multicast) noexcept {
  Result<Array<Entry>> wanted = Array<Entry>::make(addresses.size(), "the MAC filter's entries");
  if (!wanted) return fail(wanted.error());
  for (std::size_t i = 0; i < wanted->size(); ++i) (*wanted)[i].address = addresses[i];

  Result<> done = add_missing(*wanted);
  hca::Object every_group_address;
  if (done && all_multicast && !all_multicast_)
    done = keep(every_group_address, make_entry(group_addresses_.number(), max_addresses, group_bit));
  if (!done) {
    for (Entry& entry : *wanted) {
      if (!entry.object) continue;
      entry.object = {};
      indices_.give_back(entry.index);
    }
    return done;
  }

  // Nothing can fail from here on.
  if (every_group_address) all_multicast_ = std::move(every_group_address);
  if (!all_multicast) all_multicast_ = {};
  for (Entry& entry : *wanted) {
    if (entry.object) continue;
    Entry& known = *find(entry.address);
    entry.index = known.index;
    entry.object = std::move(known.object);
  }
  for (Entry& entry : entries_) {
    if (!entry.object) continue;
    entry.object = {};
    indices_.give_back(entry.index);
  }
  entries_ = std::move(*wanted);
  return {};
}

}  // namespace chime::net
