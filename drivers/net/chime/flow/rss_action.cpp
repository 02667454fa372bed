// SPDX-License-Identifier: BSD-3-Clause
#include "flow/rss_action.h"

#include <algorithm>
#include <bit>

#include "keep.h"

namespace chime::net {

namespace {

constexpr std::uint64_t all_types =
    supported_rss_types & ~(RTE_ETH_RSS_L3_SRC_ONLY | RTE_ETH_RSS_L3_DST_ONLY | RTE_ETH_RSS_L4_SRC_ONLY |
                            RTE_ETH_RSS_L4_DST_ONLY | RTE_ETH_RSS_LEVEL_MASK);

}  // namespace

FlowResult<> check_rss_action(const rte_flow_action_rss& rss, std::uint32_t queues) noexcept {
  constexpr rte_flow_error_type conf = RTE_FLOW_ERROR_TYPE_ACTION_CONF;
  if (rss.queue_num == 0 || !rss.queue) return flow_fail(conf, &rss, EINVAL, "action rss names no queue");
  if (rss.queue_num > max_reta)
    return flow_fail(conf, &rss.queue_num, ENOTSUP, "action rss has %u queues; it takes up to %u",
                     rss.queue_num, unsigned{max_reta});
  for (std::uint32_t i = 0; i < rss.queue_num; ++i)
    if (rss.queue[i] >= queues)
      return flow_fail(conf, &rss.queue[i], EINVAL, "action rss: queue %u; the port has %u receive queues",
                       unsigned{rss.queue[i]}, queues);
  if (rss.level > 1)
    return flow_fail(conf, &rss.level, ENOTSUP,
                     "action rss: level %u; outermost headers alone are hashed (level 0 or 1)", rss.level);
  if (rss.func == RTE_ETH_HASH_FUNCTION_SIMPLE_XOR || rss.func >= RTE_ETH_HASH_FUNCTION_MAX)
    return flow_fail(conf, &rss.func, ENOTSUP,
                     "action rss: hash function %u; default, toeplitz and symmetric_toeplitz are there",
                     unsigned{rss.func});
  if (rss.key_len != 0 && (rss.key_len != rss_key_length || !rss.key))
    return flow_fail(conf, &rss.key_len, EINVAL,
                     "action rss: a key of %u bytes; it has %u, or 0 for the port's", rss.key_len,
                     rss_key_length);
  if (Result<> good = check_rss_types(rss.types); !good)
    return flow_fail(conf, &rss.types, good.error().errnum, "action rss: %s", good.error().text);
  return {};
}

bool SpreadKey::operator==(const SpreadKey& other) const noexcept {
  return count == other.count && config == other.config &&
         std::equal(queues.begin(), queues.begin() + count, other.queues.begin());
}

SpreadKey spread_key(const rte_flow_action_rss& rss, const RssKey& port_key) noexcept {
  SpreadKey key;
  key.config.types = rss.types != 0 ? rss.types : all_types;
  key.config.symmetric = rss.func == RTE_ETH_HASH_FUNCTION_SYMMETRIC_TOEPLITZ;
  key.config.key = port_key;
  if (rss.key_len == rss_key_length) std::copy_n(rss.key, rss_key_length, key.config.key.begin());
  key.count = std::has_single_bit(rss.queue_num) ? static_cast<std::uint16_t>(rss.queue_num) : max_reta;
  for (std::uint32_t i = 0; i < key.count; ++i) key.queues[i] = rss.queue[i % rss.queue_num];
  return key;
}

Result<SharedSpreads::Ref> SharedSpreads::get(hca::Device& device, std::uint32_t transport_domain,
                                              std::uint8_t level, std::span<const std::uint32_t> rqns,
                                              const SpreadKey& key) noexcept {
  for (Owned<Shared>* at = &first_; *at; at = &(*at)->next) {
    if (!((*at)->key == key)) continue;
    Owned<Shared> found = std::move(*at);
    *at = std::move(found->next);
    found->next = std::move(first_);
    first_ = std::move(found);
    return Ref(*this, *first_);
  }
  Result<Owned<Shared>> made = make_owned<Shared>("a shared RSS spread");
  if (!made) return fail(made.error());
  std::array<std::uint32_t, max_reta> numbers;
  for (std::uint32_t i = 0; i < key.count; ++i) numbers[i] = rqns[key.queues[i]];
  Result<> done = keep((*made)->spread, RssSpread::create(device, transport_domain, level,
                                                          std::span(numbers).first(key.count), key.config));
  if (!done) return fail(done.error());
  (*made)->key = key;
  (*made)->next = std::move(first_);
  first_ = std::move(*made);
  return Ref(*this, *first_);
}

void SharedSpreads::release(Shared& shared) noexcept {
  if (--shared.users != 0) return;
  Owned<Shared>* at = &first_;
  while (at->get() != &shared) at = &(*at)->next;
  Owned<Shared> gone = std::move(*at);
  *at = std::move(gone->next);
}

}  // namespace chime::net
