// SPDX-License-Identifier: BSD-3-Clause
#include "wire/pool_shelf.h"

#include <rte_errno.h>
#include <rte_mbuf.h>

#include <cstdio>

namespace chime::wire {

PoolShelf::~PoolShelf() {
  for (Place& place : places_) {
    if (place.pool && place.port == no_port && rte_mempool_full(place.pool)) rte_mempool_free(place.pool);
  }
}

Result<rte_mempool*> PoolShelf::take(std::uint16_t port, unsigned count, std::uint32_t room) noexcept {
  std::lock_guard guard(lock_);
  Place* empty = nullptr;
  for (Place& place : places_) {
    if (!place.pool) {
      if (!empty) empty = &place;
      continue;
    }
    if (!place.taken && place.room == room && place.pool->size >= count && rte_mempool_full(place.pool)) {
      place.taken = true;
      place.port = port;
      return place.pool;
    }
  }
  if (!empty) {
    return fail(ENOSPC, "the mempools of %zu wires are in use or have mbufs out", places_.size());
  }
  char name[RTE_MEMPOOL_NAMESIZE];
  do {
    std::snprintf(name, sizeof name, "chime_wire_%u", made_++);
  } while (rte_mempool_lookup(name));
  rte_mempool* pool = rte_pktmbuf_pool_create(
      name, count, 0, 0, static_cast<std::uint16_t>(room + RTE_PKTMBUF_HEADROOM), SOCKET_ID_ANY);
  if (!pool) {
    return fail(ENOMEM, "no memory for a mempool of %u mbufs of %u bytes (%s); give EAL more", count, room,
                rte_strerror(rte_errno));
  }
  *empty = {pool, room, port, true};
  return pool;
}

void PoolShelf::give_back(rte_mempool* pool) noexcept {
  std::lock_guard guard(lock_);
  for (Place& place : places_) {
    if (place.pool == pool) place.taken = false;
  }
}

void PoolShelf::renumber(rte_mempool* pool, std::uint16_t port) noexcept {
  std::lock_guard guard(lock_);
  for (Place& place : places_) {
    if (place.pool == pool) place.port = port;
  }
}

void PoolShelf::forget_port(std::uint16_t port) noexcept {
  std::lock_guard guard(lock_);
  for (Place& place : places_) {
    if (place.port == port) place.port = no_port;
  }
}

}  // namespace chime::wire
