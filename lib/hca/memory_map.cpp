// SPDX-License-Identifier: BSD-3-Clause
#include <rte_errno.h>
#include <rte_log.h>
#include <rte_malloc.h>
#include <rte_mempool.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <new>

#include "hca/memory.h"
#include "hca/mempool_ranges.h"
#include "prm/be.h"

namespace chime::hca {
namespace {

/// A KeyTable in EAL memory. One that was replaced is kept until the map ends: a reader may still hold it.
struct TableBlock {
  TableBlock* older;
  std::uint64_t reserved;  // the table behind it stays aligned

  KeyTable& table() noexcept { return *reinterpret_cast<KeyTable*>(this + 1); }

  static TableBlock* make(std::size_t ranges) noexcept {
    const std::size_t bytes = sizeof(TableBlock) + sizeof(KeyTable) + ranges * sizeof(KeyRange);
    return static_cast<TableBlock*>(rte_zmalloc("chime_keys", bytes, RTE_CACHE_LINE_SIZE));
  }
};
static_assert(sizeof(TableBlock) % alignof(KeyTable) == 0);

struct Registration {
  MemoryRegion region;
  KeyRange range;
};

/// One mempool. Its registrations end with it.
struct Pool {
  enum class State : std::uint8_t { found, registering, ready };

  rte_mempool* mempool = nullptr;
  State state = State::found;
  bool gone = false;  ///< destroyed while it was being registered
  Ranges ranges;
  Array<Registration> registrations;
  Pool* next = nullptr;
};

/// Locks: mutex_ guards the list and the table, and is never held while the device works: DPDK calls the
/// mempool events with locks of its own held, and the device's thread may create mempools too.
class MempoolMap final : public MemoryMap {
 public:
  MempoolMap(Device& device, const Object& pd, int log_type) noexcept
      : device_(device), pd_(pd), log_type_(log_type) {}
  ~MempoolMap() override;

  Result<> start() noexcept;
  Shared& shared() noexcept override { return *shared_; }
  Result<> add(rte_mempool& mempool) noexcept override;

 private:
  static void on_event(rte_mempool_event event, rte_mempool* mempool, void* self);
  static void on_walk(rte_mempool* mempool, void* self);

  Result<> note(rte_mempool& mempool) noexcept;
  Result<> register_all() noexcept;
  Result<> register_pool(Pool& pool, std::unique_lock<std::mutex>& lock) noexcept;
  Result<Array<Registration>> make_registrations(const Pool& pool) noexcept;
  void remove(rte_mempool& mempool) noexcept;

  Pool* find(const rte_mempool& mempool) noexcept;
  Owned<Pool> unlink(Pool& pool) noexcept;
  Result<> publish() noexcept;

