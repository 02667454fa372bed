// SPDX-License-Identifier: BSD-3-Clause
#include "wire/mbuf_pool.h"

#include <array>

namespace chime::wire {

namespace {
constexpr unsigned cache_size = 128;
}

Result<MbufCache> MbufCache::make(rte_mempool& pool) noexcept {
  MbufCache made;
  made.pool_ = &pool;
  made.room_ = rte_pktmbuf_data_room_size(&pool) - std::uint32_t{RTE_PKTMBUF_HEADROOM};
  made.cache_.reset(rte_mempool_cache_create(cache_size, SOCKET_ID_ANY));
  if (!made.cache_) return fail(ENOMEM, "no memory for a mempool cache of %u mbufs", cache_size);
  return made;
}

void MbufCache::give(std::span<rte_mbuf*> packets) noexcept {
  std::array<void*, 64> mine;
  std::size_t n = 0;
  for (rte_mbuf* packet : packets) {
    while (packet) {
      rte_mbuf* next = packet->next;
      if (rte_mbuf* segment = rte_pktmbuf_prefree_seg(packet)) {
        if (segment->pool == pool_) {
          mine[n++] = segment;
        } else {
          rte_mbuf_raw_free(segment);
        }
        if (n == mine.size()) {
          rte_mempool_generic_put(pool_, mine.data(), static_cast<unsigned>(n), cache_.get());
          n = 0;
        }
      }
      packet = next;
    }
  }
  if (n != 0) rte_mempool_generic_put(pool_, mine.data(), static_cast<unsigned>(n), cache_.get());
}

}  // namespace chime::wire
