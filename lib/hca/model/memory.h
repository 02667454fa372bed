// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/array.h"
#include "base/error.h"
#include "model/host_memory.h"

namespace chime::hca::embedded {

/// A range of this process as a card is told of it: whole pages of one size, and where in the first it
/// begins. Bus addresses are the process's own.
struct PageRange {
  std::uint64_t first = 0;  ///< address of the first page
  std::size_t count = 0;    ///< pages
  unsigned log_page_size = 0;
  std::uint32_t offset = 0;  ///< of the first byte in the first page

  std::uint64_t end() const noexcept { return first + (std::uint64_t{count} << log_page_size); }

  /// In pages of 4 KiB.
  static PageRange small(const void* address, std::size_t length) noexcept;
  /// In pages of the size that EAL backs this memory with; 4 KiB when it is not EAL's.
  static PageRange large(const void* address, std::size_t length) noexcept;
};

/// What the software HCA reaches of this process: the ranges that are registered, and nothing else. A range
/// may be there several times. Used by the thread that steps the HCA.
class RegisteredMemory final : public model::HostMemory {
 public:
  std::byte* map(std::uint64_t address, std::size_t length) noexcept override;
  std::uint64_t generation() const noexcept override { return generation_; }

  /// EFAULT when the memory is not there (or not writable), ENOMEM.
  Result<> add(const PageRange& range) noexcept;
  /// Takes back one add() of the same range.
  void remove(const PageRange& range) noexcept;

 private:
  struct Range {
    std::uint64_t start;
    std::uint64_t end;
  };

  Result<> reserve(std::size_t count) noexcept;
  void merge() noexcept;
  const Range* find(std::uint64_t address) const noexcept;

  Array<Range> ranges_;  ///< by start; the first count_
  std::size_t count_ = 0;
  Array<Range> merged_;  ///< what they cover, by start; the first merged_count_
  std::size_t merged_count_ = 0;
  std::size_t last_ = 0;  ///< in merged_: where map() found something
  std::uint64_t generation_ = 1;
};

/// Zeroed pages of this process, for what the kernel driver keeps in its own memory.
class Pages {
 public:
  Pages() noexcept = default;
  static Result<Pages> make(std::size_t bytes, const char* what) noexcept;
  Pages(Pages&& other) noexcept;
  Pages& operator=(Pages&& other) noexcept;
  ~Pages();

  std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }  ///< bytes

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace chime::hca::embedded
