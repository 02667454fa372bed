// SPDX-License-Identifier: BSD-3-Clause
#include "periodic_alarm.h"

#include <rte_alarm.h>

#include "base/thread_sanitizer.h"
#include "log.h"

namespace chime::net {

Result<> PeriodicAlarm::start(std::uint64_t period_us, Function function, void* argument) noexcept {
  stop();
  period_us_ = period_us;
  function_ = function;
  argument_ = argument;
  handed_over(this);
  const int error = rte_eal_alarm_set(period_us, fire, this);
  if (error != 0) {
    function_ = nullptr;
    return fail(-error, "EAL set no alarm in %llu us", static_cast<unsigned long long>(period_us));
  }
  return {};
}

void PeriodicAlarm::stop() noexcept {
  if (function_ == nullptr) return;
  // Waits for a call on another thread, which may have set the next alarm: it cancels that one too.
  rte_eal_alarm_cancel(fire, this);
  taken_over(this);
  function_ = nullptr;
}

void PeriodicAlarm::fire(void* self) noexcept {
  PeriodicAlarm& alarm = *static_cast<PeriodicAlarm*>(self);
  taken_over(self);
  alarm.function_(alarm.argument_);
  const int error = rte_eal_alarm_set(alarm.period_us_, fire, self);
  if (error != 0)
    log(LogLevel::error, "net_chime", "EAL sets no further alarm (error %d): queues in error stay so",
        -error);
  handed_over(self);
}

}  // namespace chime::net
