// SPDX-License-Identifier: BSD-3-Clause
#include "model/object/memory.h"

#include <algorithm>

namespace chime::model {

Result<PageList> PageList::make(std::size_t count, unsigned log_page_size,
                                std::uint64_t page_offset) noexcept {
  auto pages = Array<Page>::make(count, "a page list");
  if (!pages) return fail(pages.error());
  PageList list;
  list.pages_ = std::move(*pages);
  list.log_page_size_ = log_page_size;
  list.page_offset_ = page_offset;
  list.length_ = (std::uint64_t{count} << log_page_size) - page_offset;
  return list;
}

PageList PageList::single(std::uint64_t address, std::uint64_t length) noexcept {
  PageList list;
  list.bus_ = address;
  list.length_ = length;
  return list;
}

std::size_t PageList::resolve(HostView& host) noexcept {
  generation_ = host.generation();
  base_ = nullptr;
  if (pages_.empty()) {
    base_ = length_ ? host.map(bus_, length_) : nullptr;
    return base_ || !length_ ? 0 : 1;
  }

  const std::uint64_t page_size = std::uint64_t{1} << log_page_size_;
  bool consecutive = true;
  for (std::size_t i = 1; i < pages_.size(); ++i) {
    consecutive &= pages_[i].bus == pages_[i - 1].bus + page_size;
  }
  if (consecutive) base_ = host.map(pages_[0].bus + page_offset_, length_);
  if (base_) return 0;

  std::size_t absent = 0;
  for (std::size_t i = 0; i < pages_.size(); ++i) {
    // Of the first page only what is seen must be there.
    const std::uint64_t skip = i == 0 ? page_offset_ : 0;
    std::byte* at = host.map(pages_[i].bus + skip, page_size - skip);
    pages_[i].host = at ? at - skip : nullptr;
    if (!at) ++absent;
  }
  return absent;
}

Result<> PageList::grow(std::size_t count) noexcept {
  if (count <= pages_.size()) return {};
  auto more = Array<Page>::make(count, "a page list");
  if (!more) return fail(more.error());
  std::copy(pages_.begin(), pages_.end(), more->begin());
  pages_ = std::move(*more);
  reshape(log_page_size_, page_offset_);
  return {};
}

void PageList::reshape(unsigned log_page_size, std::uint64_t page_offset) noexcept {
  log_page_size_ = log_page_size;
  page_offset_ = page_offset;
  length_ = pages_.empty() ? 0 : (std::uint64_t{pages_.size()} << log_page_size) - page_offset;
  base_ = nullptr;
  generation_ = 0;  // look everything up again
}

void PageList::replace(HostView& host, std::size_t i, std::uint64_t address) noexcept {
  pages_[i].bus = address;
  if (generation_ != host.generation()) return;
  const std::uint64_t page_size = std::uint64_t{1} << log_page_size_;
  if (base_) {
    // They were one piece, which needed no lookup of each.
    for (std::size_t k = 0; k < pages_.size(); ++k) {
      pages_[k].host = base_ - page_offset_ + (std::uint64_t{k} << log_page_size_);
    }
    base_ = nullptr;
  }
  pages_[i].host = host.map(address, page_size);
}

std::uint64_t PageList::bus_address(std::uint64_t offset) const noexcept {
  if (pages_.empty()) return bus_ + offset;
  const std::uint64_t from = offset + page_offset_;
  const std::size_t page = static_cast<std::size_t>(from >> log_page_size_);
  if (page >= pages_.size()) return 0;
  return pages_[page].bus + (from & ((std::uint64_t{1} << log_page_size_) - 1));
}

Chunk PageList::broken_chunk(std::uint64_t offset, std::size_t length) const noexcept {
  if (pages_.empty()) return {};
  const std::uint64_t page_size = std::uint64_t{1} << log_page_size_;
  const std::uint64_t from = offset + page_offset_;
  std::size_t page = static_cast<std::size_t>(from >> log_page_size_);
  std::uint64_t within = from & (page_size - 1);
  if (!pages_[page].host) return {};

  Chunk found{pages_[page].host + within,
              static_cast<std::size_t>(std::min<std::uint64_t>(length, page_size - within))};
  // Go on while the next page happens to follow in this process too.
  while (found.length < length && ++page < pages_.size() && pages_[page].host == found.data + found.length) {
    found.length += static_cast<std::size_t>(std::min<std::uint64_t>(length - found.length, page_size));
  }
  return found;
}

}  // namespace chime::model
