// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "base/array.h"
#include "base/error.h"
#include "hca/port.h"
#include "hca/receive_path.h"
#include "hca/steering.h"
#include "rss.h"
#include "steering/gate.h"
#include "steering/mac_filter.h"
#include "steering/rss_spread.h"
#include "steering/table_limits.h"
#include "steering/vlan_filter.h"

/// @file
/// From the port to the receive queues: which packets come in, and which queue each goes to.
///
///     root -> [rte_flow group 0] -> [MAC filter] -> [VLAN filter] -> RSS spread -> queues
///
/// A stage that has nothing to do is left out: a promiscuous port without RSS has its root lead to the
/// queue's TIR. What changes is built anew beside the old and then led to, so that no packet is lost.

namespace chime::net {

/// What the port lets in. Broadcast always comes in.
struct ReceiveFilter {
  bool promiscuous;  ///< everything, VLAN filter or not
  bool all_multicast;
  std::span<const hca::MacAddress> unicast;
  std::span<const hca::MacAddress> multicast;
  const VlanSet* vlans;   ///< tagged packets of these alone, and untagged ones; nullptr: no VLAN filter
  bool isolated = false;  ///< nothing comes in but by rte_flow rules; fixed while the port runs
};

/// The steering objects of a started port: they end with it. Control path, under the port's lock.
class RxSteering {
 public:
  RxSteering() noexcept = default;  ///< empty: create() makes a working one
  /// @param rqns receive queue numbers by queue index; their queues must outlive this
  static Result<Owned<RxSteering>> create(hca::Device& device, std::uint32_t transport_domain,
                                          std::span<const std::uint32_t> rqns, const RssSettings& rss,
                                          const ReceiveFilter& filter) noexcept;

  /// Replaces what comes in; after an error the former filter is in force.
  Result<> update_filter(const ReceiveFilter& filter) noexcept;
  /// Replaces key, types and table (of the same size); after an error the former settings are in force.
  Result<> update_rss(const RssSettings& rss) noexcept;

  // For rte_flow rules (flow/), which stand between the root and everything else.
  hca::Device& device() const noexcept { return *device_; }
  std::uint32_t transport_domain() const noexcept { return transport_domain_; }
  std::span<const std::uint32_t> rqns() const noexcept { return rqns_.span(); }
  const TableLimits& limits() const noexcept { return limits_; }
  bool isolated() const noexcept { return isolated_; }
  /// Makes the root lead to a table; nullopt: to what the port receives by itself.
  Result<> set_front(std::optional<std::uint32_t> table) noexcept;
  /// Closes the root for good: the port receives nothing, and what it led to can go.
  void shut() noexcept { root_->close(); }
  /// Leads the gate to what the port receives by itself, now and after every change, until remove(). A gate
  /// of an isolated port stays closed.
  Result<> add(Gate& gate) noexcept;
  void remove(Gate& gate) noexcept;

 private:
  /// The stages, or those of them that are to replace the present ones.
  struct Stages {
    // Users go first.
    Owned<RssSpread> spread;
    Owned<VlanFilter> vlans;
    Owned<MacFilter> macs;
  };

  Result<Owned<RssSpread>> make_spread(const RssSettings& rss) noexcept;
  Result<> install(Stages& stages) noexcept;
  Result<> switch_gates(Destination entrance) noexcept;

  hca::Device* device_ = nullptr;
  std::uint32_t transport_domain_ = 0;
  Array<std::uint32_t> rqns_;
  TableLimits limits_{};
  bool isolated_ = false;
  RssSettings rss_{};

  Stages stages_;
  std::optional<Gate> root_;  // goes before the stages

  Destination entrance_{};  ///< where the stages begin
  std::optional<std::uint32_t> front_;
  Gate* gates_ = nullptr;  ///< others that lead to the entrance
};

}  // namespace chime::net
