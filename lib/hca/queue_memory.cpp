// SPDX-License-Identifier: BSD-3-Clause
#include <rte_malloc.h>

#include <utility>

#include "hca/memory.h"

namespace chime::hca {
namespace {

constexpr std::size_t page = 4096;

}  // namespace

QueueMemory::QueueMemory(QueueMemory&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)), umem_(std::move(other.umem_)) {}

QueueMemory& QueueMemory::operator=(QueueMemory&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(umem_, other.umem_);
  return *this;
}

QueueMemory::~QueueMemory() {
  umem_ = {};  // the card lets go of the pages before they are anybody's
  rte_free(base_);
}

Result<QueueMemory> QueueMemory::make(Device& device, std::size_t bytes, int socket,
                                      const char* what) noexcept {
  bytes = (bytes + page - 1) & ~(page - 1);
  QueueMemory memory;
  memory.base_ = static_cast<std::byte*>(rte_zmalloc_socket(what, bytes, page, socket));
  if (!memory.base_) {
    return fail(ENOMEM, "no EAL memory for %s: %zu bytes on NUMA node %d; give EAL more (-m, --socket-mem)",
                what, bytes, socket);
  }
  auto umem = device.register_umem(memory.base_, bytes, {.local_write = true});
  if (!umem) return fail(umem.error().within("memory of %s", what));
  memory.umem_ = std::move(*umem);
  return memory;
}

}  // namespace chime::hca
