// SPDX-License-Identifier: BSD-3-Clause
#include "failing_allocation.h"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

unsigned fails_in = 0;
bool has_failed = false;

bool fails() noexcept {
  if (fails_in == 0 || --fails_in != 0) return false;
  has_failed = true;
  return true;
}

void* allocate(std::size_t size) noexcept {
  return std::malloc(size ? size : 1);
}

}  // namespace

namespace chime::test {

FailingAllocation::FailingAllocation(unsigned n) noexcept {
  fails_in = n;
  has_failed = false;
}
FailingAllocation::~FailingAllocation() {
  fails_in = 0;
}
bool FailingAllocation::failed() const noexcept {
  return has_failed;
}

}  // namespace chime::test

// The plain forms are replaced too: the sanitizers want one allocator for both.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return fails() ? nullptr : allocate(size);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return fails() ? nullptr : allocate(size);
}
void* operator new(std::size_t size) {
  if (void* memory = allocate(size)) return memory;
  throw std::bad_alloc();
}
void* operator new[](std::size_t size) {
  if (void* memory = allocate(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, const std::nothrow_t&) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, const std::nothrow_t&) noexcept {
  std::free(memory);
}
