// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "base/error.h"

/// @file
/// Memory of this process's heap that may be refused: everything that grows is allocated here, and a
/// refusal is a Result, never an exception. (Memory that a card or another process reads is EAL memory,
/// see hca/memory.h.)

namespace chime {

/// The owner of an object made by make_owned, or of a base class of it.
template <class T>
using Owned = std::unique_ptr<T>;

/// Makes one object on the heap; ENOMEM names `what`.
template <class T, class... Args>
Result<Owned<T>> make_owned(const char* what, Args&&... args) noexcept {
  Owned<T> object(new (std::nothrow) T(std::forward<Args>(args)...));
  if (!object) return fail(ENOMEM, "no memory for %s (%zu bytes)", what, sizeof(T));
  return object;
}

/// A heap array whose length is fixed when it is made. Elements are value-initialised.
template <class T>
class Array {
 public:
  Array() noexcept = default;

  static Result<Array> make(std::size_t count, const char* what) noexcept {
    Array array;
    if (count == 0) return array;
    array.items_.reset(new (std::nothrow) T[count]());
    if (!array.items_) return fail(ENOMEM, "no memory for %s (%zu x %zu bytes)", what, count, sizeof(T));
    array.count_ = count;
    return array;
  }

  T* data() noexcept { return items_.get(); }
  const T* data() const noexcept { return items_.get(); }
  std::size_t size() const noexcept { return count_; }
  bool empty() const noexcept { return count_ == 0; }
  T& operator[](std::size_t i) noexcept { return items_[i]; }
  const T& operator[](std::size_t i) const noexcept { return items_[i]; }
  T* begin() noexcept { return items_.get(); }
  T* end() noexcept { return items_.get() + count_; }
  const T* begin() const noexcept { return items_.get(); }
  const T* end() const noexcept { return items_.get() + count_; }
  std::span<T> span() noexcept { return {items_.get(), count_}; }
  std::span<const T> span() const noexcept { return {items_.get(), count_}; }

 private:
  std::unique_ptr<T[]> items_;
  std::size_t count_ = 0;
};

}  // namespace chime
