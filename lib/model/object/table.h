// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <utility>

#include "base/array.h"
#include "model/object/object.h"
#include "model/object/sparse.h"

namespace chime::model {

/// The objects of one kind, by number; owns them. Numbers begin at `first` (never 0) and come round late, so
/// that a stale number meets nothing rather than another's object.
template <class T>
class ObjectTable {
 public:
  /// @param limit numbers are below it
  ObjectTable(Kind kind, std::uint32_t first, std::uint32_t limit) noexcept
      : kind_(kind), first_(first), limit_(limit), next_(first) {}
  ~ObjectTable() { clear(); }

  T* find(std::uint32_t number) const noexcept { return map_.find(number); }
  Kind kind() const noexcept { return kind_; }
  std::uint32_t live() const noexcept { return map_.count(); }
  bool full() const noexcept { return live() >= limit_ - first_; }

  /// Gives it a number and takes it. ENOMEM, or ENOSPC when all numbers are taken; it is destroyed then.
  Result<T*> insert(Owned<T> object) noexcept {
    if (full()) return fail(ENOSPC, "all %u numbers are taken", limit_ - first_);
    const std::uint32_t number = pick();
    if (auto put = map_.insert(number, object.get()); !put) return fail(put.error());
    next_ = number + 1;
    object->number = number;
    return object.release();
  }

  /// Takes it out and destroys it. Nothing may use it.
  void erase(T& object) noexcept { Owned<T>(map_.take(object.number)).reset(); }

  /// In the order of their numbers. `visit` must not change the table.
  template <class F>
  void for_each(F&& visit) const noexcept {
    map_.for_each(visit);
  }

  void clear() noexcept {
    map_.for_each([](T& object) { Owned<T>(&object).reset(); });
    map_.clear();
  }

 private:
  /// Numbers are handed out in a window four times as large as what lives: the map stays small, a free number
  /// is near, and one comes back only after many others.
  std::uint32_t pick() const noexcept {
    std::uint32_t window = 4096;
    while (window < live() * 4 && window < limit_) window *= 2;
    const std::uint32_t end = window < limit_ - first_ ? first_ + window : limit_;
    std::uint32_t number = next_ < end ? next_ : first_;
    while (map_.find(number)) number = number + 1 < end ? number + 1 : first_;
    return number;
  }

  Sparse<T> map_;
  Kind kind_;
  std::uint32_t first_;
  std::uint32_t limit_;
  std::uint32_t next_;
};

}  // namespace chime::model
