// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <rte_interrupts.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "base/array.h"
#include "base/error.h"
#include "hca/device.h"

namespace chime::net {

/// What a port tells the EAL to wait for: its own change on the EAL's interrupt thread, and completions of
/// receive queues for lcores that sleep (rte_eth_dev_rx_intr_*). Owns the rte_intr_handle.
class Interrupts {
 public:
  using Callback = void (*)(void* argument);

  Interrupts() noexcept = default;
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;
  ~Interrupts() { close(); }

  /// Calls `callback` on the EAL's interrupt thread whenever `change_fd` is readable.
  Result<> open(int change_fd, Callback callback, void* argument) noexcept;
  /// Waits for a running callback. Not to be called from it.
  void close() noexcept;

  /// One event channel for each of these completion queues, in order; they must outlive it.
  Result<> enable_rx(hca::Device& device, std::span<const hca::Object* const> cqs) noexcept;
  void disable_rx() noexcept;
  /// Takes the events of one queue, so that its descriptor is quiet again. For the queue's lcore.
  Result<> drain_rx(std::uint16_t queue) noexcept;

  /// For rte_eth_dev::intr_handle.
  rte_intr_handle* handle() const noexcept { return handle_.get(); }

 private:
  struct Free {
    void operator()(rte_intr_handle* handle) const noexcept { rte_intr_instance_free(handle); }
  };

  std::unique_ptr<rte_intr_handle, Free> handle_;
  Callback callback_ = nullptr;
  void* argument_ = nullptr;
  Array<Owned<hca::EventChannel>> rx_channels_;
};

}  // namespace chime::net
