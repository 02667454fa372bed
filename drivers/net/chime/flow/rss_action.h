// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <rte_flow.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "base/array.h"
#include "flow/error.h"
#include "rss.h"
#include "steering/rss_spread.h"

/// @file
/// The action rss: a spread of its own over the queues that it names. Rules that ask for the same share one.

namespace chime::net {

FlowResult<> check_rss_action(const rte_flow_action_rss& rss, std::uint32_t queues) noexcept;

/// What tells one spread from another. Plain data.
struct SpreadKey {
  SpreadConfig config;
  std::uint16_t count = 0;                       ///< of queues
  std::array<std::uint16_t, max_reta> queues{};  ///< as the card's table has them

  bool operator==(const SpreadKey& other) const noexcept;
};

/// @param rss checked; types 0: all that can be hashed; no queue list that is a power of two long is repeated
///            until it nearly fills the largest table
/// @param port_key where the action has no key
SpreadKey spread_key(const rte_flow_action_rss& rss, const RssKey& port_key) noexcept;

/// The spreads in use.
class SharedSpreads {
 public:
  class Ref;

  /// @param rqns receive queue numbers by queue index
  Result<Ref> get(hca::Device& device, std::uint32_t transport_domain, std::uint8_t level,
                  std::span<const std::uint32_t> rqns, const SpreadKey& key) noexcept;

 private:
  struct Shared {
    SpreadKey key;
    Owned<RssSpread> spread;
    std::uint32_t users = 0;
    Owned<Shared> next;
  };
  void release(Shared& shared) noexcept;

  Owned<Shared> first_;  // last used first
};

/// A rule's hold on a spread.
class SharedSpreads::Ref {
 public:
  Ref() noexcept = default;
  Ref(Ref&& other) noexcept { swap(other); }
  Ref& operator=(Ref&& other) noexcept {
    Ref(std::move(other)).swap(*this);
    return *this;
  }
  ~Ref() {
    if (shared_) owner_->release(*shared_);
  }

  Destination entrance() const noexcept { return shared_->spread->entrance(); }

 private:
  friend class SharedSpreads;
  Ref(SharedSpreads& owner, Shared& shared) noexcept : owner_(&owner), shared_(&shared) { ++shared.users; }
  void swap(Ref& other) noexcept {
    std::swap(owner_, other.owner_);
    std::swap(shared_, other.shared_);
  }

  SharedSpreads* owner_ = nullptr;
  Shared* shared_ = nullptr;
};

}  // namespace chime::net
