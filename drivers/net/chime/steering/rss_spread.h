// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "base/array.h"
#include "base/error.h"
#include "hca/receive_path.h"
#include "rss.h"
#include "steering/destination.h"

namespace chime::net {

/// Which hash, over what.
struct SpreadConfig {
  std::uint64_t types = 0;  ///< RTE_ETH_RSS_*, checked; 0: everything to the first queue
  RssKey key{};
  bool symmetric = false;  ///< both directions of a connection hash alike

  bool operator==(const SpreadConfig&) const noexcept = default;
};

/// The end of the way: spreads packets over queues. A TIR for each kind of hash, and, if there are several, a
/// table that tells the kinds of packets apart:
///
///     entries 0 to 3     TCP, UDP of either IP       mask ethertype, ip_protocol, frag
///     entries 4, 5       fragments of either IP      mask ethertype, frag
///     entries 6, 7       either IP                   mask ethertype
///     entry 8            everything else
///
/// Entries that would do what a later one does anyhow are left out.
class RssSpread {
  struct Token {};

 public:
  /// @param rqns    a power of two of receive queue numbers
  static Result<Owned<RssSpread>> create(hca::Device& device, std::uint32_t transport_domain,
                                         std::uint8_t level, std::span<const std::uint32_t> rqns,
                                         const SpreadConfig& config) noexcept;
  explicit RssSpread(Token) noexcept {}

  Destination entrance() const noexcept { return entrance_; }

  /// Whether retarget() can do it: packets without a hash go to the first queue by a TIR that stays.
  bool can_retarget(std::span<const std::uint32_t> rqns) const noexcept {
    return rqt_ && rqns.size() == size_ && rqns[0] == first_rqn_;
  }
  /// Changes the queues at once.
  Result<> retarget(std::span<const std::uint32_t> rqns) noexcept { return hca::modify_rqt(rqt_, rqns); }

 private:
  Result<> make_tirs(hca::Device& device, std::uint32_t transport_domain, const RssPlan& plan,
                     const SpreadConfig& config) noexcept;
  Result<> make_table(hca::Device& device, std::uint8_t level, const RssPlan& plan) noexcept;
  Result<> make_entry(hca::Device& device, unsigned group, std::uint32_t index, bool ipv6, Spread packets,
                      HashClass kind) noexcept;

  std::size_t size_ = 0;
  std::uint32_t first_rqn_ = 0;
  // Users go first.
  hca::Object rqt_;
  std::array<hca::Object, hash_classes> tirs_;
  hca::Object table_;
  std::array<hca::Object, 4> groups_;
  std::array<hca::Object, 9> entries_;
  Destination entrance_{};
};

}  // namespace chime::net
