// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <rte_spinlock.h>

#include <cstddef>
#include <cstdint>

#include "base/array.h"
#include "base/error.h"

/// @file
/// What a port remembers of its memory keys, ended ones too: so that a key used after its end is caught where
/// a worker is checked, and named when an error comes back.

namespace chime::rdma {

/// Rights of a memory range beside reading it locally.
inline constexpr std::uint32_t local_write = 0x1;
inline constexpr std::uint32_t remote_read = 0x2;
inline constexpr std::uint32_t remote_write = 0x4;
inline constexpr std::uint32_t remote_atomic = 0x8;
inline constexpr std::uint32_t all_rights = 0xf;

struct KeyRecord {
  std::uint32_t key = 0;
  std::uint32_t rights = 0;
  std::uint64_t address = 0;
  std::uint64_t length = 0;
  bool live = false;
};

/// Keys of one port. Thread-safe: a lock, held for a search. Control path, and posting of checked workers.
class KeyBook {
 public:
  KeyBook() noexcept { rte_spinlock_init(&lock_); }
  KeyBook(const KeyBook&) = delete;
  KeyBook& operator=(const KeyBook&) = delete;

  Result<> add(const KeyRecord& record) noexcept;
  void end(std::uint32_t key) noexcept;
  /// @return whether the key was ever in the book; a live one before an ended one
  bool find(std::uint32_t key, KeyRecord& record) const noexcept;

 private:
  KeyRecord* newest(std::uint32_t key, bool live) const noexcept;

  mutable rte_spinlock_t lock_;
  mutable Array<KeyRecord> records_;
  std::size_t count_ = 0;
};

/// Whether the card could read (or write) these bytes by that key.
bool holds_for_card(const KeyBook& book, std::uint32_t lkey, std::uint64_t address, std::uint64_t length,
                    bool write) noexcept;

}  // namespace chime::rdma
