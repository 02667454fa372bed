// SPDX-License-Identifier: BSD-3-Clause
#include "rss_ops.h"

#include <algorithm>

#include "log.h"

namespace chime::net {

namespace {

Result<> apply(PortControl& port, const RssSettings& settings) noexcept {
  if (port.steering) {
    if (Result<> done = port.steering->update_rss(settings); !done) return done;
  }
  port.shared.rss = settings;
  return {};
}

Result<> check_size(std::uint16_t size, const RssSettings& rss) noexcept {
  if (size == rss.reta_size) return {};
  return fail(EINVAL, "a redirection table of %u entries; this device's has %u", size, rss.reta_size);
}

}  // namespace

Result<> update_rss_hash(PortControl& port, rte_eth_rss_conf* conf) noexcept {
  RssSettings settings = port.shared.rss;
  if (Result<> good = check_rss_types(conf->rss_hf); !good) return good;
  settings.types = conf->rss_hf;
  if (conf->rss_key != nullptr) {
    if (conf->rss_key_len != rss_key_length)
      return fail(EINVAL, "an RSS key of %u bytes; it has %u", conf->rss_key_len, rss_key_length);
    std::copy_n(conf->rss_key, rss_key_length, settings.key.begin());
  }
  return apply(port, settings);
}

Result<> update_reta(PortControl& port, rte_eth_rss_reta_entry64* entries, std::uint16_t size) noexcept {
  RssSettings settings = port.shared.rss;
  if (Result<> good = check_size(size, settings); !good) return good;
  for (std::uint16_t i = 0; i < size; ++i) {
    const rte_eth_rss_reta_entry64& group = entries[i / RTE_ETH_RETA_GROUP_SIZE];
    const unsigned within = i % RTE_ETH_RETA_GROUP_SIZE;
    if (group.mask & RTE_BIT64(within)) settings.reta[i] = group.reta[within];
  }
  return apply(port, settings);
}

int get_rss_hash(rte_eth_dev* dev, rte_eth_rss_conf* conf) noexcept {
  const RssSettings& rss = shared_of(*dev).rss;
  conf->rss_hf = rss.enabled ? rss.types : 0;
  if (conf->rss_key != nullptr && conf->rss_key_len >= rss_key_length)
    std::copy_n(rss.key.begin(), rss_key_length, conf->rss_key);
  conf->rss_key_len = rss_key_length;
  return 0;
}

int query_reta(rte_eth_dev* dev, rte_eth_rss_reta_entry64* entries, std::uint16_t size) noexcept {
  const PortShared& shared = shared_of(*dev);
  if (Result<> good = check_size(size, shared.rss); !good) return report(shared.name, good.error());
  for (std::uint16_t i = 0; i < size; ++i) {
    rte_eth_rss_reta_entry64& group = entries[i / RTE_ETH_RETA_GROUP_SIZE];
    const unsigned within = i % RTE_ETH_RETA_GROUP_SIZE;
    if (group.mask & RTE_BIT64(within)) group.reta[within] = shared.rss.reta[i];
  }
  return 0;
}

}  // namespace chime::net
