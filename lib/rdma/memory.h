// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <rte_mempool.h>

#include <cstddef>
#include <cstdint>

#include "base/array.h"
#include "base/error.h"
#include "hca/device.h"
#include "rdma/keys.h"

/// @file
/// Registered memory, and the descriptor by which another process reaches it.

namespace chime::rdma {

/// What the other end needs; travels by any means between hosts of one byte order, or as text.
struct MemoryDescriptor {
  std::uint64_t address;
  std::uint64_t length;
  std::uint32_t rkey;
  std::uint16_t rights;
  std::uint16_t check;  ///< of everything before; a torn, cut or byte-swapped descriptor fails it
};
static_assert(sizeof(MemoryDescriptor) == 24);

/// Sets `check`.
void seal(MemoryDescriptor& descriptor) noexcept;
/// Whether the descriptor is whole, and an access of that kind within it.
/// @param right remote_read, remote_write or remote_atomic; 0: only the descriptor itself
Result<> check(const MemoryDescriptor& descriptor, std::uint64_t offset, std::uint64_t length,
               std::uint32_t right) noexcept;

/// Ranges that were registered together, each with its key.
class Memory {
 public:
  struct Part {
    hca::MemoryRegion region;
    std::uint64_t address = 0;
    std::uint64_t length = 0;
  };

  static Result<Owned<Memory>> create(hca::Device& device, const hca::Object& pd, KeyBook& keys,
                                      void* address, std::size_t length, std::uint32_t rights) noexcept;
  /// All memory that the pool's objects lie in (the buffers that its mbufs are pinned to, where there are).
  static Result<Owned<Memory>> create(hca::Device& device, const hca::Object& pd, KeyBook& keys,
                                      rte_mempool& pool, std::uint32_t rights) noexcept;
  explicit Memory(std::uint32_t rights) noexcept : rights_(rights) {}
  ~Memory() { detach(); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  std::size_t parts() const noexcept { return parts_.size(); }
  const Part& part(std::size_t i) const noexcept { return parts_[i]; }
  /// The part with this address; nullptr: none, or the registration ended.
  const Part* find(std::uint64_t address) const noexcept;
  std::uint32_t rights() const noexcept { return rights_; }
  bool attached() const noexcept { return keys_ != nullptr; }
  MemoryDescriptor descriptor(std::size_t i) const noexcept;

  /// Ends the registration; keys go to the book's ended ones.
  void detach() noexcept;

 private:
  Result<> add(hca::Device& device, const hca::Object& pd, std::size_t i, std::uint64_t address,
               std::uint64_t length) noexcept;

  std::uint32_t rights_;
  KeyBook* keys_ = nullptr;
  Array<Part> parts_;
};

}  // namespace chime::rdma
