// SPDX-License-Identifier: BSD-3-Clause
#include "wire/ethdev.h"

#include <rte_log.h>

#include <cstdio>
#include <cstring>

#include "wire/port_list.h"

namespace chime::wire {

Result<Owned<EthdevWire>> EthdevWire::make(const char* port_name, const char* ethdev, EthdevEvents& events,
                                           Executor& executor, model::Clock& clock) noexcept {
  auto made = make_owned<EthdevWire>("an ethdev's wire", events, executor, clock);
  if (!made) return made;
  EthdevWire& wire = **made;
  wire.port_name_ = port_name;
  wire.ethdev_ = ethdev;
  if (int error = rte_eth_dev_owner_new(&wire.owner_.id); error) {
    return fail(-error, "%s: no owner's number for wire %s: %s", port_name, ethdev, strerror(-error));
  }
  std::snprintf(wire.owner_.name, sizeof wire.owner_.name, "wire of %s", port_name);

  // From here on it is claimed when it appears; what is there already would not appear.
  events.add(wire);
  auto ok = wire.claim();
  if (!ok && ok.error().errnum != ENODEV) return fail(ok.error());
  if (ok) events.look_after(wire);
  return made;
}

EthdevWire::~EthdevWire() {
  events_.remove(*this);
  std::uint16_t port = claimed_.load();
  if (port != none && claimed_name_is_right(port)) {
    if (prepared_.port == port) {
      if (int error = rte_eth_dev_stop(port); error) {
        rte_log(RTE_LOG_WARNING, static_cast<std::uint32_t>(events_.logtype()), "%s: stop of wire %s: %s\n",
                port_name_.text(), ethdev_.text(), strerror(-error));
      }
    }
    rte_eth_dev_owner_unset(port, owner_.id);
  }
  mbufs_.flush();
  if (pool_) events_.pools().give_back(pool_);
}

Result<> EthdevWire::claim() noexcept {
  std::uint16_t port = claimed_.load();
  if (port != none) {
    if (claimed_name_is_right(port)) return {};
    let_go(port);
  }
  if (rte_eth_dev_get_port_by_name(ethdev_.text(), &port) != 0) {
    PortList ports(port_name_.text());
    return fail(ENODEV, "%s: there is no port %s to be its wire; ports there are: %s", port_name_.text(),
                ethdev_.text(), ports.text());
  }
  return claim(port);
}

Result<> EthdevWire::claim(std::uint16_t port) noexcept {
  rte_eth_dev_owner owner{};
  if (int error = rte_eth_dev_owner_get(port, &owner); error) {
    return fail(-error, "%s: owner of wire %s: %s", port_name_.text(), ethdev_.text(), strerror(-error));
  }
  bool free = owner.id == RTE_ETH_DEV_NO_OWNER && rte_eth_dev_owner_set(port, &owner_) == 0;
  if (!free && owner.id != owner_.id) {
    PortList ports(port_name_.text());
    return fail(EBUSY, "%s: %s can't be its wire, it has another owner, %s; ports there are: %s",
                port_name_.text(), ethdev_.text(), owner.name, ports.text());
  }
  events_.of(port).store(0);
  pulled_.store(false);
  claimed_.store(port);
  return {};
}

bool EthdevWire::claimed_name_is_right(std::uint16_t port) const noexcept {
  char name[RTE_ETH_NAME_MAX_LEN];
  return rte_eth_dev_get_name_by_port(port, name) == 0 && ethdev_ == name;
}

void EthdevWire::let_go(std::uint16_t port) noexcept {
  claimed_.store(none);
  rte_eth_dev_owner_unset(port, owner_.id);
}

Result<> EthdevWire::ready() noexcept {
  std::lock_guard guard(control_);
  if (auto ok = claim(); !ok) return ok;
  std::uint16_t port = claimed_.load();
  if (pulled_.load()) {
    return fail(ENODEV, "%s: the device of its wire %s was removed; the wire is taken again when it is back",
                port_name_.text(), ethdev_.text());
  }
  if (prepared_.port != port) {
    if (auto ok = prepare(port); !ok) {
      return fail(ok.error().within("%s: wire %s", port_name_.text(), ethdev_.text()));
    }
  }
  was_ready_ = true;
  return {};
}

void EthdevWire::begin() noexcept {
  std::lock_guard guard(control_);
  executor_.run([&]() noexcept {
    begun_ = true;
    const std::uint16_t port = claimed_.load();
    if (port == none) return;
    std::uint32_t events = events_.of(port).exchange(0, std::memory_order_acquire);
    if (used_.port == none && prepared_.port == port) events |= EthdevEvents::prepared_event;
    handle(events);
  });
}

void EthdevWire::end() noexcept {
  executor_.run([&]() noexcept {
    begun_ = false;
    used_ = {};
  });
}

void EthdevWire::appeared(std::uint16_t port) noexcept {
  auto ok = claim(port);
  if (!ok) {
    rte_log(RTE_LOG_WARNING, static_cast<std::uint32_t>(events_.logtype()), "%s\n", ok.error().text);
    return;
  }
  wants_care_.store(Care::now);
}

bool EthdevWire::look_after() noexcept {
  std::uint16_t port = claimed_.load();
  if (port == none) return true;
  // The callback that claimed it came before the port could be used.
  if (!rte_eth_dev_is_valid_port(port)) return false;
  if (!claimed_name_is_right(port)) {
    let_go(port);
    return true;
  }
  if (was_ready_) {
    if (prepared_.port == port) return true;
    if (auto ok = prepare(port); !ok) {
      rte_log(RTE_LOG_ERR, static_cast<std::uint32_t>(events_.logtype()), "%s: wire %s came back: %s\n",
              port_name_.text(), ethdev_.text(), ok.error().text);
    }
    return true;
  }
  rte_eth_dev_info info;
  if (rte_eth_dev_info_get(port, &info) == 0) {
    largest_.store(usable_frame(info));
    events_.of(port).fetch_or(EthdevEvents::changed_event, std::memory_order_release);
  }
  return true;
}

void EthdevWire::gone(std::uint16_t port) noexcept {
  executor_.run([&]() noexcept { stop_using(); });
  events_.of(port).store(0);
  prepared_ = {};
  pulled_.store(false);
  claimed_.store(none);
}

}  // namespace chime::wire
