// SPDX-License-Identifier: BSD-3-Clause
#include "wire/port_list.h"

#include <rte_ethdev.h>

#include <cstdint>
#include <cstdio>
#include <cstring>

namespace chime::wire {

PortList::PortList(const char* except) noexcept {
  std::size_t used = 0;
  for (std::uint16_t port = rte_eth_find_next(0); port < RTE_MAX_ETHPORTS;
       port = rte_eth_find_next(static_cast<std::uint16_t>(port + 1))) {
    char name[RTE_ETH_NAME_MAX_LEN];
    if (rte_eth_dev_get_name_by_port(port, name) != 0 || std::strcmp(name, except) == 0) continue;
    rte_eth_dev_owner owner{};
    bool owned = rte_eth_dev_owner_get(port, &owner) == 0 && owner.id != RTE_ETH_DEV_NO_OWNER;
    char item[2 * RTE_ETH_NAME_MAX_LEN + 16];
    int length = std::snprintf(item, sizeof item, "%s%s%s%s%s", used ? ", " : "", name, owned ? " (of " : "",
                               owned ? owner.name : "", owned ? ")" : "");
    if (used + static_cast<std::size_t>(length) + sizeof ", ..." > text_.size()) {
      std::snprintf(text_.data() + used, text_.size() - used, ", ...");
      return;
    }
    std::memcpy(text_.data() + used, item, static_cast<std::size_t>(length) + 1);
    used += static_cast<std::size_t>(length);
  }
  if (used == 0) std::snprintf(text_.data(), text_.size(), "none");
}

}  // namespace chime::wire
