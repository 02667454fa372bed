// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>

#include "model/roce/qp_list.h"

namespace chime::model {

/// One deadline for each QP, QpRequester::deadline, on a wheel of ticks. A deadline that moves away costs
/// nothing: its QP is found early, and put back.
class Timers {
 public:
  /// `qp.transport.requester.deadline` was set, not to 0.
  void set(Qp& qp) noexcept {
    const std::uint64_t tick = tick_of(qp.transport.requester.deadline);
    QpTransport& t = qp.transport;
    if (t.timed) {
      if (t.timer_tick <= tick) return;
      take(qp);
    }
    insert(qp, tick);
  }
  void forget(Qp& qp) noexcept {
    if (qp.transport.timed) take(qp);
  }

  bool waiting() const noexcept { return count_ != 0; }

  /// Calls expired(Qp&) for every deadline that has come; it may set another.
  template <class Expired>
  void advance(std::uint64_t now, Expired&& expired) noexcept {
    const std::uint64_t tick = now >> log_tick;
    if (count_ == 0 || tick == now_tick_) {
      now_tick_ = tick;
      return;
    }
    std::uint64_t at = tick - now_tick_ > slots ? tick - slots : now_tick_;
    now_tick_ = tick;
    while (at != tick) {
      ++at;
      Slot& slot = wheel_[at % slots];
      // What is put back goes behind `last`, or elsewhere.
      Qp* const last = slot.last();
      for (bool more = last != nullptr; more && slot.first();) {
        Qp& qp = *slot.first();
        more = &qp != last;
        take(qp);
        const std::uint64_t deadline = qp.transport.requester.deadline;
        if (deadline == 0) continue;
        if (deadline > now) {
          insert(qp, tick_of(deadline));
        } else {
          expired(qp);
        }
      }
    }
  }

 private:
  static constexpr unsigned log_tick = 13;  ///< 8.192 us
  static constexpr std::uint64_t slots = 1024;
  using Slot = QpList<&QpTransport::timer_link>;

  /// The first tick at which the deadline has passed.
  static std::uint64_t tick_of(std::uint64_t deadline) noexcept { return (deadline >> log_tick) + 1; }

  void insert(Qp& qp, std::uint64_t tick) noexcept {
    if (tick <= now_tick_) tick = now_tick_ + 1;
    if (tick >= now_tick_ + slots) tick = now_tick_ + slots - 1;
    qp.transport.timed = true;
    qp.transport.timer_tick = tick;
    wheel_[tick % slots].append(qp);
    ++count_;
  }
  void take(Qp& qp) noexcept {
    wheel_[qp.transport.timer_tick % slots].remove(qp);
    qp.transport.timed = false;
    --count_;
  }

  std::array<Slot, slots> wheel_{};
  std::uint64_t now_tick_ = 0;
  std::uint32_t count_ = 0;
};

}  // namespace chime::model
