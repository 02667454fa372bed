// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>

#include "base/array.h"
#include "base/error.h"
#include "hca/device.h"
#include "hca/verbs/rdma_core.h"

namespace chime::hca::verbs {

/// A DevX event channel that carries cookies alone: the kernel keeps one event at most for a subscription, so
/// that nothing overflows. An event's sub type is therefore always 0.
class Channel final : public EventChannel {
 public:
  static Result<Owned<Channel>> make(ibv_context& context) noexcept;
  explicit Channel(DevxChannel channel) noexcept : channel_(std::move(channel)) {}
  ~Channel() override;

  int fd() const noexcept override { return channel_->fd; }
  Result<> subscribe(const Object& object, prm::event_type type, std::uint64_t cookie) noexcept override;
  Result<std::optional<Event>> next() noexcept override;

 private:
  /// What the kernel's cookie points to.
  struct Subscription {
    prm::event_type type{};
    std::uint64_t cookie = 0;
    Subscription* next = nullptr;
  };

  DevxChannel channel_;
  Subscription* subscriptions_ = nullptr;
};

}  // namespace chime::hca::verbs
