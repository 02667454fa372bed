// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <span>

#include "base/array.h"
#include "base/error.h"
#include "hca/port.h"
#include "hca/verbs/counters.h"
#include "hca/verbs/gids.h"
#include "hca/verbs/membership.h"
#include "hca/verbs/netdev.h"
#include "hca/verbs/rdma_core.h"
#include "hca/verbs/root_steering.h"
#include "hca/verbs/watch.h"

namespace chime::hca::verbs {

/// The port as the kernel's netdev. MTU and administrative state are the netdev's, and put back at close.
/// Addresses and promiscuity are not: root rules and the membership of a packet socket have them, so that the
/// netdev keeps its own address and settings, and a killed process leaves nothing.
class NetdevPort final : public Port {
 public:
  static Result<Owned<NetdevPort>> make(ibv_context& context, unsigned netdev, RootSteering& steering,
                                        Watch& watch) noexcept;
  NetdevPort(ibv_context& context, unsigned netdev, RootSteering& steering, Watch& watch) noexcept
      : context_(context), netdev_(netdev), steering_(steering), watch_(watch), counters_(context) {}
  ~NetdevPort() override;

  Result<LinkState> link() noexcept override;
  Result<> set_link(bool up) noexcept override;
  Result<std::uint32_t> mtu() noexcept override;
  Result<std::uint32_t> max_mtu() noexcept override;
  Result<> set_mtu(std::uint32_t mtu) noexcept override;
  Result<MacAddress> mac() noexcept override;
  Result<> set_mac(const MacAddress& mac) noexcept override;
  Result<> set_unicast_list(std::span<const MacAddress> list) noexcept override;
  Result<> set_multicast_list(std::span<const MacAddress> list) noexcept override;
  Result<> set_promiscuous(bool on) noexcept override;
  Result<> set_all_multicast(bool on) noexcept override;
  unsigned gid_count() noexcept override { return count_gids(context_); }
  Result<GidEntry> gid(unsigned index) noexcept override { return read_gid(context_, index); }
  Result<unsigned> add_address(std::span<const std::uint8_t> address) noexcept override;
  Result<PortCounters> counters() noexcept override;
  Result<> firmware_version(std::span<char> text) noexcept override;
  int change_fd() const noexcept override { return watch_.fd(); }
  void acknowledge_change() noexcept override { watch_.drain(); }

 private:
  Result<> open() noexcept;
  /// Promiscuous or all-multicast: the netdev's membership and the root rules, or neither.
  Result<> set_mode(bool& mode, bool on, Result<> (Membership::*set)(bool) noexcept) noexcept;
  /// Replaces one list of addresses: what is new first, what is gone last.
  Result<> replace(Array<MacAddress>& list, std::span<const MacAddress> wanted) noexcept;
  Result<> admit() noexcept;
  Result<> change_up(bool up) noexcept;
  void begin_wire() noexcept override;
  void restore() noexcept;

  ibv_context& context_;
  Netdev netdev_;
  RootSteering& steering_;
  Watch& watch_;
  Membership membership_;

  std::mutex mutex_;  ///< of what follows, and of a change as a whole
  Counters counters_;
  MacAddress mac_{};
  Array<MacAddress> unicast_, multicast_;
  bool promiscuous_ = false;
  bool all_multicast_ = false;
  bool kept_down_ = false;  ///< set_link(false) asked for it
  // What the netdev had, where it was changed.
  std::optional<std::uint32_t> former_mtu_;
  std::optional<bool> former_up_;
};

}  // namespace chime::hca::verbs
