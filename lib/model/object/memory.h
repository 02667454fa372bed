// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/array.h"
#include "model/host_memory.h"
#include "model/object/object.h"

/// @file
/// How the card reaches host memory: lists of pages, and what lies in them.

namespace chime::model {

/// HostMemory, with its generation read once a step instead of once an access.
class HostView {
 public:
  explicit HostView(HostMemory& memory) noexcept : memory_(&memory), generation_(memory.generation()) {}

  /// Must be called before a step or command looks at memory.
  void refresh() noexcept { generation_ = memory_->generation(); }
  std::uint64_t generation() const noexcept { return generation_; }
  std::byte* map(std::uint64_t address, std::size_t length) noexcept { return memory_->map(address, length); }

 private:
  HostMemory* memory_;
  std::uint64_t generation_;
};

/// A contiguous piece of host memory; `data` is nullptr when there is none.
struct Chunk {
  std::byte* data = nullptr;
  std::size_t length = 0;  ///< bytes
};

/// Equally large pages of host memory, seen as one piece that begins `page_offset` bytes into the first.
/// Pages that follow each other in host memory cost no lookup.
class PageList {
 public:
  PageList() noexcept = default;

  /// All pages at address 0 until set_page() and resolve() were called.
  /// @param count         pages, not 0
  /// @param log_page_size log2 of bytes, 12 to 51
  /// @param page_offset   bytes
  static Result<PageList> make(std::size_t count, unsigned log_page_size, std::uint64_t page_offset) noexcept;
  /// The `length` bytes at one bus address, without pages.
  static PageList single(std::uint64_t address, std::uint64_t length) noexcept;

  void set_page(std::size_t i, std::uint64_t address) noexcept { pages_[i].bus = address; }
  /// Looks up where the pages lie now. @return pages that are not host memory
  std::size_t resolve(HostView& host) noexcept;

  // A list that changes (UMR).
  std::size_t count() const noexcept { return pages_.size(); }
  /// Room for `count` pages at least; new ones are at address 0.
  Result<> grow(std::size_t count) noexcept;
  /// Another size of page, and another offset in the first.
  void reshape(unsigned log_page_size, std::uint64_t page_offset) noexcept;
  /// Another page, which is looked up.
  void replace(HostView& host, std::size_t i, std::uint64_t address) noexcept;
  unsigned log_page_size() const noexcept { return log_page_size_; }

  /// Host memory of offset 0 when all lies there in one piece, else nullptr.
  std::byte* whole(HostView& host) noexcept {
    if (generation_ != host.generation()) resolve(host);
    return base_;
  }

  /// Bytes from the beginning to the end of the last page.
  std::uint64_t length() const noexcept { return length_; }
  std::uint64_t bus_address(std::uint64_t offset) const noexcept;

  /// The piece that begins at `offset`: at most `length` bytes, fewer where it is broken in host memory, none
  /// outside of the list or where there is no host memory.
  Chunk chunk(HostView& host, std::uint64_t offset, std::size_t length) noexcept {
    if (generation_ != host.generation()) resolve(host);
    if (offset >= length_) return {};
    if (length > length_ - offset) length = static_cast<std::size_t>(length_ - offset);
    if (base_) [[likely]]
      return {base_ + offset, length};
    return broken_chunk(offset, length);
  }

  /// The `length` bytes at `offset`, or nullptr when they are not there in one piece.
  std::byte* at(HostView& host, std::uint64_t offset, std::size_t length) noexcept {
    const Chunk c = chunk(host, offset, length);
    return c.length == length ? c.data : nullptr;
  }

 private:
  struct Page {
    std::uint64_t bus = 0;
    std::byte* host = nullptr;
  };
  Chunk broken_chunk(std::uint64_t offset, std::size_t length) const noexcept;

  std::byte* base_ = nullptr;  ///< of offset 0, when all lies in one piece
  std::uint64_t length_ = 0;
  std::uint64_t generation_ = 0;
  std::uint64_t page_offset_ = 0;
  unsigned log_page_size_ = 0;
  std::uint64_t bus_ = 0;  ///< of offset 0, when there are no pages
  Array<Page> pages_;
};

/// CREATE_UMEM: memory of one user context.
struct Umem final : Object {
  Umem() noexcept : Object(Kind::umem) {}
  PageList pages;
};

/// A queue or a doorbell record: a piece of a umem, or pages of its own (from a command's page list).
class Buffer {
 public:
  Buffer() noexcept = default;
  Buffer(HostView& host, Umem& umem, std::uint64_t offset, std::uint64_t length) noexcept
      : host_(&host), umem_(&umem), pages_(&umem.pages), offset_(offset), length_(length) {}
  /// @param offset of the first byte in the pages
  Buffer(HostView& host, PageList own, std::uint64_t length, std::uint64_t offset = 0) noexcept
      : host_(&host), own_(std::move(own)), offset_(offset), length_(length) {}
  Buffer(Buffer&&) noexcept = default;
  Buffer& operator=(Buffer&&) noexcept = default;

  std::uint64_t length() const noexcept { return length_; }  ///< bytes
  Umem* umem() const noexcept { return umem_.get(); }
  std::uint64_t umem_offset() const noexcept { return offset_; }

  /// `length` bytes at `offset` that do not cross a page (a queue's elements never do), or nullptr when the
  /// host memory is gone or the offset is outside.
  std::byte* at(std::uint64_t offset, std::size_t length) noexcept {
    if (offset + length > length_) return nullptr;
    return umem_ ? pages_->at(*host_, offset_ + offset, length) : own_.at(*host_, offset_ + offset, length);
  }

 private:
  HostView* host_ = nullptr;
  Ref<Umem> umem_;
  PageList* pages_ = nullptr;
  PageList own_;
  std::uint64_t offset_ = 0;
  std::uint64_t length_ = 0;
};

}  // namespace chime::model
