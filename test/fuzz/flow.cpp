// SPDX-License-Identifier: BSD-3-Clause
// rte_flow patterns and actions of any application. Structures that the application passes are allocations of
// their own size. A refusal has a reason in words; what is taken can be put on the card as it is.
#include <rte_flow.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "flow/actions.h"
#include "flow/pattern.h"
#include "flow/rss_action.h"
#include "flow_mark.h"
#include "input.h"

namespace {

using namespace chime;
using fuzz::Input;
using fuzz::want;

/// What the application's pointers lead to.
class Application {
 public:
  explicit Application(Input& input) : input_(input) {}

  /// `size` bytes, or nullptr.
  void* bytes(std::size_t size) {
    auto made = std::make_unique<std::uint8_t[]>(size);
    const auto given = input_.take(size);
    if (!given.empty()) std::memcpy(made.get(), given.data(), given.size());
    return kept_.emplace_back(std::move(made)).get();
  }

 private:
  Input& input_;
  std::vector<std::unique_ptr<std::uint8_t[]>> kept_;
};

struct Kind {
  int type;
  std::size_t size;
};

template <class Error>
void check(const Error& error) {
  want(error.error.text[0] != '\0' && (error.error.errnum == EINVAL || error.error.errnum == ENOTSUP));
  want(error.type != RTE_FLOW_ERROR_TYPE_NONE);
}

void read_pattern(Input& input, Application& application) {
  static constexpr Kind kinds[] = {{RTE_FLOW_ITEM_TYPE_ETH, sizeof(rte_flow_item_eth)},
                                   {RTE_FLOW_ITEM_TYPE_VLAN, sizeof(rte_flow_item_vlan)},
                                   {RTE_FLOW_ITEM_TYPE_IPV4, sizeof(rte_flow_item_ipv4)},
                                   {RTE_FLOW_ITEM_TYPE_IPV6, sizeof(rte_flow_item_ipv6)},
                                   {RTE_FLOW_ITEM_TYPE_TCP, sizeof(rte_flow_item_tcp)},
                                   {RTE_FLOW_ITEM_TYPE_UDP, sizeof(rte_flow_item_udp)},
                                   {RTE_FLOW_ITEM_TYPE_VOID, 1},
                                   {RTE_FLOW_ITEM_TYPE_VXLAN, sizeof(rte_flow_item_vxlan)}};
  net::TableLimits limits{};
  const unsigned all = input.u8();
  limits.fields.fill(all & 1 ? std::byte{0xff} : std::byte{input.u8()});
  limits.masked_fields.fill(all & 2 ? std::byte{0xff} : std::byte{input.u8()});
  std::vector<rte_flow_item> items;
  for (unsigned count = input.below(8); count != 0; --count) {
    const Kind& kind = kinds[input.below(std::size(kinds))];
    const unsigned parts = input.u8();
    rte_flow_item item{};
    item.type = static_cast<rte_flow_item_type>(parts & 128 ? static_cast<int>(input.below(64)) : kind.type);
    if (parts & 1) item.spec = application.bytes(kind.size);
    if (parts & 2) item.mask = application.bytes(kind.size);
    if (parts & 4) item.last = application.bytes(kind.size);
    // A type that was made up may be a known one of another size.
    if (parts & 128) item.spec = item.mask = item.last = nullptr;
    items.push_back(item);
  }
  items.push_back({});  // RTE_FLOW_ITEM_TYPE_END
  net::Pattern pattern;
  if (const auto done = net::Pattern::parse(items.data(), limits, pattern); !done) return check(done.error());
  want(pattern.entries() >= 1 && pattern.entries() <= net::Pattern::max_entries);
  for (unsigned entry = 0; entry < pattern.entries(); ++entry) {
    pattern.select(entry);
    const auto mask = pattern.match().mask.bytes(), value = pattern.match().value.bytes();
    for (std::size_t i = 0; i < mask.size(); ++i) want((value[i] & ~mask[i]) == std::byte{});
  }
}

void* rss_of(Input& input, Application& application) {
  auto* rss = static_cast<rte_flow_action_rss*>(application.bytes(sizeof(rte_flow_action_rss)));
  rss->func = static_cast<rte_eth_hash_function>(input.below(6));
  rss->level = input.below(4);
  rss->types = input.u64();
  const std::uint32_t key = input.flag() ? net::rss_key_length : input.u8();
  rss->key_len = key;
  rss->key = input.flag() ? static_cast<std::uint8_t*>(application.bytes(key)) : nullptr;
  rss->queue_num = input.u16() % 600;
  rss->queue = input.flag() ? static_cast<std::uint16_t*>(application.bytes(rss->queue_num * 2)) : nullptr;
  return rss;
}

void read_actions(Input& input, Application& application) {
  static constexpr Kind kinds[] = {{RTE_FLOW_ACTION_TYPE_DROP, 0},
                                   {RTE_FLOW_ACTION_TYPE_QUEUE, sizeof(rte_flow_action_queue)},
                                   {RTE_FLOW_ACTION_TYPE_JUMP, sizeof(rte_flow_action_jump)},
                                   {RTE_FLOW_ACTION_TYPE_MARK, sizeof(rte_flow_action_mark)},
                                   {RTE_FLOW_ACTION_TYPE_FLAG, 0},
                                   {RTE_FLOW_ACTION_TYPE_COUNT, sizeof(rte_flow_action_count)},
                                   {RTE_FLOW_ACTION_TYPE_RSS, 0},
                                   {RTE_FLOW_ACTION_TYPE_VOID, 0}};
  const net::ActionLimits limits{.queues = input.below(70),
                                 .group = input.below(4),
                                 .flow_groups = 4 + input.below(4),
                                 .counters = input.flag()};
  std::vector<rte_flow_action> actions;
  for (unsigned count = input.below(6); count != 0; --count) {
    const Kind& kind = kinds[input.below(std::size(kinds))];
    rte_flow_action action{};
    action.type = static_cast<rte_flow_action_type>(kind.type);
    const unsigned how = input.u8();
    if (how & 1) {
      action.conf =
          kind.type == RTE_FLOW_ACTION_TYPE_RSS ? rss_of(input, application) : application.bytes(kind.size);
    }
    if (how & 128) action = {.type = static_cast<rte_flow_action_type>(input.below(64)), .conf = nullptr};
    actions.push_back(action);
  }
  actions.push_back({});  // RTE_FLOW_ACTION_TYPE_END
  const auto taken = net::Actions::parse(actions.data(), limits);
  if (!taken) return check(taken.error());
  want(taken->fate != net::Actions::Fate::none);
  if (taken->fate == net::Actions::Fate::queue) want(taken->queue < limits.queues);
  if (taken->fate == net::Actions::Fate::jump)
    want(taken->jump > limits.group && taken->jump < limits.flow_groups);
  if (taken->fate == net::Actions::Fate::rss) {
    const net::SpreadKey key = net::spread_key(*taken->rss, net::default_rss_key);
    want(key.count >= 1 && key.count <= net::max_reta && (key.count & (key.count - 1)) == 0);
    for (unsigned i = 0; i < key.count; ++i) want(key.queues[i] < limits.queues);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  Application application(input);
  input.flag() ? read_pattern(input, application) : read_actions(input, application);
  return 0;
}
