// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace chime::model {

/// The card's time: CQE timestamps, the internal timer, retransmission. Tests step it.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual std::uint64_t nanoseconds() noexcept = 0;
};

/// CLOCK_MONOTONIC.
class SystemClock final : public Clock {
 public:
  std::uint64_t nanoseconds() noexcept override;
};

}  // namespace chime::model
