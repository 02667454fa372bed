// SPDX-License-Identifier: BSD-3-Clause
#include "hca/model/port.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "hca/model/gid_table.h"
#include "hca/model/link_speed.h"
#include "hca/model/on_loop.h"
#include "hca/model/registers.h"
#include "hca/model/vport.h"

namespace chime::hca::embedded {
namespace {

constexpr std::uint32_t only_port = 1;

/// Between the MTU and what PMTU counts: Ethernet header, one VLAN tag, FCS.
constexpr std::uint32_t frame_overhead = 14 + 4 + 4;
constexpr std::uint32_t min_mtu = 68;

}  // namespace

Result<Owned<EmbeddedPort>> EmbeddedPort::make(Kernel& kernel, model::Loop& loop, wire::Port& wire,
                                               const model::Identity& identity,
                                               const MacAddress& mac) noexcept {
  auto port = make_owned<EmbeddedPort>("the embedded HCA's port", kernel, loop, wire, identity, mac);
  if (!port) return port;
  if (auto started = (*port)->open(); !started) return fail(started.error());
  return port;
}

Result<> EmbeddedPort::open() noexcept {
  change_fd_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (change_fd_ < 0) return fail(errno, "the port's change descriptor: eventfd: %s", std::strerror(errno));
  if (auto done = on_loop(loop_, [&] { return write_unicast(kernel_, mac_, {}); }); !done) return done;
  if (!wire_.answers()) return {};
  auto room = Array<wire::OwnAddress>::make(gid_count(), "addresses of the port");
  if (!room) return fail(room.error());
  answered_ = std::move(*room);
  return answer_for_gids();
}

/// A host's kernel answers ARP and neighbour discovery for the addresses that it gave the card. After the
/// first time there is room for all, and it succeeds.
Result<> EmbeddedPort::answer_for_gids() noexcept {
  for (unsigned i = 0; i < answered_.size(); ++i) {
    const auto entry = gid(i);
    answered_[i] = entry ? wire::OwnAddress{entry->raw, entry->mac} : wire::OwnAddress{};
  }
  return wire_.answer_for(answered_.span());
}

EmbeddedPort::~EmbeddedPort() {
  if (change_fd_ >= 0) close(change_fd_);
}

Result<LinkState> EmbeddedPort::link() noexcept {
  return on_loop(loop_, [&]() -> Result<LinkState> {
    prm::Box<prm::paos_reg> paos;
    prm::Box<prm::ptys_reg> ptys;
    paos.set(prm::paos_reg::local_port, only_port);
    ptys.set(prm::ptys_reg::local_port, only_port).set(prm::ptys_reg::proto_mask, prm::ptys_proto::en);
    if (auto done = read_register(kernel_, paos); !done) return fail(done.error());
    if (auto done = read_register(kernel_, ptys); !done) return fail(done.error());
    LinkState state;
    state.up = paos.get(prm::paos_reg::oper_status) == prm::port_status::up;
    state.autoneg = !ptys.get(prm::ptys_reg::an_disable_admin);
    if (state.up) state.speed_mbps = link_speed(ptys);
    return state;
  });
}

Result<> EmbeddedPort::set_link(bool up) noexcept {
  return on_loop(loop_, [&] {
    prm::Box<prm::paos_reg> paos;
    paos.set(prm::paos_reg::local_port, only_port)
        .set(prm::paos_reg::admin_status, up ? prm::port_status::up : prm::port_status::down)
        .set(prm::paos_reg::ase, 1);
    return write_register(kernel_, paos);
  });
}

Result<std::uint32_t> EmbeddedPort::mtu() noexcept {
  return on_loop(loop_, [&]() -> Result<std::uint32_t> {
    prm::Box<prm::pmtu_reg> pmtu;
    pmtu.set(prm::pmtu_reg::local_port, only_port);
    if (auto done = read_register(kernel_, pmtu); !done) return fail(done.error());
    return pmtu.get(prm::pmtu_reg::oper_mtu) - frame_overhead;
  });
}

Result<std::uint32_t> EmbeddedPort::max_mtu() noexcept {
  return on_loop(loop_, [&]() -> Result<std::uint32_t> {
    prm::Box<prm::pmtu_reg> pmtu;
    pmtu.set(prm::pmtu_reg::local_port, only_port);
    if (auto done = read_register(kernel_, pmtu); !done) return fail(done.error());
    return pmtu.get(prm::pmtu_reg::max_mtu) - frame_overhead;
  });
}

Result<> EmbeddedPort::set_mtu(std::uint32_t mtu) noexcept {
  const std::scoped_lock lock(mutex_);
  return on_loop(loop_, [&]() -> Result<> {
    prm::Box<prm::pmtu_reg> pmtu;
    pmtu.set(prm::pmtu_reg::local_port, only_port);
    if (auto done = read_register(kernel_, pmtu); !done) return done;
    const std::uint32_t most = pmtu.get(prm::pmtu_reg::max_mtu) - frame_overhead;
    if (mtu < min_mtu || mtu > most) {
      return fail(EINVAL, "MTU %u; the port and its wire take %u to %u", mtu, min_mtu, most);
    }
    pmtu.set(prm::pmtu_reg::admin_mtu, mtu + frame_overhead);
    if (auto done = write_register(kernel_, pmtu); !done) return done;
    return write_vport_mtu(kernel_, mtu);
  });
}

Result<MacAddress> EmbeddedPort::mac() noexcept {
  return on_loop(loop_, [&] { return read_address(kernel_); });
}

Result<> EmbeddedPort::set_mac(const MacAddress& mac) noexcept {
  if (mac[0] & 1 || mac == MacAddress{}) {
    return fail(EINVAL, "%02x:%02x:%02x:%02x:%02x:%02x is no unicast address", mac[0], mac[1], mac[2], mac[3],
                mac[4], mac[5]);
  }
  const std::scoped_lock lock(mutex_);
  const auto changed = on_loop(loop_, [&]() -> Result<> {
    if (auto done = write_unicast(kernel_, mac, unicast_.span()); !done) return done;
    if (auto done = write_address(kernel_, mac); !done) {
      // Back to the list as it was; it fitted.
      if (auto undone = write_unicast(kernel_, mac_, unicast_.span()); !undone)
        kernel_.report(undone.error());
      return done;
    }
    if (auto done = move_gids(kernel_, mac_, mac); !done) kernel_.report(done.error());
    mac_ = mac;
    return {};
  });
  return changed ? answer_for_gids() : changed;
}

Result<> EmbeddedPort::set_unicast_list(std::span<const MacAddress> list) noexcept {
  auto copy = Array<MacAddress>::make(list.size(), "the port's unicast addresses");
  if (!copy) return fail(copy.error());
  std::ranges::copy(list, copy->begin());
  const std::scoped_lock lock(mutex_);
  auto done = on_loop(loop_, [&] { return write_unicast(kernel_, mac_, list); });
  if (done) unicast_ = std::move(*copy);
  return done;
}

Result<> EmbeddedPort::set_multicast_list(std::span<const MacAddress> list) noexcept {
  const std::scoped_lock lock(mutex_);
  return on_loop(loop_, [&] { return write_multicast(kernel_, list); });
}

Result<> EmbeddedPort::set_promiscuous(bool on) noexcept {
  const std::scoped_lock lock(mutex_);
  auto done = on_loop(loop_, [&] { return write_promiscuity(kernel_, on, all_multicast_); });
  if (done) promiscuous_ = on;
  return done;
}

Result<> EmbeddedPort::set_all_multicast(bool on) noexcept {
  const std::scoped_lock lock(mutex_);
  auto done = on_loop(loop_, [&] { return write_promiscuity(kernel_, promiscuous_, on); });
  if (done) all_multicast_ = on;
  return done;
}

unsigned EmbeddedPort::gid_count() noexcept {
  const auto count = on_loop(loop_, [&] { return count_gids(kernel_); });
  return count ? *count : 0;
}

Result<GidEntry> EmbeddedPort::gid(unsigned index) noexcept {
  return on_loop(loop_, [&] { return read_gid(kernel_, index); });
}

Result<unsigned> EmbeddedPort::add_address(std::span<const std::uint8_t> address) noexcept {
  GidEntry entry{};
  if (auto made = gid_of_address(address, entry.raw); !made) return fail(made.error());
  entry.type = GidType::roce_v2;
  const std::scoped_lock lock(mutex_);
  entry.mac = mac_;
  auto place = on_loop(loop_, [&] { return add_gid(kernel_, entry); });
  if (!place) return place;
  if (auto done = answer_for_gids(); !done) return fail(done.error());
  return place;
}

Result<PortCounters> EmbeddedPort::counters() noexcept {
  PortCounters counters{};
  auto done = on_loop(loop_, [&]() -> Result<> {
    if (auto read = read_vport_counters(kernel_, counters); !read) return read;
    if (auto read = read_physical(counters); !read) return read;
    return read_steer_missed(kernel_, counters);
  });
  if (!done) return fail(done.error());
  const wire::WireStatistics wire = wire_.statistics();
  counters.wire_drops_tx = wire.tx_dropped.total();
  counters.wire_drops_rx = wire.rx_dropped.total();
  return counters;
}

Result<> EmbeddedPort::read_physical(PortCounters& counters) noexcept {
  using Group = prm::eth_802_3_cntrs_grp_data_layout;
  constexpr std::uint64_t fcs = 4;
  prm::Box<prm::ppcnt_reg> ppcnt;
  ppcnt.set(prm::ppcnt_reg::local_port, only_port).set(prm::ppcnt_reg::grp, prm::ppcnt_group::ieee_802_3);
  if (auto done = read_register(kernel_, ppcnt); !done) return done;
  const prm::ConstView<Group> group(ppcnt.bytes().subspan(0x8, Group::size));
  counters.rx_wire_packets = group.get(Group::a_frames_received_ok);
  counters.tx_wire_packets = group.get(Group::a_frames_transmitted_ok);
  counters.rx_wire_bytes = group.get(Group::a_octets_received_ok) - fcs * counters.rx_wire_packets;
  counters.tx_wire_bytes = group.get(Group::a_octets_transmitted_ok) - fcs * counters.tx_wire_packets;
  counters.rx_too_long = group.get(Group::a_frame_too_long_errors);
  return {};
}

Result<> EmbeddedPort::firmware_version(std::span<char> text) noexcept {
  // A kernel reads it in the card's initialization segment, which is no part of the card without a bus.
  const int length = std::snprintf(text.data(), text.size(), "%u.%02u.%04u (%s)", identity_.firmware_major,
                                   identity_.firmware_minor, identity_.firmware_subminor, identity_.psid);
  if (length < 0 || static_cast<std::size_t>(length) >= text.size()) {
    return fail(ENOSPC, "the firmware version has %d characters, there is room for %zu with the NUL", length,
                text.size());
  }
  return {};
}

void EmbeddedPort::acknowledge_change() noexcept {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto got = read(change_fd_, &count, sizeof count);
}

void EmbeddedPort::changed() noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = write(change_fd_, &one, sizeof one);
}

}  // namespace chime::hca::embedded
