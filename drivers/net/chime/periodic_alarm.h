// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "base/error.h"

namespace chime::net {

/// Calls a function again and again on EAL's interrupt thread (rte_eal_alarm). What it calls must not wait
/// for a lock that the owner holds while it stops the alarm: stop() waits for a running call to end.
class PeriodicAlarm {
 public:
  using Function = void (*)(void* argument);

  PeriodicAlarm() noexcept = default;
  PeriodicAlarm(const PeriodicAlarm&) = delete;
  PeriodicAlarm& operator=(const PeriodicAlarm&) = delete;
  ~PeriodicAlarm() { stop(); }

  /// @param period_us microseconds from the end of a call to the next
  Result<> start(std::uint64_t period_us, Function function, void* argument) noexcept;
  void stop() noexcept;

 private:
  static void fire(void* self) noexcept;

  std::uint64_t period_us_ = 0;
  Function function_ = nullptr;
  void* argument_ = nullptr;
};

}  // namespace chime::net
