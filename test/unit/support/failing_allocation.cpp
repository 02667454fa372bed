// SPDX-License-Identifier: BSD-3-Clause
#include "failing_allocation.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace chime::test {
namespace {

std::atomic<unsigned> fails_in{0};
std::atomic<bool> has_failed{false};
std::atomic<bool> of_process{false};
thread_local bool of_thread = false;

}  // namespace

FailingAllocation::FailingAllocation(unsigned n, Of of) noexcept {
  has_failed = false;
  of_thread = of == Of::this_thread;
  of_process = of == Of::process;
  fails_in = n;
}
FailingAllocation::~FailingAllocation() {
  fails_in = 0;
  of_thread = false;
  of_process = false;
}
bool FailingAllocation::failed() const noexcept {
  return has_failed;
}

bool allocation_fails() noexcept {
  if (!of_thread && !of_process.load(std::memory_order_relaxed)) return false;
  unsigned left = fails_in.load(std::memory_order_relaxed);
  while (left != 0 && !fails_in.compare_exchange_weak(left, left - 1)) {
  }
  if (left != 1) return false;
  has_failed = true;
  return true;
}

}  // namespace chime::test

// All forms are replaced: the sanitizers want one allocator for allocation and release.
#if !CHIME_THREAD_SANITIZER

using chime::test::allocation_fails;

namespace {

void* allocate(std::size_t size) noexcept {
  return std::malloc(size ? size : 1);
}

void* allocate(std::size_t size, std::align_val_t align) noexcept {
  const auto at = static_cast<std::size_t>(align);
  return std::aligned_alloc(at, (size + at - 1) / at * at);
}

}  // namespace

void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return allocation_fails() ? nullptr : allocate(size);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return allocation_fails() ? nullptr : allocate(size);
}
void* operator new(std::size_t size, std::align_val_t align, const std::nothrow_t&) noexcept {
  return allocation_fails() ? nullptr : allocate(size, align);
}
void* operator new[](std::size_t size, std::align_val_t align, const std::nothrow_t&) noexcept {
  return allocation_fails() ? nullptr : allocate(size, align);
}
void* operator new(std::size_t size) {
  if (void* memory = allocate(size)) return memory;
  throw std::bad_alloc();
}
void* operator new[](std::size_t size) {
  return operator new(size);
}
void* operator new(std::size_t size, std::align_val_t align) {
  if (void* memory = allocate(size, align)) return memory;
  throw std::bad_alloc();
}
void* operator new[](std::size_t size, std::align_val_t align) {
  return operator new(size, align);
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
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
#endif
