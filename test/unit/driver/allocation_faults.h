// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace chime::net::test {

/// Makes one allocation of this process fail: heap memory asked for without exceptions, or EAL memory.
class AllocationFault {
 public:
  /// @param n the n-th allocation from now fails; 1 is the next
  explicit AllocationFault(int n);
  ~AllocationFault();
  AllocationFault(const AllocationFault&) = delete;
  AllocationFault& operator=(const AllocationFault&) = delete;
  /// Whether there were that many.
  bool happened() const;
};

}  // namespace chime::net::test
