// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/array.h"
#include "base/error.h"
#include "hca/device.h"

/// @file
/// Memory that the card reads and writes: queue memory, and the mempools that mbufs come from.

namespace chime::hca {

/// EAL memory (hugepages where there are some) registered as one umem: rings and doorbell records of a queue.
class QueueMemory {
 public:
  QueueMemory() noexcept = default;
  QueueMemory(QueueMemory&& other) noexcept;
  QueueMemory& operator=(QueueMemory&& other) noexcept;
  ~QueueMemory();
  /// @param bytes rounded up to pages; zeroed
  static Result<QueueMemory> make(Device& device, std::size_t bytes, int socket, const char* what) noexcept;

  std::byte* at(std::size_t offset) const noexcept { return base_ + offset; }
  std::uint32_t umem_id() const noexcept { return umem_.id(); }

 private:
  std::byte* base_ = nullptr;
  Umem umem_;
};

/// One contiguous range and its key, in host order of the key as the WQE wants it (big-endian).
struct KeyRange {
  std::uintptr_t start = 0;
  std::uintptr_t end = 0;  ///< one past the last byte
  std::uint32_t lkey_be = 0;
  std::uint32_t reserved = 0;
};

/// All ranges registered for one device, sorted by start. Plain data in EAL memory, replaced as a whole:
/// readers never lock, and see either the old or the new one.
struct KeyTable {
  std::uint32_t count;
  std::uint32_t generation;
  KeyRange ranges[];
};

/// A queue's short memory of keys: the last ranges used. Plain data, one owner.
struct KeyCache {
  static constexpr unsigned entries = 4;
  KeyRange range[entries];
  unsigned next = 0;
  std::uint32_t generation = 0;
};

/// The device's registered mempools. Registration happens on control threads (existing pools at open, later
/// ones by DPDK's mempool events); look-ups on any lcore without a lock.
class MemoryMap {
 public:
  /// The part that datapaths use; plain data in EAL memory, valid in secondary processes.
  struct Shared {
    std::atomic<const KeyTable*> table;
  };
  static constexpr std::uint32_t no_key = 0xffffffff;

  virtual ~MemoryMap() = default;
  /// Registers every existing mempool with mbufs and follows the coming and going of others.
  static Result<Owned<MemoryMap>> create(Device& device, const Object& pd) noexcept;
  virtual Shared& shared() noexcept = 0;
  /// Makes sure that this pool is there (Rx queue set-up).
  virtual Result<> add(rte_mempool& pool) noexcept = 0;

  /// @return the key of the range around `address`, as the WQE wants it, or no_key
  static std::uint32_t find(const Shared& shared, KeyCache& cache, std::uintptr_t address) noexcept {
    const KeyTable* table = shared.table.load(std::memory_order_acquire);
    if (cache.generation == table->generation) [[likely]] {
      for (const KeyRange& range : cache.range) {
        if (address - range.start < range.end - range.start) [[likely]]
          return range.lkey_be;
      }
    }
    return find_slowly(*table, cache, address);
  }

 private:
  static std::uint32_t find_slowly(const KeyTable& table, KeyCache& cache, std::uintptr_t address) noexcept;
};

}  // namespace chime::hca
