// SPDX-License-Identifier: BSD-3-Clause
#include "hca/verbs/port.h"

#include <algorithm>
#include <utility>

#include "hca/verbs/ethtool.h"
#include "hca/verbs/report.h"

namespace chime::hca::verbs {
namespace {

constexpr std::uint32_t min_mtu = 68;
constexpr std::uint32_t usual_max_mtu = 9978;  // where the kernel does not tell: PMTU's 10000 - 22

bool contains(std::span<const MacAddress> list, const MacAddress& mac) noexcept {
  return std::ranges::find(list, mac) != list.end();
}

}  // namespace

Result<Owned<NetdevPort>> NetdevPort::make(ibv_context& context, unsigned netdev, RootSteering& steering,
                                           Watch& watch) noexcept {
  auto port = make_owned<NetdevPort>("a port over a netdev", context, netdev, steering, watch);
  if (!port) return port;
  if (auto opened = (*port)->open(); !opened) return fail(opened.error());
  return port;
}

Result<> NetdevPort::open() noexcept {
  const auto state = netdev_.state();
  if (!state) return fail(state.error());
  mac_ = state->mac;
  if (auto opened = membership_.open(netdev_.index()); !opened) return opened;
  if (auto begun = counters_.begin(state->name); !begun) return begun;
  return admit();
}

NetdevPort::~NetdevPort() {
  membership_.close();  // a netdev that is down would keep what it has
  restore();
}

/// Gives the netdev what it had. One that went with its card has nothing to be given.
void NetdevPort::restore() noexcept {
  if (!former_mtu_ && !former_up_) return;
  const auto state = netdev_.state();
  if (!state) {
    if (!watch_.lost()) report(state.error());
    return;
  }
  if (former_mtu_) {
    if (auto done = netdev_.set_mtu(*former_mtu_); !done) {
      report(done.error().within("to be put back by `ip link set %s mtu %u`", state->name, *former_mtu_));
    }
  }
  if (former_up_) {
    if (auto done = netdev_.set_up(*former_up_); !done) report(done.error());
  }
}

Result<LinkState> NetdevPort::link() noexcept {
  const auto state = netdev_.state();
  if (!state) return fail(state.error());
  LinkState link;
  link.up = (state->flags & IFF_UP) && (state->flags & IFF_RUNNING);
  const auto settings = ethtool_link(state->name);
  if (!settings) return fail(settings.error());
  link.full_duplex = settings->full_duplex;
  link.autoneg = settings->autoneg;
  if (link.up) link.speed_mbps = settings->speed_mbps;
  return link;
}

/// Under mutex_.
Result<> NetdevPort::change_up(bool up) noexcept {
  const auto state = netdev_.state();
  if (!state) return fail(state.error());
  const bool is_up = state->flags & IFF_UP;
  if (is_up == up) return {};
  if (auto done = netdev_.set_up(up); !done) return done;
  if (!former_up_) former_up_ = is_up;
  return {};
}

Result<> NetdevPort::set_link(bool up) noexcept {
  const std::scoped_lock lock(mutex_);
  auto done = change_up(up);
  if (done) kept_down_ = !up;
  return done;
}

/// A card's port sends and receives only while its netdev is up.
void NetdevPort::begin_wire() noexcept {
  const std::scoped_lock lock(mutex_);
  if (kept_down_) return;
  if (auto done = change_up(true); !done) report(done.error());
}

Result<std::uint32_t> NetdevPort::mtu() noexcept {
  const auto state = netdev_.state();
  if (!state) return fail(state.error());
  return state->mtu;
}

Result<std::uint32_t> NetdevPort::max_mtu() noexcept {
  const auto state = netdev_.state();
  if (!state) return fail(state.error());
  return state->max_mtu != 0 ? state->max_mtu : usual_max_mtu;
}

Result<> NetdevPort::set_mtu(std::uint32_t mtu) noexcept {
  const std::scoped_lock lock(mutex_);
  const auto state = netdev_.state();
  if (!state) return fail(state.error());
  const std::uint32_t most = state->max_mtu != 0 ? state->max_mtu : usual_max_mtu;
  if (mtu < min_mtu || mtu > most) {
    return fail(EINVAL, "MTU %u; %s takes %u to %u", mtu, state->name, min_mtu, most);
  }
  if (state->mtu == mtu) return {};
  if (auto done = netdev_.set_mtu(mtu); !done) return done;
  if (!former_mtu_) former_mtu_ = state->mtu;
  return {};
}

Result<MacAddress> NetdevPort::mac() noexcept {
  const std::scoped_lock lock(mutex_);
  return mac_;
}

/// Leads to the root rules what the lists say.
Result<> NetdevPort::admit() noexcept {
  auto matches = matches_of({.mac = mac_,
                             .unicast = unicast_.span(),
                             .multicast = multicast_.span(),
                             .promiscuous = promiscuous_,
                             .all_multicast = all_multicast_});
  if (!matches) return fail(matches.error());
  return steering_.admit(std::move(*matches));
}

Result<> NetdevPort::set_mac(const MacAddress& mac) noexcept {
  if (mac[0] & 1 || mac == MacAddress{}) {
    return fail(EINVAL, "%02x:%02x:%02x:%02x:%02x:%02x is no unicast address", mac[0], mac[1], mac[2], mac[3],
                mac[4], mac[5]);
  }
  const std::scoped_lock lock(mutex_);
  if (mac == mac_) return {};
  if (auto added = membership_.add(mac); !added) return added;
  const MacAddress former = std::exchange(mac_, mac);
  if (auto done = admit(); !done) {
    mac_ = former;
    membership_.drop(mac);
    return done;
  }
  membership_.drop(former);  // the netdev's own was never added, and stays
  return {};
}

Result<> NetdevPort::replace(Array<MacAddress>& list, std::span<const MacAddress> wanted) noexcept {
  auto copy = Array<MacAddress>::make(wanted.size(), "addresses of a port");
  if (!copy) return fail(copy.error());
  std::ranges::copy(wanted, copy->begin());
  const std::scoped_lock lock(mutex_);
  Result<> done;
  std::size_t added = 0;
  for (; done && added < wanted.size(); ++added) {
    if (!contains(list.span(), wanted[added])) done = membership_.add(wanted[added]);
  }
  std::swap(list, *copy);  // *copy has what was before
  if (done) done = admit();
  if (!done) std::swap(list, *copy);
  // Either what is not wanted any more, or what was added in vain.
  const std::span<const MacAddress> gone = done ? copy->span() : wanted.first(added);
  for (const MacAddress& mac : gone) {
    if (!contains(list.span(), mac)) membership_.drop(mac);
  }
  return done;
}

Result<> NetdevPort::set_unicast_list(std::span<const MacAddress> list) noexcept {
  return replace(unicast_, list);
}

Result<> NetdevPort::set_multicast_list(std::span<const MacAddress> list) noexcept {
  return replace(multicast_, list);
}

Result<> NetdevPort::set_mode(bool& mode, bool on, Result<> (Membership::*set)(bool) noexcept) noexcept {
  const std::scoped_lock lock(mutex_);
  if (on == mode) return {};
  if (auto done = (membership_.*set)(on); !done) return done;
  mode = on;
  auto done = admit();
  if (!done) {
    mode = !on;
    (void)(membership_.*set)(!on);
  }
  return done;
}

Result<> NetdevPort::set_promiscuous(bool on) noexcept {
  return set_mode(promiscuous_, on, &Membership::set_promiscuous);
}

Result<> NetdevPort::set_all_multicast(bool on) noexcept {
  return set_mode(all_multicast_, on, &Membership::set_all_multicast);
}

Result<unsigned> NetdevPort::add_address(std::span<const std::uint8_t> address) noexcept {
  const auto state = netdev_.state();
  if (!state) return fail(state.error());
  return find_gid(context_, address, state->name);
}

Result<PortCounters> NetdevPort::counters() noexcept {
  const auto state = netdev_.state();
  if (!state) return fail(state.error());
  const std::scoped_lock lock(mutex_);
  return counters_.read(state->name);
}

Result<> NetdevPort::firmware_version(std::span<char> text) noexcept {
  const auto state = netdev_.state();
  if (!state) return fail(state.error());
  return ethtool_firmware_version(state->name, text);
}

}  // namespace chime::hca::verbs
