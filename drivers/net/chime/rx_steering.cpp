// SPDX-License-Identifier: BSD-3-Clause
#include "rx_steering.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "keep.h"

namespace chime::net {

namespace {

bool same(const RssSettings& a, const RssSettings& b) noexcept {
  return a.enabled == b.enabled && a.types == b.types && a.key == b.key && a.reta_size == b.reta_size &&
         std::equal(a.reta.begin(), a.reta.begin() + a.reta_size, b.reta.begin());
}

SpreadConfig spread_config(const RssSettings& rss) noexcept {
  return {.types = rss.enabled ? rss.types : 0, .key = rss.key, .symmetric = false};
}

Result<> check(const RssSettings& rss, std::size_t queues) noexcept {
  if (!rss.enabled) return {};
  if (Result<> done = check_rss_types(rss.types); !done) return done;
  if (rss.reta_size > max_reta || !std::has_single_bit(rss.reta_size))
    return fail(EINVAL, "an RSS table of %u entries; it has a power of two, at most %u",
                unsigned{rss.reta_size}, unsigned{max_reta});
  for (unsigned i = 0; i < rss.reta_size; ++i)
    if (rss.reta[i] >= queues)
      return fail(EINVAL, "entry %u of the RSS table is queue %u; the port has %zu", i, unsigned{rss.reta[i]},
                  queues);
  return {};
}

/// Receive queue numbers in the order of the RSS table.
struct Rqns {
  std::array<std::uint32_t, max_reta> numbers;
  std::size_t count;
  std::span<const std::uint32_t> span() const noexcept { return {numbers.data(), count}; }
};

Rqns spread_over(const RssSettings& rss, std::span<const std::uint32_t> rqns) noexcept {
  Rqns list;
  list.count = rss.enabled ? rss.reta_size : 1;
  list.numbers[0] = rqns[0];
  if (rss.enabled)
    for (std::size_t i = 0; i < list.count; ++i) list.numbers[i] = rqns[rss.reta[i]];
  return list;
}

}  // namespace

Result<Owned<RxSteering>> RxSteering::create(hca::Device& device, std::uint32_t transport_domain,
                                             std::span<const std::uint32_t> rqns, const RssSettings& rss,
                                             const ReceiveFilter& filter) noexcept {
  if (rqns.empty()) return fail(EINVAL, "a port receives with at least one queue");
  if (Result<> done = check(rss, rqns.size()); !done) return fail(done.error());
  Result<Owned<RxSteering>> made = make_owned<RxSteering>("receive steering");
  if (!made) return made;
  RxSteering& s = **made;
  s.device_ = &device;
  s.transport_domain_ = transport_domain;
  Result<> done = keep(s.rqns_, Array<std::uint32_t>::make(rqns.size(), "a port's queue numbers"));
  if (!done) return fail(done.error());
  std::ranges::copy(rqns, s.rqns_.begin());
  if (done = keep(s.limits_, TableLimits::query(device)); !done) return fail(done.error());
  s.root_.emplace(Gate::at_root(device));
  s.rss_ = rss;
  s.isolated_ = filter.isolated;
  if (s.isolated_) return made;

  Stages stages;
  if (done = keep(stages.spread, s.make_spread(rss)); !done) return fail(done.error());
  s.stages_.spread = std::move(stages.spread);
  if (done = s.update_filter(filter); !done) return fail(done.error());
  return made;
}

Result<Owned<RssSpread>> RxSteering::make_spread(const RssSettings& rss) noexcept {
  return RssSpread::create(*device_, transport_domain_, limits_.spread_level,
                           spread_over(rss, rqns_.span()).span(), spread_config(rss));
}

Result<> RxSteering::update_filter(const ReceiveFilter& filter) noexcept {
  if (isolated_) return {};
  const bool by_mac = !filter.promiscuous;
  const bool by_vlan = by_mac && filter.vlans;

  // The same stages: only their entries change.
  if (root_->open() && by_mac == bool(stages_.macs) && by_vlan == bool(stages_.vlans)) {
    const VlanSet before = by_vlan ? stages_.vlans->listed() : VlanSet{};
    if (by_vlan)
      if (Result<> done = stages_.vlans->extend(*filter.vlans); !done) return done;
    Result<> done;
    if (by_mac) done = stages_.macs->update(filter.unicast, filter.multicast, filter.all_multicast);
    if (by_vlan) stages_.vlans->reduce(done ? *filter.vlans : before);
    return done;
  }

  Stages stages;
  Destination next = stages_.spread->entrance();
  if (by_vlan) {
    Result<> done = keep(stages.vlans, VlanFilter::create(*device_, limits_.vlan_level, next, *filter.vlans));
    if (!done) return done;
    next = stages.vlans->entrance();
  }
  if (by_mac) {
    Result<> done = keep(stages.macs, MacFilter::create(*device_, limits_.mac_level, next, filter.unicast,
                                                        filter.multicast, filter.all_multicast));
    if (!done) return done;
  }
  return install(stages);
}

Result<> RxSteering::update_rss(const RssSettings& rss) noexcept {
  if (Result<> done = check(rss, rqns_.size()); !done) return done;
  if (isolated_ || same(rss, rss_)) {
    rss_ = rss;
    return {};
  }
  const Rqns queues = spread_over(rss, rqns_.span());
  if (spread_config(rss) == spread_config(rss_) && stages_.spread->can_retarget(queues.span())) {
    Result<> done = stages_.spread->retarget(queues.span());
    if (done) rss_ = rss;
    return done;
  }

  Stages stages;
  if (Result<> done = keep(stages.spread, make_spread(rss)); !done) return done;
  Destination next = stages.spread->entrance();
  if (stages_.vlans) {
    Result<> done =
        keep(stages.vlans, VlanFilter::create(*device_, limits_.vlan_level, next, stages_.vlans->listed()));
    if (!done) return done;
    next = stages.vlans->entrance();
  }
  if (stages_.macs) {
    Result<> done = keep(stages.macs, stages_.macs->copy(limits_.mac_level, next));
    if (!done) return done;
  }
  Result<> done = install(stages);
  if (done) rss_ = rss;
  return done;
}

/// Leads packets to new stages; the present ones go. Without a spread among the new ones the present one
/// stays.
Result<> RxSteering::install(Stages& stages) noexcept {
  const Destination entrance = stages.macs     ? stages.macs->entrance()
                               : stages.spread ? stages.spread->entrance()
                                               : stages_.spread->entrance();
  if (Result<> done = switch_gates(entrance); !done) return done;
  stages_.macs = std::move(stages.macs);
  stages_.vlans = std::move(stages.vlans);
  if (stages.spread) stages_.spread = std::move(stages.spread);
  return {};
}

Result<> RxSteering::switch_gates(Destination entrance) noexcept {
  Result<> done;
  if (!front_) done = root_->prepare(entrance);
  for (Gate* gate = gates_; gate && done; gate = gate->next_) done = gate->prepare(entrance);
  if (!done) {
    root_->cancel();
    for (Gate* gate = gates_; gate; gate = gate->next_) gate->cancel();
    return done;
  }
  root_->commit();
  for (Gate* gate = gates_; gate; gate = gate->next_) gate->commit();
  entrance_ = entrance;
  return {};
}

Result<> RxSteering::set_front(std::optional<std::uint32_t> table) noexcept {
  Result<> done;
  if (table)
    done = root_->lead(to_table(*table));
  else if (isolated_)
    root_->close();
  else
    done = root_->lead(entrance_);
  if (done) front_ = table;
  return done;
}

Result<> RxSteering::add(Gate& gate) noexcept {
  if (!isolated_)
    if (Result<> done = gate.lead(entrance_); !done) return done;
  gate.next_ = gates_;
  gates_ = &gate;
  return {};
}

void RxSteering::remove(Gate& gate) noexcept {
  Gate** at = &gates_;
  while (*at && *at != &gate) at = &(*at)->next_;
  if (*at) *at = gate.next_;
  gate.next_ = nullptr;
}

}  // namespace chime::net