  Device& device_;
  const Object& pd_;
  const int log_type_;
  bool follows_events_ = false;
  std::mutex mutex_;
  std::condition_variable registered_;
  Pool* pools_ = nullptr;
  Error walk_error_;
  bool walk_failed_ = false;
  Shared* shared_ = nullptr;
  TableBlock* newest_ = nullptr;
};

MempoolMap::~MempoolMap() {
  if (follows_events_) rte_mempool_event_callback_unregister(on_event, this);
  while (pools_) unlink(*pools_).reset();
  while (newest_) {
    TableBlock* older = newest_->older;
    rte_free(newest_);
    newest_ = older;
  }
  rte_free(shared_);
}

Result<> MempoolMap::start() noexcept {
  void* memory = rte_zmalloc("chime_keys", sizeof(Shared), RTE_CACHE_LINE_SIZE);
  if (!memory) return fail(ENOMEM, "no EAL memory for the table of memory keys (%zu bytes)", sizeof(Shared));
  shared_ = new (memory) Shared{};
  if (auto first = publish(); !first) return first;
  // Events first: a pool that comes between the two is found twice, and registered once.
  if (rte_mempool_event_callback_register(on_event, this) != 0) {
    return fail(rte_errno, "cannot follow the coming and going of mempools: %s", rte_strerror(rte_errno));
  }
  follows_events_ = true;
  rte_mempool_walk(on_walk, this);
  if (walk_failed_) return fail(walk_error_);
  return register_all();
}

void MempoolMap::on_walk(rte_mempool* mempool, void* self) {
  auto& map = *static_cast<MempoolMap*>(self);
  if (map.walk_failed_ || !holds_mbufs(*mempool)) return;
  const std::scoped_lock lock(map.mutex_);
  if (auto noted = map.note(*mempool); !noted) {
    map.walk_error_ = noted.error();
    map.walk_failed_ = true;
  }
}

void MempoolMap::on_event(rte_mempool_event event, rte_mempool* mempool, void* self) {
  auto& map = *static_cast<MempoolMap*>(self);
  if (event == RTE_MEMPOOL_EVENT_DESTROY) {
    map.remove(*mempool);
  } else if (holds_mbufs(*mempool)) {
    if (auto added = map.add(*mempool); !added) {
      rte_log(RTE_LOG_ERR, static_cast<std::uint32_t>(map.log_type_),
              "mempool %s: its packets can't be sent or received: %s\n", mempool->name, added.error().text);
    }
  }
}

/// Puts the pool on the list, to be registered. The pool is alive during the call; mutex_ is held.
Result<> MempoolMap::note(rte_mempool& mempool) noexcept {
  if (find(mempool)) return {};
  auto ranges = ranges_of(mempool);
  if (!ranges) return fail(ranges.error());
  auto pool = make_owned<Pool>("a mempool's registration");
  if (!pool) return fail(pool.error());
  (*pool)->mempool = &mempool;
  (*pool)->ranges = std::move(*ranges);
  (*pool)->next = pools_;
  pools_ = pool->release();
  return {};
}

Result<> MempoolMap::register_all() noexcept {
  std::unique_lock lock(mutex_);
  for (;;) {
    Pool* pool = pools_;
    while (pool && pool->state != Pool::State::found) pool = pool->next;
    if (!pool) return {};
    if (auto done = register_pool(*pool, lock); !done) return done;
  }
}

Result<> MempoolMap::add(rte_mempool& mempool) noexcept {
  if (!holds_mbufs(mempool)) {
    return fail(EINVAL, "mempool %s does not hold mbufs; rte_pktmbuf_pool_create makes one that does",
                mempool.name);
  }
  std::unique_lock lock(mutex_);
  Pool* pool = find(mempool);
  while (pool && pool->state == Pool::State::registering) {
    registered_.wait(lock);
    pool = find(mempool);
  }
  // Buffers outside of the pool are known only when the mbufs are initialised, after the event.
  if (pool && pool->state == Pool::State::ready && pool->registrations.empty()) {
    unlink(*pool).reset();
    pool = nullptr;
  }
  if (pool && pool->state == Pool::State::ready) return {};
  if (!pool) {
    if (auto noted = note(mempool); !noted) return noted;
    pool = find(mempool);
  }
  return register_pool(*pool, lock);
}

/// `lock` holds mutex_, and is let go while the device works. On failure the pool is off the list.
Result<> MempoolMap::register_pool(Pool& pool, std::unique_lock<std::mutex>& lock) noexcept {
  pool.state = Pool::State::registering;
  lock.unlock();
  auto made = make_registrations(pool);
  lock.lock();
  Result<> result;
  if (made && !pool.gone) {
    pool.registrations = std::move(*made);
    pool.state = Pool::State::ready;
    result = publish();
  } else if (!made) {
    result = fail(made.error());
  }
  Owned<Pool> discarded;
  if (!result || pool.gone) discarded = unlink(pool);
  registered_.notify_all();
  lock.unlock();
  discarded.reset();
  lock.lock();
  return result;
}

Result<Array<Registration>> MempoolMap::make_registrations(const Pool& pool) noexcept {
  auto made = Array<Registration>::make(pool.ranges.count, "a mempool's registrations");
  if (!made) return made;
  std::size_t i = 0;
  for (const Range& range : pool.ranges) {
    auto region = device_.register_memory(pd_, reinterpret_cast<void*>(range.start), range.end - range.start,
                                          {.local_write = true});
    if (!region) return fail(region.error());
    Registration& registration = (*made)[i++];
    registration.range = {range.start, range.end, prm::host_to_be(region->lkey), 0};
    registration.region = std::move(*region);
  }
  return made;
}

void MempoolMap::remove(rte_mempool& mempool) noexcept {
  Owned<Pool> removed;
  {
    const std::scoped_lock lock(mutex_);
    Pool* pool = find(mempool);
    if (!pool) return;
    if (pool->state == Pool::State::registering) {
      pool->gone = true;
      pool->mempool = nullptr;  // another may come to its address
      return;
    }
    removed = unlink(*pool);
    // Without memory for a new table the old one stays: it names a key that has gone for addresses that no
    // mbuf has any more.
    if (auto published = publish(); !published) {
      rte_log(RTE_LOG_WARNING, static_cast<std::uint32_t>(log_type_), "%s\n", published.error().text);
    }
  }
}

Pool* MempoolMap::find(const rte_mempool& mempool) noexcept {
  Pool* pool = pools_;
  while (pool && pool->mempool != &mempool) pool = pool->next;
  return pool;
}

Owned<Pool> MempoolMap::unlink(Pool& pool) noexcept {
  Pool** link = &pools_;
  while (*link != &pool) link = &(*link)->next;
  *link = pool.next;
  return Owned<Pool>(&pool);
}

Result<> MempoolMap::publish() noexcept {
  std::size_t count = 0;
  for (Pool* pool = pools_; pool; pool = pool->next) {
    if (pool->state == Pool::State::ready) count += pool->registrations.size();
  }
  TableBlock* block = TableBlock::make(count);
  if (!block) return fail(ENOMEM, "no EAL memory for the table of %zu memory keys", count);
  KeyTable& table = block->table();
  for (Pool* pool = pools_; pool; pool = pool->next) {
    if (pool->state != Pool::State::ready) continue;
    for (const Registration& registration : pool->registrations) {
      table.ranges[table.count++] = registration.range;
    }
  }
  std::sort(table.ranges, table.ranges + table.count,
            [](const KeyRange& a, const KeyRange& b) { return a.start < b.start; });
  table.generation = newest_ ? newest_->table().generation + 1 : 1;
  block->older = newest_;
  newest_ = block;
  shared_->table.store(&table, std::memory_order_release);
  return {};
}

}  // namespace

Result<Owned<MemoryMap>> MemoryMap::create(Device& device, const Object& pd) noexcept {
  const int log_type = rte_log_register_type_and_pick_level("pmd.net.chime.memory", RTE_LOG_NOTICE);
  if (log_type < 0) return fail(-log_type, "cannot register the log type pmd.net.chime.memory");
  auto map = make_owned<MempoolMap>("the map of registered memory", device, pd, log_type);
  if (!map) return fail(map.error());
  if (auto started = (*map)->start(); !started) return fail(started.error());
  return Owned<MemoryMap>(std::move(*map));
}

std::uint32_t MemoryMap::find_slowly(const KeyTable& table, KeyCache& cache,
                                     std::uintptr_t address) noexcept {
  if (cache.generation != table.generation) {
    cache = {};
    cache.generation = table.generation;
  }
  const KeyRange* end = table.ranges + table.count;
  const KeyRange* after = std::upper_bound(table.ranges, end, address,
                                           [](std::uintptr_t a, const KeyRange& r) { return a < r.start; });
  if (after == table.ranges || address >= (after - 1)->end) return no_key;
  cache.range[cache.next] = after[-1];
  cache.next = (cache.next + 1) % KeyCache::entries;
  return after[-1].lkey_be;
}

}  // namespace chime::hca
