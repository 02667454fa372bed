// SPDX-License-Identifier: BSD-3-Clause
#include "allocations.h"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

thread_local unsigned fails_in = 0;
thread_local bool has_failed = false;

bool fails() noexcept {
  if (fails_in == 0 || --fails_in != 0) return false;
  has_failed = true;
  return true;
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

void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return fails() ? nullptr : std::malloc(size ? size : 1);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return fails() ? nullptr : std::malloc(size ? size : 1);
}
void* operator new(std::size_t size, std::align_val_t align, const std::nothrow_t&) noexcept {
  const auto at = static_cast<std::size_t>(align);
  return fails() ? nullptr : std::aligned_alloc(at, (size + at - 1) / at * at);
}
void* operator new[](std::size_t size, std::align_val_t align, const std::nothrow_t& tag) noexcept {
  return operator new(size, align, tag);
}
void* operator new(std::size_t size) {
  if (void* memory = std::malloc(size ? size : 1)) return memory;
  throw std::bad_alloc();
}
void* operator new[](std::size_t size) {
  return operator new(size);
}
void* operator new(std::size_t size, std::align_val_t align) {
  const auto at = static_cast<std::size_t>(align);
  if (void* memory = std::aligned_alloc(at, (size + at - 1) / at * at)) return memory;
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

extern "C" {
void* __real_rte_zmalloc(const char* type, std::size_t size, unsigned align);
void* __real_rte_zmalloc_socket(const char* type, std::size_t size, unsigned align, int socket);

void* __wrap_rte_zmalloc(const char* type, std::size_t size, unsigned align) {
  return fails() ? nullptr : __real_rte_zmalloc(type, size, align);
}
void* __wrap_rte_zmalloc_socket(const char* type, std::size_t size, unsigned align, int socket) {
  return fails() ? nullptr : __real_rte_zmalloc_socket(type, size, align, socket);
}
}
