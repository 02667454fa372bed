// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <rte_mempool.h>

#include <cstdint>

#include "base/array.h"
#include "base/error.h"

namespace chime::hca {

/// Bytes [start, end) of this process.
struct Range {
  std::uintptr_t start = 0;
  std::uintptr_t end = 0;
};

/// Sorted ranges, none touching another.
struct Ranges {
  Array<Range> storage;
  std::size_t count = 0;

  const Range* begin() const noexcept { return storage.begin(); }
  const Range* end() const noexcept { return storage.begin() + count; }
};

/// A pool of mbufs, as rte_pktmbuf_pool_create and its kin make them.
bool holds_mbufs(const rte_mempool& pool) noexcept;

/// Where a pool's mbufs have their data: the pool's own memory, or the external buffers that its mbufs are
/// pinned to (none as long as the pool's mbufs are not initialised).
Result<Ranges> ranges_of(rte_mempool& pool) noexcept;

}  // namespace chime::hca
