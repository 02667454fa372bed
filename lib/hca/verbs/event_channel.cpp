// SPDX-License-Identifier: BSD-3-Clause
#include "hca/verbs/event_channel.h"

#include <fcntl.h>

#include <cerrno>

#include "hca/verbs/failure.h"
#include "hca/verbs/handle.h"
#include "prm/text.h"

namespace chime::hca::verbs {

Result<Owned<Channel>> Channel::make(ibv_context& context) noexcept {
  DevxChannel channel(
      mlx5dv_devx_create_event_channel(&context, MLX5DV_DEVX_CREATE_EVENT_CHANNEL_FLAGS_OMIT_EV_DATA));
  if (!channel) return fail(call_failure("mlx5dv_devx_create_event_channel", errno));
  const int flags = fcntl(channel->fd, F_GETFL);
  if (flags < 0 || fcntl(channel->fd, F_SETFL, flags | O_NONBLOCK) != 0) {
    return fail(call_failure("event channel: O_NONBLOCK", errno));
  }
  return make_owned<Channel>("an event channel", std::move(channel));
}

Channel::~Channel() {
  channel_.reset();
  while (subscriptions_) {
    Owned<Subscription> ended(subscriptions_);
    subscriptions_ = ended->next;
  }
}

Result<> Channel::subscribe(const Object& object, prm::event_type type, std::uint64_t cookie) noexcept {
  if (!object) return fail(EINVAL, "no object to subscribe to: the handle is empty");
  const auto& handle = *reinterpret_cast<const Handle*>(object.handle());
  if (!handle.devx()) {
    return fail(EINVAL,
                "objects that %s makes have no events; CQs have completions and errors, QPs, SQs and "
                "RQs have errors",
                prm::command_name(handle.created_by()));
  }
  auto subscription = make_owned<Subscription>("an event subscription");
  if (!subscription) return fail(subscription.error());
  (*subscription)->type = type;
  (*subscription)->cookie = cookie;
  std::uint16_t types[] = {static_cast<std::uint16_t>(type)};
  if (const int failed =
          mlx5dv_devx_subscribe_devx_event(channel_.get(), handle.devx(), sizeof types, types,
                                           reinterpret_cast<std::uint64_t>(subscription->get()));
      failed != 0) {
    return fail(call_failure("mlx5dv_devx_subscribe_devx_event", failed)
                    .within("events of type %#x of what %s made", static_cast<unsigned>(type),
                            prm::command_name(handle.created_by())));
  }
  (*subscription)->next = subscriptions_;
  subscriptions_ = subscription->release();
  return {};
}

Result<std::optional<Event>> Channel::next() noexcept {
  mlx5dv_devx_async_event_hdr header{};
  for (;;) {
    const auto bytes = mlx5dv_devx_get_event(channel_.get(), &header, sizeof header);
    if (bytes >= static_cast<ssize_t>(sizeof header.cookie)) break;
    if (bytes >= 0) return fail(EIO, "mlx5dv_devx_get_event: an event of %zd bytes has no cookie", bytes);
    if (errno == EAGAIN || errno == EWOULDBLOCK) return std::optional<Event>();
    if (errno != EINTR) return fail(call_failure("mlx5dv_devx_get_event", errno));
  }
  const auto& subscription = *reinterpret_cast<const Subscription*>(header.cookie);
  return std::optional(Event{subscription.type, 0, subscription.cookie});
}

}  // namespace chime::hca::verbs
