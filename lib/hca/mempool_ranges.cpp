// SPDX-License-Identifier: BSD-3-Clause
#include "hca/mempool_ranges.h"

#include <rte_mbuf.h>

#include <algorithm>

namespace chime::hca {
namespace {

const rte_pktmbuf_pool_private& private_of(const rte_mempool& pool) noexcept {
  // rte_mempool_get_priv() takes a pointer to non-const, and reads only.
  return *static_cast<const rte_pktmbuf_pool_private*>(rte_mempool_get_priv(const_cast<rte_mempool*>(&pool)));
}

bool pinned(const rte_mempool& pool) noexcept {
  return private_of(pool).flags & RTE_PKTMBUF_POOL_F_PINNED_EXT_BUF;
}

void add(Ranges& ranges, const void* start, std::size_t length) noexcept {
  if (!start || length == 0 || ranges.count == ranges.storage.size()) return;
  const auto address = reinterpret_cast<std::uintptr_t>(start);
  ranges.storage[ranges.count++] = {address, address + length};
}

void add_chunk(rte_mempool*, void* argument, rte_mempool_memhdr* chunk, unsigned) {
  add(*static_cast<Ranges*>(argument), chunk->addr, chunk->len);
}

void add_buffer(rte_mempool*, void* argument, void* object, unsigned) {
  const auto* mbuf = static_cast<const rte_mbuf*>(object);
  add(*static_cast<Ranges*>(argument), mbuf->buf_addr, mbuf->buf_len);
}

void merge(Ranges& ranges) noexcept {
  std::sort(ranges.storage.begin(), ranges.storage.begin() + ranges.count,
            [](const Range& a, const Range& b) { return a.start < b.start; });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < ranges.count; ++i) {
    const Range next = ranges.storage[i];
    if (kept > 0 && next.start <= ranges.storage[kept - 1].end) {
      ranges.storage[kept - 1].end = std::max(ranges.storage[kept - 1].end, next.end);
    } else {
      ranges.storage[kept++] = next;
    }
  }
  ranges.count = kept;
}

}  // namespace

bool holds_mbufs(const rte_mempool& pool) noexcept {
  if (pool.private_data_size < sizeof(rte_pktmbuf_pool_private)) return false;
  const auto& of_mbufs = private_of(pool);
  const std::size_t mbuf = sizeof(rte_mbuf) + of_mbufs.mbuf_priv_size;
  return pool.elt_size ==
         mbuf + (pinned(pool) ? sizeof(rte_mbuf_ext_shared_info) : of_mbufs.mbuf_data_room_size);
}

Result<Ranges> ranges_of(rte_mempool& pool) noexcept {
  const std::size_t most = pinned(pool) ? pool.populated_size : pool.nb_mem_chunks;
  auto storage = Array<Range>::make(most, "the memory chunks of a mempool");
  if (!storage) return fail(storage.error());
  Ranges ranges{std::move(*storage), 0};
  if (pinned(pool)) {
    rte_mempool_obj_iter(&pool, add_buffer, &ranges);
  } else {
    rte_mempool_mem_iter(&pool, add_chunk, &ranges);
  }
  merge(ranges);
  return ranges;
}

}  // namespace chime::hca
