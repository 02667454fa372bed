// SPDX-License-Identifier: BSD-3-Clause
#include <dlfcn.h>

#include <cstddef>

#include "failing_allocation.h"

// EAL's allocators, found before those of its library.

extern "C" {

void* rte_zmalloc_socket(const char* type, std::size_t size, unsigned align, int socket) {
  using Function = void* (*)(const char*, std::size_t, unsigned, int);
  static const auto real = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "rte_zmalloc_socket"));
  return chime::test::allocation_fails() ? nullptr : real(type, size, align, socket);
}

void* rte_zmalloc(const char* type, std::size_t size, unsigned align) {
  using Function = void* (*)(const char*, std::size_t, unsigned);
  static const auto real = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "rte_zmalloc"));
  return chime::test::allocation_fails() ? nullptr : real(type, size, align);
}
}
