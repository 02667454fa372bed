// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <rte_malloc.h>

#include <cstddef>
#include <memory>
#include <type_traits>

#include "base/error.h"

namespace chime::rdma {

struct EalFree {
  void operator()(void* memory) const noexcept { rte_free(memory); }
};

/// Plain data in EAL memory, on cache lines of its own; zeroed.
template <class T>
using EalArray = std::unique_ptr<T[], EalFree>;

template <class T>
Result<EalArray<T>> make_eal_array(std::size_t count, int socket, const char* what) noexcept {
  static_assert(std::is_trivially_destructible_v<T>);
  const std::size_t bytes = count * sizeof(T);
  void* memory = rte_zmalloc_socket(what, bytes, 64, socket);
  if (memory == nullptr) {
    return fail(ENOMEM, "no EAL memory for %s: %zu bytes on NUMA node %d; give EAL more (-m, --socket-mem)",
                what, bytes, socket);
  }
  return EalArray<T>(static_cast<T*>(memory));
}

}  // namespace chime::rdma
