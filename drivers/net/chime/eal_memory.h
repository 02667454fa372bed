// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <rte_malloc.h>

#include <cstddef>
#include <type_traits>
#include <utility>

#include "base/error.h"

namespace chime::net {

/// Plain data in EAL memory, where other processes of the group find it too: zeroed, on cache lines of its
/// own.
template <class T>
class EalMemory {
  static_assert(std::is_trivially_destructible_v<T>);

 public:
  EalMemory() noexcept = default;
  EalMemory(EalMemory&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  EalMemory& operator=(EalMemory&& other) noexcept {
    std::swap(data_, other.data_);
    return *this;
  }
  ~EalMemory() { rte_free(data_); }

  /// @return ENOMEM naming `what`
  static Result<EalMemory> make(std::size_t count, int socket, const char* what) noexcept {
    EalMemory memory;
    memory.data_ = static_cast<T*>(rte_zmalloc_socket(what, count * sizeof(T), RTE_CACHE_LINE_SIZE, socket));
    if (memory.data_ == nullptr)
      return fail(ENOMEM, "no EAL memory for %s (%zu bytes on socket %d)", what, count * sizeof(T), socket);
    return memory;
  }

  T* get() const noexcept { return data_; }
  T* operator->() const noexcept { return data_; }
  T& operator*() const noexcept { return *data_; }

 private:
  T* data_ = nullptr;
};

}  // namespace chime::net
