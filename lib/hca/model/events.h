// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>

#include "base/array.h"
#include "base/error.h"
#include "hca/device.h"
#include "hca/model/event_queue.h"
#include "hca/model/handle.h"
#include "model/loop.h"
#include "prm/eqe.h"

namespace chime::hca::embedded {

class Channel;

/// What an event is about: numbers of CQs, SQs, RQs and QPs are apart.
struct EventKey {
  enum class Of : std::uint8_t { nothing, cq, qp, rq, sq };

  prm::event_type type;
  Of of;
  std::uint32_t number;

  bool operator==(const EventKey&) const noexcept = default;

  /// `of` is nothing when objects of this kind have no events of this type.
  static EventKey make(prm::cmd_opcode created_by, std::uint32_t number, prm::event_type type) noexcept;
  static EventKey make(const prm::Eqe& eqe) noexcept;
};

/// One subscription: in its router's table and its channel's lists. An event that comes before the last one
/// was read is not counted twice: a CQ has one at most until it is armed again, and what went wrong is as
/// wrong the second time. So nothing overflows.
struct Subscription {
  EventKey key;
  std::uint64_t cookie = 0;
  Channel* channel = nullptr;
  Subscription* next_in_bucket = nullptr;
  Subscription* next_of_channel = nullptr;

  // Under the channel's mutex.
  Subscription* next_pending = nullptr;
  bool pending = false;
  std::uint8_t sub_type = 0;
};

/// Brings events to the channels that want them. Used by the thread that steps the HCA.
class EventRouter {
 public:
  EventRouter() noexcept = default;
  EventRouter(const EventRouter&) = delete;
  EventRouter& operator=(const EventRouter&) = delete;

  void route(const prm::Eqe& eqe) noexcept;
  void add(Subscription& subscription) noexcept;
  void remove(Subscription& subscription) noexcept;
  /// The object has gone; another may get its number.
  void forget(prm::cmd_opcode created_by, std::uint32_t number) noexcept;

 private:
  static constexpr std::size_t buckets = 64;
  static std::size_t bucket(const EventKey& key) noexcept { return key.number % buckets; }

  std::array<Subscription*, buckets> table_{};
};

/// The readable end. Used by any one thread; its subscriptions belong to the router's.
class Channel final : public EventChannel {
 public:
  static Result<Owned<Channel>> make(EventRouter& router, model::Loop& loop) noexcept;
  Channel(EventRouter& router, model::Loop& loop) noexcept : router_(router), loop_(loop) {}
  ~Channel() override;

  int fd() const noexcept override { return fd_; }
  Result<> subscribe(const Object& object, prm::event_type type, std::uint64_t cookie) noexcept override;
  Result<std::optional<Event>> next() noexcept override;

  // For the router.
  void raise(Subscription& subscription, std::uint8_t sub_type) noexcept;
  void withdraw(Subscription& subscription) noexcept;

 private:
  void clear_fd() noexcept;

  EventRouter& router_;
  model::Loop& loop_;
  int fd_ = -1;
  Subscription* subscriptions_ = nullptr;

  std::mutex mutex_;
  Subscription* first_pending_ = nullptr;
  Subscription* last_pending_ = nullptr;
};

}  // namespace chime::hca::embedded
