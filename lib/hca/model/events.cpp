// SPDX-License-Identifier: BSD-3-Clause
#include "hca/model/events.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstring>

#include "prm/text.h"

namespace chime::hca::embedded {
namespace {

// data[5] of the events of work queues: the kind of queue.
constexpr unsigned eqe_queue_kind = 5;
constexpr unsigned eqe_cq_error_number = 0;
constexpr std::uint32_t number_mask = 0xffffff;

EventKey::Of queue_of(std::uint32_t kind) noexcept {
  switch (static_cast<prm::event_queue_type>(kind)) {
    case prm::event_queue_type::qp:
      return EventKey::Of::qp;
    case prm::event_queue_type::rq:
      return EventKey::Of::rq;
    case prm::event_queue_type::sq:
      return EventKey::Of::sq;
    default:
      return EventKey::Of::nothing;
  }
}

bool is_of_cq(prm::event_type type) noexcept {
  return type == prm::event_type::completion || type == prm::event_type::cq_error;
}

bool is_of_queue(prm::event_type type) noexcept {
  switch (type) {
    case prm::event_type::path_migrated:
    case prm::event_type::communication_established:
    case prm::event_type::send_queue_drained:
    case prm::event_type::wq_catastrophic_error:
    case prm::event_type::path_migration_failed:
    case prm::event_type::wq_invalid_request:
    case prm::event_type::wq_access_error:
    case prm::event_type::last_wqe_reached:
      return true;
    default:
      return false;
  }
}

}  // namespace

EventKey EventKey::make(prm::cmd_opcode created_by, std::uint32_t number, prm::event_type type) noexcept {
  Of of = Of::nothing;
  if (created_by == prm::cmd_opcode::create_cq && is_of_cq(type)) of = Of::cq;
  if (is_of_queue(type)) {
    if (created_by == prm::cmd_opcode::create_qp) of = Of::qp;
    if (created_by == prm::cmd_opcode::create_rq) of = Of::rq;
    if (created_by == prm::cmd_opcode::create_sq) of = Of::sq;
  }
  return {type, of, number};
}

EventKey EventKey::make(const prm::Eqe& eqe) noexcept {
  const auto type = static_cast<prm::event_type>(eqe.type);
  if (type == prm::event_type::completion) return {type, Of::cq, eqe.data[prm::eqe_number] & number_mask};
  if (type == prm::event_type::cq_error) return {type, Of::cq, eqe.data[eqe_cq_error_number] & number_mask};
  if (!is_of_queue(type)) return {type, Of::nothing, 0};
  return {type, queue_of(eqe.data[eqe_queue_kind] >> 24), eqe.data[prm::eqe_number] & number_mask};
}

void EventRouter::route(const prm::Eqe& eqe) noexcept {
  const EventKey key = EventKey::make(eqe);
  if (key.of == EventKey::Of::nothing) return;
  for (Subscription* s = table_[bucket(key)]; s; s = s->next_in_bucket) {
    if (s->key == key) s->channel->raise(*s, eqe.sub_type);
  }
}

void EventRouter::add(Subscription& subscription) noexcept {
  Subscription*& head = table_[bucket(subscription.key)];
  subscription.next_in_bucket = head;
  head = &subscription;
}

void EventRouter::remove(Subscription& subscription) noexcept {
  Subscription** link = &table_[bucket(subscription.key)];
  while (*link && *link != &subscription) link = &(*link)->next_in_bucket;
  if (*link) *link = subscription.next_in_bucket;
}

void EventRouter::forget(prm::cmd_opcode created_by, std::uint32_t number) noexcept {
  Subscription** link = &table_[number % buckets];
  while (Subscription* s = *link) {
    const EventKey key = EventKey::make(created_by, number, s->key.type);
    if (key.of != EventKey::Of::nothing && key == s->key) {
      *link = s->next_in_bucket;  // the channel still owns it, and it never fires again
      s->channel->withdraw(*s);
    } else {
      link = &s->next_in_bucket;
    }
  }
}

Result<Owned<Channel>> Channel::make(EventRouter& router, model::Loop& loop) noexcept {
  auto channel = make_owned<Channel>("an event channel", router, loop);
  if (!channel) return channel;
  (*channel)->fd_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if ((*channel)->fd_ < 0) return fail(errno, "event channel: eventfd: %s", std::strerror(errno));
  return channel;
}

Channel::~Channel() {
  loop_.run([&] {
    for (Subscription* s = subscriptions_; s; s = s->next_of_channel) router_.remove(*s);
  });
  while (subscriptions_) {
    Owned<Subscription> ended(subscriptions_);
    subscriptions_ = ended->next_of_channel;
  }
  if (fd_ >= 0) close(fd_);
}

Result<> Channel::subscribe(const Object& object, prm::event_type type, std::uint64_t cookie) noexcept {
  if (!object) return fail(EINVAL, "no object to subscribe to: the handle is empty");
  const auto& handle = *reinterpret_cast<const Handle*>(object.handle());
  const EventKey key = EventKey::make(handle.created_by(), object.number(), type);
  if (key.of == EventKey::Of::nothing) {
    return fail(EINVAL,
                "objects that %s makes have no events of type %#x; CQs have completions and errors, QPs, SQs "
                "and RQs have errors",
                prm::command_name(handle.created_by()), static_cast<unsigned>(type));
  }
  auto subscription = make_owned<Subscription>("an event subscription");
  if (!subscription) return fail(subscription.error());
  (*subscription)->key = key;
  (*subscription)->cookie = cookie;
  (*subscription)->channel = this;
  (*subscription)->next_of_channel = subscriptions_;
  subscriptions_ = subscription->release();
  loop_.run([&] { router_.add(*subscriptions_); });
  return {};
}

void Channel::raise(Subscription& subscription, std::uint8_t sub_type) noexcept {
  const std::scoped_lock lock(mutex_);
  subscription.sub_type = sub_type;
  if (subscription.pending) return;
  subscription.pending = true;
  subscription.next_pending = nullptr;
  (last_pending_ ? last_pending_->next_pending : first_pending_) = &subscription;
  last_pending_ = &subscription;
  const std::uint64_t one = 1;
  // The counter can't be full: it is 1 at most for each event that waits.
  [[maybe_unused]] const auto written = write(fd_, &one, sizeof one);
}

void Channel::withdraw(Subscription& subscription) noexcept {
  const std::scoped_lock lock(mutex_);
  if (!subscription.pending) return;
  subscription.pending = false;
  Subscription* before = nullptr;
  Subscription** link = &first_pending_;
  while (*link != &subscription) {
    before = *link;
    link = &before->next_pending;
  }
  *link = subscription.next_pending;
  if (last_pending_ == &subscription) last_pending_ = before;
  if (!first_pending_) clear_fd();
}

Result<std::optional<Event>> Channel::next() noexcept {
  const std::scoped_lock lock(mutex_);
  Subscription* s = first_pending_;
  if (!s) {
    clear_fd();
    return std::optional<Event>();
  }
  first_pending_ = s->next_pending;
  if (!first_pending_) {
    last_pending_ = nullptr;
    clear_fd();
  }
  s->pending = false;
  return std::optional(Event{s->key.type, s->sub_type, s->cookie});
}

void Channel::clear_fd() noexcept {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto got = read(fd_, &count, sizeof count);
}

}  // namespace chime::hca::embedded
