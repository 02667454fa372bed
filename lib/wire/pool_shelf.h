// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <rte_ethdev.h>
#include <rte_mempool.h>

#include <array>
#include <cstdint>
#include <mutex>

#include "base/error.h"

namespace chime::wire {

/// The mempools of a process's ethdev wires. A pool outlives its wire: a stopped ethdev's queue still names
/// it, and whoever the ethdev handed mbufs to may hold some. So it goes back to the shelf, for the next wire
/// of that shape, once every mbuf is home. Thread-safe.
class PoolShelf {
 public:
  PoolShelf() noexcept = default;
  /// Frees those that nothing refers to any more.
  ~PoolShelf();
  PoolShelf(const PoolShelf&) = delete;
  PoolShelf& operator=(const PoolShelf&) = delete;

  /// @param port  the ethdev whose queue will name it
  /// @param count mbufs
  /// @param room  bytes of an mbuf, behind the headroom
  Result<rte_mempool*> take(std::uint16_t port, unsigned count, std::uint32_t room) noexcept;
  void give_back(rte_mempool* pool) noexcept;
  /// The ethdev is another one now: the wire that holds the pool has it again, under this number.
  void renumber(rte_mempool* pool, std::uint16_t port) noexcept;
  /// The ethdev has gone, and its queues with it.
  void forget_port(std::uint16_t port) noexcept;

 private:
  static constexpr std::uint16_t no_port = RTE_MAX_ETHPORTS;
  struct Place {
    rte_mempool* pool = nullptr;
    std::uint32_t room = 0;
    std::uint16_t port = no_port;
    bool taken = false;
  };

  std::mutex lock_;
  std::array<Place, std::size_t{2} * RTE_MAX_ETHPORTS> places_;
  unsigned made_ = 0;
};

}  // namespace chime::wire
