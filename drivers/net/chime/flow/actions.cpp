// SPDX-License-Identifier: BSD-3-Clause
#include "flow/actions.h"

#include "flow/rss_action.h"
#include "flow_mark.h"

namespace chime::net {

namespace {

const char* name_of(rte_flow_action_type type) noexcept {
  const char* name = nullptr;
  rte_flow_conv(RTE_FLOW_CONV_OP_ACTION_NAME_PTR, &name, sizeof name,
                reinterpret_cast<const void*>(static_cast<std::uintptr_t>(type)), nullptr);
  return name ? name : "unknown";
}

class Parser {
 public:
  Parser(const ActionLimits& limits, Actions& out) noexcept : limits_(limits), out_(out) {}

  FlowResult<> read(const rte_flow_action& action) noexcept {
    switch (action.type) {
      case RTE_FLOW_ACTION_TYPE_VOID:
        return {};
      case RTE_FLOW_ACTION_TYPE_DROP:
        return set_fate(action, Actions::Fate::drop);
      case RTE_FLOW_ACTION_TYPE_QUEUE:
        return read_queue(action);
      case RTE_FLOW_ACTION_TYPE_RSS:
        return read_rss(action);
      case RTE_FLOW_ACTION_TYPE_JUMP:
        return read_jump(action);
      case RTE_FLOW_ACTION_TYPE_MARK:
        return read_mark(action);
      case RTE_FLOW_ACTION_TYPE_FLAG:
        return set_tag(action, flow_tag_flag);
      case RTE_FLOW_ACTION_TYPE_COUNT:
        return read_count(action);
      default:
        return flow_fail(
            RTE_FLOW_ERROR_TYPE_ACTION, &action, ENOTSUP,
            "action %zu (%s) is not there; what is: queue, rss, drop, jump, mark, flag, count, void", index_,
            name_of(action.type));
    }
  }
  void next() noexcept { ++index_; }

  FlowResult<> finish(const rte_flow_action& end) noexcept {
    if (out_.fate == Actions::Fate::none)
      return flow_fail(RTE_FLOW_ERROR_TYPE_ACTION, &end, EINVAL,
                       "the actions do not say where packets go; add %s", Actions::fates);
    if (out_.fate == Actions::Fate::drop && out_.flow_tag != 0)
      return flow_fail(RTE_FLOW_ERROR_TYPE_ACTION, &end, EINVAL,
                       "mark and flag are for packets that arrive, and drop is among the actions");
    return {};
  }

 private:
  template <class Conf>
  FlowResult<const Conf*> configuration(const rte_flow_action& action) noexcept {
    if (action.conf) return static_cast<const Conf*>(action.conf);
    return flow_fail(RTE_FLOW_ERROR_TYPE_ACTION_CONF, &action, EINVAL, "action %zu (%s) has no configuration",
                     index_, name_of(action.type));
  }

  FlowResult<> set_fate(const rte_flow_action& action, Actions::Fate fate) noexcept {
    if (out_.fate != Actions::Fate::none)
      return flow_fail(RTE_FLOW_ERROR_TYPE_ACTION, &action, EINVAL,
                       "action %zu (%s): packets of a rule go one way; the actions have one of %s", index_,
                       name_of(action.type), Actions::fates);
    out_.fate = fate;
    return {};
  }

  FlowResult<> read_queue(const rte_flow_action& action) noexcept {
    FlowResult<const rte_flow_action_queue*> conf = configuration<rte_flow_action_queue>(action);
    if (!conf) return flow_fail(conf.error());
    if ((*conf)->index >= limits_.queues)
      return flow_fail(RTE_FLOW_ERROR_TYPE_ACTION_CONF, *conf, EINVAL,
                       "action %zu (queue): queue %u; the port has %u receive queues", index_,
                       unsigned{(*conf)->index}, limits_.queues);
    out_.queue = (*conf)->index;
    return set_fate(action, Actions::Fate::queue);
  }

  FlowResult<> read_rss(const rte_flow_action& action) noexcept {
    FlowResult<const rte_flow_action_rss*> conf = configuration<rte_flow_action_rss>(action);
    if (!conf) return flow_fail(conf.error());
    if (FlowResult<> good = check_rss_action(**conf, limits_.queues); !good) return good;
    out_.rss = *conf;
    return set_fate(action, Actions::Fate::rss);
  }

  FlowResult<> read_jump(const rte_flow_action& action) noexcept {
    FlowResult<const rte_flow_action_jump*> conf = configuration<rte_flow_action_jump>(action);
    if (!conf) return flow_fail(conf.error());
    const std::uint32_t to = (*conf)->group;
    if (to >= limits_.flow_groups)
      return flow_fail(RTE_FLOW_ERROR_TYPE_ACTION_CONF, *conf, ENOTSUP,
                       "action %zu (jump): group %u; this device has groups 0 to %u", index_, to,
                       limits_.flow_groups - 1);
    if (to <= limits_.group)
      return flow_fail(RTE_FLOW_ERROR_TYPE_ACTION_CONF, *conf, ENOTSUP,
                       "action %zu (jump): from group %u to group %u; packets go on in groups of a higher "
                       "number only",
                       index_, limits_.group, to);
    out_.jump = to;
    return set_fate(action, Actions::Fate::jump);
  }

  FlowResult<> set_tag(const rte_flow_action& action, std::uint32_t tag) noexcept {
    if (out_.flow_tag != 0)
      return flow_fail(RTE_FLOW_ERROR_TYPE_ACTION, &action, EINVAL,
                       "action %zu (%s): a packet carries one mark or flag", index_, name_of(action.type));
    out_.flow_tag = tag;
    return {};
  }

  FlowResult<> read_mark(const rte_flow_action& action) noexcept {
    FlowResult<const rte_flow_action_mark*> conf = configuration<rte_flow_action_mark>(action);
    if (!conf) return flow_fail(conf.error());
    if ((*conf)->id > max_mark_id)
      return flow_fail(RTE_FLOW_ERROR_TYPE_ACTION_CONF, *conf, ENOTSUP,
                       "action %zu (mark): id 0x%x; the card carries ids 0 to 0x%x", index_, (*conf)->id,
                       max_mark_id);
    return set_tag(action, flow_tag_of_mark((*conf)->id));
  }

  FlowResult<> read_count(const rte_flow_action& action) noexcept {
    if (!limits_.counters)
      return flow_fail(RTE_FLOW_ERROR_TYPE_ACTION, &action, ENOTSUP,
                       "action %zu (count): this device has no flow counters", index_);
    if (out_.count)
      return flow_fail(RTE_FLOW_ERROR_TYPE_ACTION, &action, ENOTSUP,
                       "action %zu (count): a rule has one counter", index_);
    out_.count = true;
    return {};
  }

  const ActionLimits& limits_;
  Actions& out_;
  std::size_t index_ = 0;
};

}  // namespace

FlowResult<Actions> Actions::parse(const rte_flow_action* actions, const ActionLimits& limits) noexcept {
  Actions out;
  Parser parser(limits, out);
  for (; actions->type != RTE_FLOW_ACTION_TYPE_END; ++actions, parser.next())
    if (FlowResult<> done = parser.read(*actions); !done) return flow_fail(done.error());
  if (FlowResult<> done = parser.finish(*actions); !done) return flow_fail(done.error());
  return out;
}

}  // namespace chime::net
