// SPDX-License-Identifier: BSD-3-Clause
#include "hca/verbs/watch.h"

#include <fcntl.h>
#include <sys/epoll.h>

#include <cerrno>

#include "hca/verbs/failure.h"
#include "hca/verbs/netdev.h"

namespace chime::hca::verbs {

Result<> Watch::add(int fd, const char* what) noexcept {
  epoll_event event{.events = EPOLLIN, .data = {}};
  if (epoll_ctl(all_.get(), EPOLL_CTL_ADD, fd, &event) != 0) return fail(call_failure(what, errno));
  return {};
}

Result<> Watch::open() noexcept {
  auto netdevs = Netdev::watch();
  if (!netdevs) return fail(netdevs.error());
  netdevs_ = std::move(*netdevs);
  const int flags = fcntl(context_.async_fd, F_GETFL);
  if (flags < 0 || fcntl(context_.async_fd, F_SETFL, flags | O_NONBLOCK) != 0) {
    return fail(call_failure("asynchronous events: O_NONBLOCK", errno));
  }
  all_ = FileDescriptor(epoll_create1(EPOLL_CLOEXEC));
  if (!all_) return fail(call_failure("epoll_create1", errno));
  if (auto added = add(netdevs_.get(), "epoll_ctl of rtnetlink"); !added) return added;
  return add(context_.async_fd, "epoll_ctl of asynchronous events");
}

/// @return false: the device is lost
bool Watch::takes_events() noexcept {
  for (;;) {
    ibv_async_event event{};
    if (ibv_get_async_event(&context_, &event) != 0) {
      if (errno == EINTR) continue;
      // Else EIO: there is no device behind the context any more.
      return errno == EAGAIN || errno == EWOULDBLOCK;
    }
    const bool fatal = event.event_type == IBV_EVENT_DEVICE_FATAL;
    ibv_ack_async_event(&event);
    if (fatal) return false;
  }
}

void Watch::drain() noexcept {
  Netdev::drain(netdevs_);
  if (lost() || takes_events()) return;
  // The descriptor of a device that has gone polls EPOLLERR for ever.
  epoll_ctl(all_.get(), EPOLL_CTL_DEL, context_.async_fd, nullptr);
  lost_.store(true, std::memory_order_release);
}

}  // namespace chime::hca::verbs
