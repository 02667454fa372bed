// SPDX-License-Identifier: BSD-3-Clause
#include "hca/verbs/root_steering.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace chime::hca::verbs {
namespace {

constexpr unsigned priorities = 16;
/// Bytes of a set of match parameters: outer headers, misc, inner headers, ...
constexpr std::size_t match_set = 0x40;

class RuleHandle final : public Handle {
 public:
  RuleHandle(RootSteering& steering, const RootRule::Config& config) noexcept
      : Handle(prm::cmd_opcode::set_flow_table_entry, 0), rule(config), steering_(steering) {}
  ~RuleHandle() override { steering_.remove(rule); }
  RootRule rule;

 private:
  RootSteering& steering_;
};

/// Kernel and card refuse sets that they do not know: no more of them than the rule uses.
std::size_t used_size(std::uint8_t criteria_enable) noexcept {
  const auto sets = static_cast<std::size_t>(std::bit_width(criteria_enable));
  return std::min<std::size_t>(prm::fte_match_param::size, std::max<std::size_t>(1, sets) * match_set);
}

Result<MatchParameters> to_parameters(std::span<const std::byte> bytes, std::size_t size) noexcept {
  MatchParameters parameters;
  if (bytes.size() > prm::fte_match_param::size) {
    return fail(EINVAL, "match parameters of %zu bytes; the card has %zu", bytes.size(),
                std::size_t{prm::fte_match_param::size});
  }
  std::copy(bytes.begin(), bytes.end(), parameters.bytes().begin());
  parameters.size = size;
  return parameters;
}

}  // namespace

Result<Owned<Handle>> RootSteering::root(std::uint8_t criteria_enable, std::span<const std::byte> mask,
                                         std::span<const std::byte> value, std::uint16_t priority,
                                         RootDestination destination) noexcept {
  if (priority >= priorities) {
    return fail(EINVAL, "priority %u of a root rule; 0 (first) to %u are possible", unsigned{priority},
                priorities - 1);
  }
  const bool table = destination.kind == RootDestination::Kind::table;
  const Handle* object = handles_.find(
      table ? prm::cmd_opcode::create_flow_table : prm::cmd_opcode::create_tir, destination.number);
  if (!object) {
    return fail(EINVAL, "a root rule to %s %#x, which this device has not made", table ? "flow table" : "TIR",
                destination.number);
  }
  const std::size_t size = used_size(criteria_enable);
  auto asked_mask = to_parameters(mask, size);
  auto asked_value = to_parameters(value, size);
  if (!asked_mask) return fail(asked_mask.error());
  if (!asked_value) return fail(asked_value.error());
  auto handle = make_owned<RuleHandle>("a root rule", *this,
                                       RootRule::Config{.context = &context_,
                                                        .criteria_enable = criteria_enable,
                                                        .mask = *asked_mask,
                                                        .value = *asked_value,
                                                        .priority = priority,
                                                        .destination = object->devx()});
  if (!handle) return fail(handle.error());
  RootRule& rule = (*handle)->rule;
  const std::scoped_lock lock(mutex_);
  if (auto made = rule.prepare(matches_.span()); !made) return fail(made.error());
  rule.commit();
  rule.next_rule = rules_;
  rules_ = &rule;
  return Owned<Handle>(std::move(*handle));
}

Result<> RootSteering::admit(Array<AddressMatch> matches) noexcept {
  const std::scoped_lock lock(mutex_);
  Result<> done;
  for (RootRule* rule = rules_; rule && done; rule = rule->next_rule) done = rule->prepare(matches.span());
  for (RootRule* rule = rules_; rule; rule = rule->next_rule) {
    if (done)
      rule->commit();
    else
      rule->cancel();
  }
  if (done) matches_ = std::move(matches);
  return done;
}

void RootSteering::remove(RootRule& rule) noexcept {
  const std::scoped_lock lock(mutex_);
  RootRule** at = &rules_;
  while (*at && *at != &rule) at = &(*at)->next_rule;
  if (*at) *at = rule.next_rule;
}

}  // namespace chime::hca::verbs
