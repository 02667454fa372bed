// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/array.h"

namespace chime::model {

/// A map from small numbers to pointers that costs memory only where it is used: pages of 256, made when
/// first needed and given back when empty. Does not own what it points to.
template <class T>
class Sparse {
 public:
  T* find(std::uint32_t number) const noexcept {
    const std::uint32_t page = number / page_entries;
    if (page >= pages_.size() || !pages_[page]) return nullptr;
    return pages_[page]->entry[number % page_entries];
  }

  std::uint32_t count() const noexcept { return count_; }

  /// There must be none of that number. Changes nothing when it fails (ENOMEM).
  Result<> insert(std::uint32_t number, T* item) noexcept {
    const std::uint32_t page = number / page_entries;
    if (page >= pages_.size()) {
      auto grown = Array<Owned<Page>>::make(std::max<std::size_t>(page + 1, pages_.size() * 2), "a table");
      if (!grown) return fail(grown.error());
      std::move(pages_.begin(), pages_.end(), grown->begin());
      pages_ = std::move(*grown);
    }
    if (!pages_[page]) {
      auto made = make_owned<Page>("a table's page");
      if (!made) return fail(made.error());
      pages_[page] = std::move(*made);
    }
    pages_[page]->entry[number % page_entries] = item;
    ++pages_[page]->used;
    ++count_;
    return {};
  }

  /// @return what was there, or nullptr
  T* take(std::uint32_t number) noexcept {
    T* item = find(number);
    if (!item) return nullptr;
    auto& page = pages_[number / page_entries];
    page->entry[number % page_entries] = nullptr;
    if (--page->used == 0) page.reset();
    --count_;
    return item;
  }

  /// In the order of the numbers. `visit` must not change the map.
  template <class F>
  void for_each(F&& visit) const noexcept {
    for (const auto& page : pages_) {
      if (!page) continue;
      for (T* item : page->entry) {
        if (item) visit(*item);
      }
    }
  }

  void clear() noexcept {
    pages_ = {};
    count_ = 0;
  }

 private:
  static constexpr std::uint32_t page_entries = 256;
  struct Page {
    T* entry[page_entries] = {};
    std::uint32_t used = 0;
  };

  Array<Owned<Page>> pages_;
  std::uint32_t count_ = 0;
};

}  // namespace chime::model
