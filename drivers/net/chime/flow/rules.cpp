// SPDX-License-Identifier: BSD-3-Clause
#include "flow/rules.h"

#include <cinttypes>
#include <cstring>
#include <utility>

#include "flow/rule.h"
#include "keep.h"

namespace chime::net {

namespace {

FlowResult<> check_attributes(const rte_flow_attr& attr, std::uint32_t groups) noexcept {
  if (attr.egress)
    return flow_fail(RTE_FLOW_ERROR_TYPE_ATTR_EGRESS, &attr, ENOTSUP,
                     "egress rules are not there; ingress rules are");
  if (attr.transfer)
    return flow_fail(RTE_FLOW_ERROR_TYPE_ATTR_TRANSFER, &attr, ENOTSUP,
                     "transfer rules are not there; ingress rules are");
  if (!attr.ingress)
    return flow_fail(RTE_FLOW_ERROR_TYPE_ATTR_INGRESS, &attr, EINVAL, "a rule is for ingress: say so");
  if (attr.group >= groups)
    return flow_fail(RTE_FLOW_ERROR_TYPE_ATTR_GROUP, &attr, ENOTSUP,
                     "group %u; this device has groups 0 to %u", attr.group, groups - 1);
  if (attr.priority >= rule_priorities)
    return flow_fail(RTE_FLOW_ERROR_TYPE_ATTR_PRIORITY, &attr, ENOTSUP,
                     "priority %u; a group has priorities 0 (first) to %u", attr.priority,
                     rule_priorities - 1);
  return {};
}

}  // namespace

FlowRules::~FlowRules() {
  stop();
  (void)flush();
}

Result<> FlowRules::start(RxSteering& steering, const RssKey& port_key) noexcept {
  Result<> done =
      keep(queue_tirs_, Array<hca::Object>::make(steering.rqns().size(), "TIRs of rte_flow rules"));
  if (done) done = keep(groups_, Array<Group>::make(steering.limits().flow_groups, "rte_flow groups"));
  if (!done) return done;
  port_key_ = port_key;
  steering_ = &steering;
  return {};
}

void FlowRules::stop() noexcept {
  if (!steering_) return;
  steering_->shut();
  for (rte_flow* rule = rules_; rule; rule = rule->next) {
    rule->clear();
    rule->placed = false;
  }
  groups_ = {};
  queue_tirs_ = {};
  steering_ = nullptr;
}

FlowResult<FlowRules::Parsed> FlowRules::parse(const rte_flow_attr& attr, const rte_flow_item* pattern,
                                               const rte_flow_action* actions) noexcept {
  if (!steering_)
    return flow_fail(
        RTE_FLOW_ERROR_TYPE_STATE, nullptr, ENODEV,
        "the port is stopped, or has no receive queue; rules are made while it runs, and end when "
        "it stops");
  FlowResult<> done = check_attributes(attr, steering_->limits().flow_groups);
  if (!done) return flow_fail(done.error());
  Parsed parsed;
  done = Pattern::parse(pattern, steering_->limits(), parsed.pattern);
  if (!done) return flow_fail(done.error());
  FlowResult<Actions> read =
      Actions::parse(actions, {.queues = static_cast<std::uint32_t>(steering_->rqns().size()),
                               .group = attr.group,
                               .flow_groups = steering_->limits().flow_groups,
                               .counters = steering_->limits().counters});
  if (!read) return flow_fail(read.error());
  parsed.actions = *read;
  return parsed;
}

FlowResult<> FlowRules::validate(const rte_flow_attr& attr, const rte_flow_item* pattern,
                                 const rte_flow_action* actions) noexcept {
  FlowResult<Parsed> parsed = parse(attr, pattern, actions);
  if (!parsed) return flow_fail(parsed.error());
  return {};
}

FlowResult<rte_flow*> FlowRules::create(const rte_flow_attr& attr, const rte_flow_item* pattern,
                                        const rte_flow_action* actions) noexcept {
  FlowResult<Parsed> parsed = parse(attr, pattern, actions);
  if (!parsed) return flow_fail(parsed.error());
  Result<Owned<rte_flow>> rule = make_owned<rte_flow>("a rule");
  if (!rule) return flow_fail(rule.error());
  (*rule)->group = attr.group;
  (*rule)->priority = attr.priority;
  if (Result<> done = place(**rule, *parsed); !done) return flow_fail(done.error());

  (*rule)->next = rules_;
  if (rules_) rules_->previous = rule->get();
  rules_ = rule->get();
  return rule->release();
}

Result<> FlowRules::place(rte_flow& rule, Parsed& parsed) noexcept {
  const Actions& actions = parsed.actions;
  Result<> done = keep(rule.home, use(rule.group));
  if (!done) return done;
  rule.fate = actions.fate;
  Verdict verdict;
  verdict.flow_tag = actions.flow_tag;
  if (actions.fate != Actions::Fate::drop) {
    Result<Destination> to = destination(rule, actions);
    if (!to) return fail(to.error());
    verdict.to = *to;
  }
  std::uint32_t counter = 0;
  if (actions.count) {
    if (done = keep(rule.counter, hca::alloc_flow_counter(steering_->device())); !done) return done;
    counter = rule.counter.number();
    verdict.counters = {&counter, 1};
    rule.counted = true;
  }
  const unsigned entries = parsed.pattern.entries();
  done = keep(rule.placements, Array<RuleTable::Placement>::make(entries, "a rule's entries"));
  for (unsigned i = 0; i < entries && done; ++i) {
    parsed.pattern.select(i);
    done = keep(rule.placements[i], rule.home.table().insert(rule.priority, parsed.pattern.match(), verdict));
  }
  rule.placed = done.has_value();
  return done;
}

Result<Destination> FlowRules::destination(rte_flow& rule, const Actions& actions) noexcept {
  hca::Device& device = steering_->device();
  const std::uint32_t domain = steering_->transport_domain();
  Result<> done;
  switch (actions.fate) {
    case Actions::Fate::queue: {
      hca::Object& tir = queue_tirs_[actions.queue];
      if (!tir) done = keep(tir, hca::create_direct_tir(device, domain, steering_->rqns()[actions.queue]));
      if (!done) return fail(done.error());
      return to_tir(tir.number());
    }
    case Actions::Fate::rss:
      done = keep(rule.spread, spreads_.get(device, domain, steering_->limits().spread_level,
                                            steering_->rqns(), spread_key(*actions.rss, port_key_)));
      if (!done) return fail(done.error());
      return rule.spread.entrance();
    case Actions::Fate::jump:
      done = keep(rule.jump, use(actions.jump));
      if (!done) return fail(done.error());
      return to_table(rule.jump.table().number());
    case Actions::Fate::none:
    case Actions::Fate::drop:
      break;
  }
  return fail(EINVAL, "the rule's packets go nowhere");
}

Result<FlowRules::GroupUse> FlowRules::use(std::uint32_t group) noexcept {
  Group& slot = groups_[group];
  if (!slot.table) {
    Result<> done = keep(slot.table, RuleTable::create(*steering_, group));
    if (done && group == 0) done = steering_->set_front(slot.table->number());
    if (!done) {
      slot.table.reset();
      return fail(done.error());
    }
  }
  return GroupUse(*this, group);
}

void FlowRules::release(std::uint32_t group) noexcept {
  Group& slot = groups_[group];
  if (--slot.users != 0) return;
  // Should the card refuse it, an empty table stays in front, which does no harm.
  if (group == 0 && !steering_->set_front(std::nullopt)) return;
  slot.table.reset();
}

void FlowRules::unlink(rte_flow& rule) noexcept {
  if (rule.previous) rule.previous->next = rule.next;
  if (rule.next) rule.next->previous = rule.previous;
  if (rules_ == &rule) rules_ = rule.next;
}

FlowResult<> FlowRules::destroy(rte_flow& rule) noexcept {
  unlink(rule);
  Owned<rte_flow>(&rule).reset();
  return {};
}

FlowResult<> FlowRules::flush() noexcept {
  while (rules_) (void)destroy(*rules_);
  return {};
}

FlowResult<> FlowRules::query(rte_flow& rule, const rte_flow_action& action, void* data) noexcept {
  if (action.type != RTE_FLOW_ACTION_TYPE_COUNT)
    return flow_fail(RTE_FLOW_ERROR_TYPE_ACTION, &action, ENOTSUP, "action count alone can be queried");
  if (!rule.placed)
    return flow_fail(RTE_FLOW_ERROR_TYPE_HANDLE, &rule, ENOENT, "the rule ended when the port stopped");
  if (!rule.counted)
    return flow_fail(RTE_FLOW_ERROR_TYPE_HANDLE, &rule, EINVAL, "the rule has no action count");
  auto& count = *static_cast<rte_flow_query_count*>(data);
  Result<hca::FlowStatistics> statistics = hca::query_flow_counter(rule.counter, count.reset);
  if (!statistics) return flow_fail(statistics.error());
  count.hits_set = 1;
  count.bytes_set = 1;
  count.hits = statistics->packets;
  count.bytes = statistics->bytes;
  return {};
}

FlowResult<> FlowRules::isolate(bool on) noexcept {
  if (on == isolated_) return {};
  if (steering_)
    return flow_fail(RTE_FLOW_ERROR_TYPE_STATE, nullptr, EBUSY,
                     "the port runs; isolated mode is entered and left while it is stopped");
  isolated_ = on;
  return {};
}

FlowResult<> FlowRules::dump(const rte_flow* rule, std::FILE* file) noexcept {
  static constexpr const char* fates[] = {"none", "drop", "queue", "rss", "jump"};
  if (!rule) {
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      const RuleTable* table = groups_[i].table.get();
      if (table)
        std::fprintf(file, "group %zu: flow table 0x%x of 2^%u entries, %u in use, %u flow groups\n", i,
                     table->number(), unsigned{table->log_size()}, table->entries(), table->flow_groups());
    }
  }
  for (const rte_flow* each = rule ? rule : rules_; each; each = rule ? nullptr : each->next) {
    std::fprintf(file, "rule %p: group %u priority %u, %s%s, %zu entries%s\n", static_cast<const void*>(each),
                 each->group, each->priority, fates[static_cast<unsigned>(each->fate)],
                 each->counted ? ", count" : "", each->placements.size(),
                 each->placed ? "" : ", ended when the port stopped");
  }
  return {};
}

const char* FlowRules::keep_message(const Error& error) noexcept {
  std::memcpy(message_, error.text, sizeof message_);
  return message_;
}

}  // namespace chime::net
