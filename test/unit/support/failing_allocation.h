// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "base/thread_sanitizer.h"

/// @file
/// Makes the n-th allocation fail: of the heap by the nothrow forms of new, which is what lib/ and drivers/
/// use; and of EAL memory by rte_zmalloc() and rte_zmalloc_socket() where failing_eal.cpp is linked.

namespace chime::test {

class FailingAllocation {
 public:
  enum class Of : std::uint8_t { this_thread, process };

  /// Whether any can be made to fail: ThreadSanitizer has an allocator of its own and takes no other.
  static constexpr bool possible = CHIME_THREAD_SANITIZER == 0;

  /// @param n the n-th allocation from now fails; 1 is the next
  explicit FailingAllocation(unsigned n, Of of = Of::this_thread) noexcept;
  ~FailingAllocation();
  FailingAllocation(const FailingAllocation&) = delete;
  FailingAllocation& operator=(const FailingAllocation&) = delete;

  /// Whether there were so many.
  bool failed() const noexcept;
};

/// For allocators: counts one allocation. @return whether it must fail
bool allocation_fails() noexcept;

}  // namespace chime::test
