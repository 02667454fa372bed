// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <cstdint>
#include <memory>
#include <span>

#include "base/error.h"

namespace chime::wire {

/// A wire's end of its mempool: takes and gives mbufs in bulk through a cache of its own, for the stepping
/// thread is no lcore and has none otherwise. One thread at a time.
class MbufCache {
 public:
  static Result<MbufCache> make(rte_mempool& pool) noexcept;
  MbufCache() noexcept = default;

  /// @return false: there are fewer, and none was taken
  bool take(std::span<rte_mbuf*> mbufs) noexcept {
    return rte_mempool_generic_get(pool_, reinterpret_cast<void**>(mbufs.data()),
                                   static_cast<unsigned>(mbufs.size()), cache_.get()) == 0;
  }
  /// Frees whole packets, of whichever pools.
  void give(std::span<rte_mbuf*> packets) noexcept;
  /// Everything the cache holds goes back to the pool.
  void flush() noexcept {
    if (cache_) rte_mempool_cache_flush(cache_.get(), pool_);
  }

  std::uint32_t room() const noexcept { return room_; }  ///< bytes of one mbuf, behind the headroom

 private:
  struct Free {
    void operator()(rte_mempool_cache* cache) const noexcept { rte_mempool_cache_free(cache); }
  };
  rte_mempool* pool_ = nullptr;
  std::uint32_t room_ = 0;
  std::unique_ptr<rte_mempool_cache, Free> cache_;
};

}  // namespace chime::wire
