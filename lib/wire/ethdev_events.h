// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <rte_ethdev.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

#include "base/error.h"
#include "wire/pool_shelf.h"

namespace chime::wire {

class EthdevWire;

/// What the ethdev library tells the wires of a process: ports that appear, go, change their link. Callbacks
/// come in any thread, under locks of EAL, so that here
///  - an appearing port is only claimed, and looked after in EAL's alarm thread;
///  - a going one is taken away from the stepping thread before the callback returns;
///  - all else is a bit, which the wire finds when it is polled.
class EthdevEvents {
 public:
  enum Bit : std::uint32_t {
    link_event = 1,      ///< the link may have changed
    removal_event = 2,   ///< the device was pulled; the port itself goes later
    prepared_event = 4,  ///< configured and started: can be used
    changed_event = 8,   ///< largest_frame() answers otherwise than before
  };

  EthdevEvents() noexcept = default;
  Result<> start() noexcept;
  ~EthdevEvents();
  EthdevEvents(const EthdevEvents&) = delete;
  EthdevEvents& operator=(const EthdevEvents&) = delete;

  void add(EthdevWire& wire) noexcept;
  /// No callback is running in the wire when this returns, and none will.
  void remove(EthdevWire& wire) noexcept;

  std::atomic<std::uint32_t>& of(std::uint16_t port) noexcept { return bits_[port]; }
  PoolShelf& pools() noexcept { return pools_; }
  int logtype() const noexcept { return logtype_; }
  /// Calls its look_after(), or does so soon, when it is too early.
  void look_after(EthdevWire& wire) noexcept;
  /// Calls look_after() of wires that want it, soon, in EAL's alarm thread.
  void wake() noexcept;

 private:
  static int on_event(std::uint16_t port, rte_eth_event_type event, void* self, void*) noexcept;
  static void on_alarm(void* self) noexcept;
  /// @return whether there was one
  bool look_after_one(const EthdevWire* only) noexcept;
  void appeared(std::uint16_t port) noexcept;
  void gone(std::uint16_t port) noexcept;
  void unregister() noexcept;

  std::mutex lock_;
  EthdevWire* first_ = nullptr;
  std::uint64_t care_turns_ = 0;
  std::array<std::atomic<std::uint32_t>, RTE_MAX_ETHPORTS> bits_{};
  std::atomic<unsigned> running_{0};
  PoolShelf pools_;
  int logtype_ = 0;
};

}  // namespace chime::wire
