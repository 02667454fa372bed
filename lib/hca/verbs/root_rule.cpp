// SPDX-License-Identifier: BSD-3-Clause
#include "hca/verbs/root_rule.h"

#include <algorithm>
#include <cerrno>

#include "hca/verbs/failure.h"
#include "prm/view.h"

namespace chime::hca::verbs {
namespace {

using Param = prm::fte_match_param;
using Outer = prm::fte_match_set_lyr_2_4;

constexpr std::uint8_t outer_headers = 1;

std::uint64_t address_in(MatchParameters& parameters) noexcept {
  const auto outer = prm::View<Param>(parameters.bytes()).at(Param::outer_headers);
  return std::uint64_t{outer.get(Outer::dmac_47_16)} << 16 | outer.get(Outer::dmac_15_0);
}

void set_address(MatchParameters& parameters, std::uint64_t address) noexcept {
  prm::View<Param>(parameters.bytes())
      .at(Param::outer_headers)
      .set(Outer::dmac_47_16, static_cast<std::uint32_t>(address >> 16))
      .set(Outer::dmac_15_0, static_cast<std::uint32_t>(address & 0xffff));
}

Error rule_failure(const char* call, int errnum) noexcept {
  switch (errnum) {
    case EPERM:
      return Error::make(EPERM,
                         "%s: a rule for received packets needs the capability CAP_NET_RAW: run as root, or "
                         "`setcap cap_net_raw,cap_ipc_lock+ep PROGRAM`",
                         call);
    case EOPNOTSUPP:
      return Error::make(
          ENOTSUP,
          "%s: the kernel has no bypass namespace for this port: the card's receive tables have "
          "too few levels or can't be changed while in use; newer firmware helps "
          "(`mlxfwmanager`), and so does leaving switchdev mode (`devlink dev eswitch set "
          "pci/ADDRESS mode legacy`)",
          call);
    default:
      return call_failure(call, errnum);
  }
}

}  // namespace

bool RootRule::asks_for_address() noexcept {
  return config_.criteria_enable & outer_headers && address_in(config_.mask) != 0;
}

Result<mlx5dv_flow_matcher*> RootRule::matcher_for(std::uint64_t mask) noexcept {
  auto* at =
      std::ranges::find_if(matchers_, [=](const MaskMatcher& m) { return m.matcher && m.mask == mask; });
  if (at != matchers_.end()) return at->matcher.get();
  at = std::ranges::find_if(matchers_, [](const MaskMatcher& m) { return !m.matcher; });
  if (at == matchers_.end()) return fail(ENOSPC, "a root rule has %zu masks at most", matchers_.size());
  MatchParameters parameters = config_.mask;
  std::uint8_t criteria = config_.criteria_enable;
  if (mask != 0) {
    set_address(parameters, mask);
    criteria |= outer_headers;
  }
  mlx5dv_flow_matcher_attr attributes{};
  attributes.type = IBV_FLOW_ATTR_NORMAL;
  attributes.priority = config_.priority;
  attributes.match_criteria_enable = criteria;
  attributes.match_mask = parameters.get();
  Matcher made(mlx5dv_create_flow_matcher(config_.context, &attributes));
  if (!made) return fail(rule_failure("mlx5dv_create_flow_matcher", errno));
  *at = {mask, std::move(made)};
  return at->matcher.get();
}

Result<Flow> RootRule::make_flow(const AddressMatch& match) noexcept {
  auto matcher = matcher_for(match.mask);
  if (!matcher) return fail(matcher.error());
  MatchParameters value = config_.value;
  if (match.mask != 0) set_address(value, match.address);
  mlx5dv_flow_action_attr action{};
  action.type = MLX5DV_FLOW_ACTION_DEST_DEVX;
  action.obj = config_.destination;
  Flow flow(mlx5dv_create_flow(*matcher, value.get(), 1, &action));
  if (!flow) return fail(rule_failure("mlx5dv_create_flow", errno));
  return flow;
}

RootRule::Entry* RootRule::find(const AddressMatch& match) noexcept {
  Entry* at = std::lower_bound(entries_.begin(), entries_.end(), match,
                               [](const Entry& e, const AddressMatch& m) { return e.match < m; });
  return at != entries_.end() && at->match == match ? at : nullptr;
}

Result<> RootRule::prepare(std::span<const AddressMatch> matches) noexcept {
  constexpr AddressMatch as_it_is[] = {{0, 0}};
  if (asks_for_address()) matches = as_it_is;
  auto next = Array<Entry>::make(matches.size(), "root rules of a port");
  if (!next) return fail(next.error());
  for (std::size_t i = 0; i < matches.size(); ++i) {
    (*next)[i].match = matches[i];
    if (find(matches[i])) continue;
    auto flow = make_flow(matches[i]);
    if (!flow) return fail(flow.error());
    (*next)[i].flow = std::move(*flow);
  }
  next_ = std::move(*next);
  return {};
}

void RootRule::commit() noexcept {
  for (Entry& entry : next_) {
    if (!entry.flow) entry.flow = std::move(find(entry.match)->flow);
  }
  entries_ = std::move(next_);
  next_ = {};
}

}  // namespace chime::hca::verbs
