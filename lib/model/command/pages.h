// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "model/command/command.h"
#include "model/object/memory.h"

/// @file
/// Where commands say that a queue, its doorbell record or a key's memory lies: in a umem, or in a list of
/// pages at the end of the command.

namespace chime::model {

/// A list of page addresses in a command.
struct PageListIn {
  std::span<const std::byte> bytes;  ///< 8 a page; flags in the low 12 bits
  std::uint64_t count = 0;
  unsigned log_page_size = 12;
  std::uint64_t page_offset = 0;  ///< of what begins in the first page, bytes
};

/// A page list as the contexts of queues describe it.
/// @param log_page_size the field: log2 of the page's bytes, less 12
/// @param page_offset   the field: where the queue begins in the first page, units of 1/64 page
constexpr PageListIn page_list(std::span<const std::byte> bytes, std::uint32_t log_page_size,
                               std::uint32_t page_offset) noexcept {
  constexpr unsigned log_least_page = 12, log_parts = 6;
  const unsigned log_page = log_page_size + log_least_page;
  return {.bytes = bytes,
          .count = 0,
          .log_page_size = log_page,
          .page_offset = std::uint64_t{page_offset} << (log_page - log_parts)};
}

/// Reads the list without resolving it. @return false when it refused
bool read_pages(Command& c, const PageListIn& in, PageList& pages) noexcept;

/// Where a queue lies.
struct QueueIn {
  bool umem_valid = false;
  std::uint32_t umem_id = 0;
  std::uint64_t umem_offset = 0;
  PageListIn pages;             ///< without a umem; `count` follows from the length
  std::uint64_t skip = 0;       ///< bytes before the queue that another one has
  std::uint64_t length = 0;     ///< bytes
  std::uint64_t alignment = 1;  ///< bytes; the size of an element
};

/// @return false when it refused
bool place_queue(Command& c, const QueueIn& in, Buffer& buffer) noexcept;

/// Where a doorbell record (8 bytes) lies: `address` is an offset in the umem, or a bus address.
/// @return false when it refused
bool place_record(Command& c, bool umem_valid, std::uint32_t umem_id, std::uint64_t address,
                  Buffer& buffer) noexcept;

}  // namespace chime::model
