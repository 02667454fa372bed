// SPDX-License-Identifier: BSD-3-Clause
#include "steering/rss_spread.h"

#include <algorithm>

#include "keep.h"
#include "steering/match.h"

namespace chime::net {

namespace {

constexpr std::uint8_t log_table_size = 4;
constexpr std::uint32_t ethertype_ipv4 = 0x0800, ethertype_ipv6 = 0x86dd;
constexpr std::uint32_t protocol_tcp = 6, protocol_udp = 17;

enum Group : unsigned { with_l4, fragments, ip, all };
struct Range {
  std::uint32_t first, last;
};
constexpr Range ranges[] = {{0, 3}, {4, 5}, {6, 7}, {8, 8}};

Group group_of(Spread packets) noexcept {
  switch (packets) {
    case Spread::tcp:
    case Spread::udp:
      return with_l4;
    case Spread::fragment:
      return fragments;
    case Spread::any:
      break;
  }
  return ip;
}

/// The group's mask, and in it what tells these packets.
Match match_of(Group group, bool ipv6, Spread packets) noexcept {
  using fields = prm::fte_match_set_lyr_2_4;
  Match match;
  const auto mask = match.mask.at(prm::fte_match_param::outer_headers);
  const auto value = match.value.at(prm::fte_match_param::outer_headers);
  if (group == all) return match;
  match.criteria = match_outer;
  mask.set(fields::ethertype, 0xffff);
  value.set(fields::ethertype, ipv6 ? ethertype_ipv6 : ethertype_ipv4);
  if (group == ip) return match;
  mask.set(fields::frag, 1);
  value.set(fields::frag, packets == Spread::fragment);
  if (group == fragments) return match;
  mask.set(fields::ip_protocol, 0xff);
  value.set(fields::ip_protocol, packets == Spread::tcp ? protocol_tcp : protocol_udp);
  return match;
}

}  // namespace

Result<Owned<RssSpread>> RssSpread::create(hca::Device& device, std::uint32_t transport_domain,
                                           std::uint8_t level, std::span<const std::uint32_t> rqns,
                                           const SpreadConfig& config) noexcept {
  Result<Owned<RssSpread>> made = make_owned<RssSpread>("RSS", Token{});
  if (!made) return made;
  RssSpread& spread = **made;
  spread.size_ = rqns.size();
  spread.first_rqn_ = rqns[0];
  const RssPlan plan = plan_rss(config.types);
  const auto hashes = [](HashClass kind) { return kind != HashClass::none; };

  hca::Object& direct = spread.tirs_[static_cast<unsigned>(HashClass::none)];
  Result<> done = keep(direct, hca::create_direct_tir(device, transport_domain, rqns[0]));
  if (!done) return fail(done.error());
  if (std::ranges::none_of(plan.ipv4, hashes) && std::ranges::none_of(plan.ipv6, hashes)) {
    spread.entrance_ = to_tir(direct.number());
    return made;
  }
  if (done = keep(spread.rqt_, hca::create_rqt(device, rqns)); !done) return fail(done.error());
  if (done = spread.make_tirs(device, transport_domain, plan, config); !done) return fail(done.error());
  if (done = spread.make_table(device, level, plan); !done) return fail(done.error());
  spread.entrance_ = to_table(spread.table_.number());
  return made;
}

Result<> RssSpread::make_tirs(hca::Device& device, std::uint32_t transport_domain, const RssPlan& plan,
                              const SpreadConfig& config) noexcept {
  for (unsigned i = 1; i < hash_classes; ++i) {
    const auto kind = static_cast<HashClass>(i);
    if (!plan.uses(kind)) continue;
    const HashProtocols headers = protocols(kind);
    Result<> done = keep(tirs_[i], hca::create_rss_tir(device, transport_domain,
                                                       {.rqt = rqt_.number(),
                                                        .key = config.key,
                                                        .symmetric = config.symmetric,
                                                        .ipv6 = headers.ipv6,
                                                        .l4 = headers.l4,
                                                        .selected_fields = plan.selected_fields[i]}));
    if (!done) return done;
  }
  return {};
}

Result<> RssSpread::make_table(hca::Device& device, std::uint8_t level, const RssPlan& plan) noexcept {
  Result<> done = keep(
      table_, hca::create_flow_table(device, {.level = level, .log_size = log_table_size, .miss_table = {}}));
  if (!done) return done;
  done = make_entry(device, all, ranges[all].first, false, Spread::any, HashClass::none);
  for (bool ipv6 : {false, true}) {
    const HashClass(&kinds)[spreads] = ipv6 ? plan.ipv6 : plan.ipv4;
    const HashClass otherwise = kinds[static_cast<unsigned>(Spread::any)];
    for (Spread packets : {Spread::tcp, Spread::udp, Spread::fragment, Spread::any}) {
      const HashClass kind = kinds[static_cast<unsigned>(packets)];
      if (packets == Spread::any ? kind == HashClass::none : kind == otherwise) continue;
      const Group group = group_of(packets);
      const std::uint32_t index = ranges[group].first + (ipv6 ? 1u : 0u) + (packets == Spread::udp ? 2u : 0u);
      if (done) done = make_entry(device, group, index, ipv6, packets, kind);
    }
  }
  return done;
}

Result<> RssSpread::make_entry(hca::Device& device, unsigned group, std::uint32_t index, bool ipv6,
                               Spread packets, HashClass kind) noexcept {
  const Match match = match_of(static_cast<Group>(group), ipv6, packets);
  const std::span<const std::byte> none;
  if (!groups_[group]) {
    Result<> done =
        keep(groups_[group],
             hca::create_flow_group(device, table_.number(), ranges[group].first, ranges[group].last,
                                    match.criteria, match.criteria != 0 ? match.mask.bytes() : none));
    if (!done) return done;
  }
  const Destination tir = to_tir(tirs_[static_cast<unsigned>(kind)].number());
  return keep(entries_[index],
              hca::create_flow_entry(device, {.table = table_.number(),
                                              .group = groups_[group].number(),
                                              .index = index,
                                              .value = match.criteria != 0 ? match.value.bytes() : none,
                                              .action = hca::EntryConfig::Action::forward,
                                              .destinations = {&tir, 1},
                                              .counters = {},
                                              .flow_tag = 0}));
}

}  // namespace chime::net
