// SPDX-License-Identifier: BSD-3-Clause
#include "hca/model/memory.h"

#include <rte_memory.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace chime::hca::embedded {
namespace {

constexpr unsigned log_small_page = 12;

PageRange in_pages(const void* address, std::size_t length, unsigned log_page_size) noexcept {
  const auto start = reinterpret_cast<std::uintptr_t>(address);
  const std::uint64_t page = std::uint64_t{1} << log_page_size;
  const std::uint64_t first = start & ~(page - 1);
  return {.first = first,
          .count = static_cast<std::size_t>((start + length - first + page - 1) >> log_page_size),
          .log_page_size = log_page_size,
          .offset = static_cast<std::uint32_t>(start - first)};
}

/// The kernel would pin the pages: they must be there, and the card must be able to write them. (A host
/// kernel before 5.14 can tell only the first.)
bool pin(const PageRange& range) noexcept {
  void* start = reinterpret_cast<void*>(range.first);
  const std::size_t length = range.count << range.log_page_size;
  const bool can_tell = madvise(start, 0, MADV_POPULATE_WRITE) == 0;
  if (can_tell) return madvise(start, length, MADV_POPULATE_WRITE) == 0;
  return msync(start, length, MS_ASYNC) == 0;
}

}  // namespace

PageRange PageRange::small(const void* address, std::size_t length) noexcept {
  return in_pages(address, length, log_small_page);
}

PageRange PageRange::large(const void* address, std::size_t length) noexcept {
  const rte_memseg* segment = rte_mem_virt2memseg(address, nullptr);
  const std::uint64_t page = segment ? segment->hugepage_sz : 0;
  if (!std::has_single_bit(page) || page < (1u << log_small_page)) return small(address, length);
  // All of it must be backed so: the last byte's page decides for a range that leaves EAL's memory.
  const rte_memseg* last = rte_mem_virt2memseg(static_cast<const std::byte*>(address) + length - 1, nullptr);
  if (!last || last->hugepage_sz != page) return small(address, length);
  return in_pages(address, length, static_cast<unsigned>(std::countr_zero(page)));
}

const RegisteredMemory::Range* RegisteredMemory::find(std::uint64_t address) const noexcept {
  const Range* begin = merged_.begin();
  const Range* end = begin + merged_count_;
  const Range* after =
      std::upper_bound(begin, end, address, [](std::uint64_t a, const Range& r) { return a < r.start; });
  return after == begin ? nullptr : after - 1;
}

std::byte* RegisteredMemory::map(std::uint64_t address, std::size_t length) noexcept {
  const auto within = [=](const Range& r) {
    return address >= r.start && address < r.end && length <= r.end - address;
  };
  if (last_ >= merged_count_ || !within(merged_[last_])) {
    const Range* range = find(address);
    if (!range || !within(*range)) return nullptr;
    last_ = static_cast<std::size_t>(range - merged_.begin());
  }
  return reinterpret_cast<std::byte*>(address);
}

Result<> RegisteredMemory::reserve(std::size_t count) noexcept {
  for (Array<Range>* array : {&ranges_, &merged_}) {
    if (array->size() >= count) continue;
    auto grown = Array<Range>::make(std::max<std::size_t>(16, count * 2), "the list of registered memory");
    if (!grown) return fail(grown.error());
    std::copy(array->begin(), array->end(), grown->begin());
    *array = std::move(*grown);
  }
  return {};
}

Result<> RegisteredMemory::add(const PageRange& range) noexcept {
  if (range.count == 0 || range.end() <= range.first) {
    return fail(EINVAL, "no memory to register: %zu pages at %#llx", range.count,
                static_cast<unsigned long long>(range.first));
  }
  if (!pin(range)) {
    return fail(EFAULT, "memory to register, %zu pages of %u KiB at %#llx, is not mapped writable",
                range.count, 1u << (range.log_page_size - 10), static_cast<unsigned long long>(range.first));
  }
  if (auto room = reserve(count_ + 1); !room) return room;
  const Range added{range.first, range.end()};
  Range* end = ranges_.begin() + count_;
  Range* at = std::upper_bound(ranges_.begin(), end, added,
                               [](const Range& a, const Range& b) { return a.start < b.start; });
  std::copy_backward(at, end, end + 1);
  *at = added;
  ++count_;
  merge();
  return {};
}

void RegisteredMemory::remove(const PageRange& range) noexcept {
  Range* end = ranges_.begin() + count_;
  Range* at = std::find_if(ranges_.begin(), end,
                           [&](const Range& r) { return r.start == range.first && r.end == range.end(); });
  if (at == end) return;
  std::copy(at + 1, end, at);
  --count_;
  merge();
  ++generation_;
}

void RegisteredMemory::merge() noexcept {
  merged_count_ = 0;
  last_ = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    const Range next = ranges_[i];
    if (merged_count_ > 0 && next.start <= merged_[merged_count_ - 1].end) {
      merged_[merged_count_ - 1].end = std::max(merged_[merged_count_ - 1].end, next.end);
    } else {
      merged_[merged_count_++] = next;
    }
  }
}

Result<Pages> Pages::make(std::size_t bytes, const char* what) noexcept {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return fail(ENOMEM, "no memory for %s (%zu bytes)", what, bytes);
  Pages pages;
  pages.data_ = static_cast<std::byte*>(memory);
  pages.size_ = bytes;
  return pages;
}

Pages::Pages(Pages&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Pages& Pages::operator=(Pages&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

Pages::~Pages() {
  if (data_) munmap(data_, size_);
}

}  // namespace chime::hca::embedded
