// SPDX-License-Identifier: BSD-3-Clause
#include "model/object/page_store.h"

#include <algorithm>
#include <cstring>

namespace chime::model {

Result<> PageStore::give(std::span<const std::byte> list, std::uint32_t count) noexcept {
  if (count == 0) return {};
  const std::size_t total = std::size_t{count_} + count;
  if (total > pages_.size()) {
    auto larger = Array<prm::Be64>::make(std::max(total, pages_.size() * 2), "the list of pages");
    if (!larger) return fail(larger.error());
    std::copy(pages_.begin(), pages_.begin() + count_, larger->begin());
    pages_ = std::move(*larger);
  }
  std::memcpy(pages_.data() + count_, list.data(), std::size_t{count} * sizeof(prm::Be64));
  count_ = static_cast<std::uint32_t>(total);
  return {};
}

std::uint32_t PageStore::take(std::span<std::byte> list, std::uint32_t count) noexcept {
  count = std::min(count, count_);
  if (count == 0) return 0;
  count_ -= count;
  std::memcpy(list.data(), pages_.data() + count_, std::size_t{count} * sizeof(prm::Be64));
  if (count_ == 0) pages_ = {};
  return count;
}

}  // namespace chime::model
