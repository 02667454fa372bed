// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "hca/verbs/rdma_core.h"

namespace chime::hca::verbs {

/// What the kernel tells of a card without being asked: changes of netdevs (rtnetlink), and the RDMA device's
/// asynchronous events, of which IBV_EVENT_DEVICE_FATAL counts: firmware that failed, or a card that its
/// driver gives up. Then the kernel ends the context's objects, and a new RDMA device comes, or none.
class Watch {
 public:
  explicit Watch(ibv_context& context) noexcept : context_(context) {}

  Result<> open() noexcept;
  /// Polls readable when something was told.
  int fd() const noexcept { return all_.get(); }
  /// Takes what was told.
  void drain() noexcept;
  /// The RDMA device has failed or gone, and does not come back.
  bool lost() const noexcept { return lost_.load(std::memory_order_acquire); }

 private:
  Result<> add(int fd, const char* what) noexcept;
  bool takes_events() noexcept;

  ibv_context& context_;
  FileDescriptor netdevs_;
  FileDescriptor all_;  ///< an epoll instance
  std::atomic<bool> lost_{false};
};

}  // namespace chime::hca::verbs
