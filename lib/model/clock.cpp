// SPDX-License-Identifier: BSD-3-Clause
#include "model/clock.h"

#include <ctime>

namespace chime::model {

std::uint64_t SystemClock::nanoseconds() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace chime::model
