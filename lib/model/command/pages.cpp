// SPDX-License-Identifier: BSD-3-Clause
#include "model/command/pages.h"

#include <bit>

namespace chime::model {
namespace {

constexpr unsigned min_log_page_size = 12;
constexpr unsigned max_log_page_size = 43;  // 12 more than five bits hold
constexpr std::uint64_t max_pages = 1u << 28;

/// A piece of one of the command's own umems.
bool place_in_umem(Command& c, std::uint32_t umem_id, std::uint64_t offset, std::uint64_t length,
                   const char* what, Buffer& buffer) noexcept {
  Umem* umem = c.find(c.card.umems, umem_id);
  if (!umem) return false;
  const std::uint64_t end = umem->pages.length();
  if (offset > end || length > end - offset) {
    c.refuse(Rule::outside_umem, umem_id,
             "%s at offset %#llx, %#llx bytes, ends behind umem %#x of %#llx bytes", what,
             static_cast<unsigned long long>(offset), static_cast<unsigned long long>(length), umem_id,
             static_cast<unsigned long long>(end));
    return false;
  }
  buffer = Buffer(c.card.host, *umem, offset, length);
  return true;
}

}  // namespace

bool read_pages(Command& c, const PageListIn& in, PageList& pages) noexcept {
  if (in.log_page_size < min_log_page_size || in.log_page_size > max_log_page_size) {
    c.refuse(Rule::page_size, 0, "pages of 2^%u bytes; the card has 2^%u to 2^%u", in.log_page_size,
             min_log_page_size, max_log_page_size);
    return false;
  }
  if (in.count == 0 || in.count > max_pages) {
    c.refuse(Rule::page_count, 0, "%llu pages; 1 to %llu are possible",
             static_cast<unsigned long long>(in.count), static_cast<unsigned long long>(max_pages));
    return false;
  }
  if (in.page_offset >> in.log_page_size) {
    c.refuse(Rule::page_offset, 0, "offset %#llx is outside of the first page of 2^%u bytes",
             static_cast<unsigned long long>(in.page_offset), in.log_page_size);
    return false;
  }
  if (in.bytes.size() / 8 < in.count) {
    c.refuse(Rule::page_list_length, 0, "%llu pages are announced, the list has %zu",
             static_cast<unsigned long long>(in.count), in.bytes.size() / 8);
    return false;
  }
  auto made = PageList::make(static_cast<std::size_t>(in.count), in.log_page_size, in.page_offset);
  if (!made) {
    c.refuse(Rule::no_memory, 0, "%s", made.error().text);
    return false;
  }
  constexpr std::uint64_t address = ~std::uint64_t{0xfff};
  for (std::size_t i = 0; i < in.count; ++i) {
    made->set_page(i, prm::get_bits(in.bytes.data(), i * 64, 64) & address);
  }
  pages = std::move(*made);
  return true;
}

bool place_queue(Command& c, const QueueIn& in, Buffer& buffer) noexcept {
  const std::uint64_t begin = (in.umem_valid ? in.umem_offset : in.pages.page_offset) + in.skip;
  if (begin % in.alignment) {
    c.refuse(Rule::queue_alignment, 0, "the queue begins at offset %#llx, its elements have %llu bytes",
             static_cast<unsigned long long>(begin), static_cast<unsigned long long>(in.alignment));
    return false;
  }
  if (in.umem_valid) return place_in_umem(c, in.umem_id, begin, in.length, "the queue", buffer);

  PageListIn list = in.pages;
  if (list.log_page_size > max_log_page_size) list.log_page_size = max_log_page_size;
  const std::uint64_t page = std::uint64_t{1} << list.log_page_size;
  list.count = (list.page_offset + in.skip + in.length + page - 1) / page;
  PageList pages;
  if (!read_pages(c, list, pages)) return false;
  pages.resolve(c.card.host);
  buffer = Buffer(c.card.host, std::move(pages), in.length, in.skip);
  return true;
}

bool place_record(Command& c, bool umem_valid, std::uint32_t umem_id, std::uint64_t address,
                  Buffer& buffer) noexcept {
  constexpr std::uint64_t record_size = 8;
  if (address % record_size) {
    c.refuse(Rule::record_alignment, 0, "the doorbell record is at %#llx",
             static_cast<unsigned long long>(address));
    return false;
  }
  if (umem_valid) return place_in_umem(c, umem_id, address, record_size, "the doorbell record", buffer);
  PageList record = PageList::single(address, record_size);
  record.resolve(c.card.host);
  buffer = Buffer(c.card.host, std::move(record), record_size);
  return true;
}

}  // namespace chime::model
