// SPDX-License-Identifier: BSD-3-Clause
#include "flow/ops.h"

#include <rte_flow_driver.h>

#include <mutex>

#include "flow/rule.h"
#include "flow/rules.h"
#include "port.h"

namespace chime::net {

namespace {

/// @return negative errno, with rte_errno and the application's error set
int refuse(FlowRules* rules, const FlowError& error, rte_flow_error* out) noexcept {
  const char* text =
      rules ? rules->keep_message(error.error) : "rte_flow is for the primary process; this one is secondary";
  return rte_flow_error_set(out, error.error.errnum, error.type, error.cause, text);
}

/// Calls a member of FlowRules with the port's lock.
/// @return what it returned; an error of it is reported
template <class T, class F>
FlowResult<T> with_rules(rte_eth_dev* dev, rte_flow_error* error, F&& call) noexcept {
  PortControl* port = control_of(*dev);
  if (!port) {
    const FlowError secondary{RTE_FLOW_ERROR_TYPE_STATE, nullptr, {.errnum = ENOTSUP}};
    refuse(nullptr, secondary, error);
    return flow_fail(secondary);
  }
  const std::lock_guard lock(port->mutex);
  FlowResult<T> result = call(port->flow);
  if (!result) refuse(&port->flow, result.error(), error);
  return result;
}

template <class T>
int code(const FlowResult<T>& result) noexcept {
  return result ? 0 : -result.error().error.errnum;
}

int validate(rte_eth_dev* dev, const rte_flow_attr* attr, const rte_flow_item pattern[],
             const rte_flow_action actions[], rte_flow_error* error) noexcept {
  return code(with_rules<void>(dev, error,
                               [&](FlowRules& rules) { return rules.validate(*attr, pattern, actions); }));
}

rte_flow* create(rte_eth_dev* dev, const rte_flow_attr* attr, const rte_flow_item pattern[],
                 const rte_flow_action actions[], rte_flow_error* error) noexcept {
  return with_rules<rte_flow*>(dev, error,
                               [&](FlowRules& rules) { return rules.create(*attr, pattern, actions); })
      .value_or(nullptr);
}

int destroy(rte_eth_dev* dev, rte_flow* flow, rte_flow_error* error) noexcept {
  return code(with_rules<void>(dev, error, [&](FlowRules& rules) { return rules.destroy(*flow); }));
}

int flush(rte_eth_dev* dev, rte_flow_error* error) noexcept {
  return code(with_rules<void>(dev, error, [](FlowRules& rules) { return rules.flush(); }));
}

int query(rte_eth_dev* dev, rte_flow* flow, const rte_flow_action* action, void* data,
          rte_flow_error* error) noexcept {
  return code(
      with_rules<void>(dev, error, [&](FlowRules& rules) { return rules.query(*flow, *action, data); }));
}

int isolate(rte_eth_dev* dev, int on, rte_flow_error* error) noexcept {
  return code(with_rules<void>(dev, error, [&](FlowRules& rules) { return rules.isolate(on != 0); }));
}

int dump(rte_eth_dev* dev, rte_flow* flow, std::FILE* file, rte_flow_error* error) noexcept {
  return code(with_rules<void>(dev, error, [&](FlowRules& rules) { return rules.dump(flow, file); }));
}

constexpr rte_flow_ops flow_ops = [] {
  rte_flow_ops ops{};
  ops.validate = validate;
  ops.create = create;
  ops.destroy = destroy;
  ops.flush = flush;
  ops.query = query;
  ops.isolate = isolate;
  ops.dev_dump = dump;
  return ops;
}();

}  // namespace

int get_flow_ops(rte_eth_dev* /*dev*/, const rte_flow_ops** ops) noexcept {
  *ops = &flow_ops;
  return 0;
}

}  // namespace chime::net
