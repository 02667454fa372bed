// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace chime::test {

/// While one lives, the n-th allocation by the nothrow forms of new, which is what lib/ uses, fails; 1 is the
/// next.
class FailingAllocation {
 public:
  explicit FailingAllocation(unsigned n) noexcept;
  ~FailingAllocation();
  FailingAllocation(const FailingAllocation&) = delete;
  FailingAllocation& operator=(const FailingAllocation&) = delete;

  /// Whether there were so many.
  bool failed() const noexcept;
};

}  // namespace chime::test
