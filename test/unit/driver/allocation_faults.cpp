// SPDX-License-Identifier: BSD-3-Clause
#include "allocation_faults.h"

#include <dlfcn.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace chime::net::test {
namespace {

/// Allocations until the one that fails; below 0: none.
std::atomic<int> remaining{-1};

bool refuse() {
  if (remaining.load(std::memory_order_relaxed) < 0) return false;
  return remaining.fetch_sub(1) == 1;
}

}  // namespace

AllocationFault::AllocationFault(int n) {
  remaining = n;
}
AllocationFault::~AllocationFault() {
  remaining = -1;
}
bool AllocationFault::happened() const {
  return remaining <= 0;
}

}  // namespace chime::net::test

// The allocators that the project uses, before those of the libraries.

void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return chime::net::test::refuse() ? nullptr : std::malloc(size != 0 ? size : 1);
}

void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return chime::net::test::refuse() ? nullptr : std::malloc(size != 0 ? size : 1);
}

extern "C" void* rte_zmalloc_socket(const char* type, std::size_t size, unsigned align, int socket) {
  using Function = void* (*)(const char*, std::size_t, unsigned, int);
  static const auto real = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "rte_zmalloc_socket"));
  return chime::net::test::refuse() ? nullptr : real(type, size, align, socket);
}
