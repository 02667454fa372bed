// SPDX-License-Identifier: BSD-3-Clause
#include "rx_pool.h"

#include <rte_mbuf.h>

namespace chime::net {
namespace {

/// Visits every piece of memory that the card may write to.
struct Survey {
  const hca::MemoryMap::Shared& keys;
  hca::KeyCache cache{};
  std::uint32_t first = hca::MemoryMap::no_key;
  bool many = false;
  bool unknown = false;

  void visit(std::uintptr_t address) noexcept {
    const std::uint32_t key = hca::MemoryMap::find(keys, cache, address);
    if (key == hca::MemoryMap::no_key) unknown = true;
    if (first == hca::MemoryMap::no_key) first = key;
    if (key != first) many = true;
  }
  static void chunk(rte_mempool* /*pool*/, void* self, rte_mempool_memhdr* memory,
                    unsigned /*index*/) noexcept {
    auto& survey = *static_cast<Survey*>(self);
    const auto start = reinterpret_cast<std::uintptr_t>(memory->addr);
    survey.visit(start);
    survey.visit(start + memory->len - 1);
  }
  static void buffer(rte_mempool* /*pool*/, void* self, void* object, unsigned /*index*/) noexcept {
    static_cast<Survey*>(self)->visit(
        reinterpret_cast<std::uintptr_t>(static_cast<rte_mbuf*>(object)->buf_addr));
  }
};

}  // namespace

Result<PoolLayout> layout_of(rte_mempool& pool, const hca::MemoryMap::Shared& keys) noexcept {
  const std::uint32_t room = rte_pktmbuf_data_room_size(&pool);
  if (room <= RTE_PKTMBUF_HEADROOM) {
    return fail(EINVAL, "mempool %s: a data room of %u bytes holds nothing behind the headroom of %d",
                pool.name, room, RTE_PKTMBUF_HEADROOM);
  }
  const bool external = (rte_pktmbuf_priv_flags(&pool) & RTE_PKTMBUF_POOL_F_PINNED_EXT_BUF) != 0;
  Survey survey{.keys = keys};
  if (external)
    rte_mempool_obj_iter(&pool, Survey::buffer, &survey);
  else
    rte_mempool_mem_iter(&pool, Survey::chunk, &survey);
  if (survey.unknown) {
    return fail(EFAULT, "mempool %s: some of its memory is not registered with the device", pool.name);
  }
  PoolLayout layout{};
  layout.buffer_step =
      static_cast<std::uint32_t>(sizeof(rte_mbuf)) + rte_pktmbuf_priv_size(&pool) + RTE_PKTMBUF_HEADROOM;
  layout.buffer_size = room - RTE_PKTMBUF_HEADROOM;
  layout.lkey_be = survey.first;
  layout.read_buf_addr = external;
  layout.many_keys = survey.many;
  return layout;
}

}  // namespace chime::net
