// SPDX-License-Identifier: BSD-3-Clause
#include "model/object/access.h"

#include <algorithm>

namespace chime::model {
namespace {

constexpr std::uint64_t longest = 0x80000000;  ///< bytes of a piece

}  // namespace

const char* name(AccessError error) noexcept {
  switch (error) {
    case AccessError::none:
      return "none";
    case AccessError::key:
      return "there is no such key";
    case AccessError::pd:
      return "the key belongs to another PD";
    case AccessError::rights:
      return "the key does not grant this access";
    case AccessError::bounds:
      return "the range is not within the key's";
    case AccessError::memory:
      return "the memory is not there";
    case AccessError::free:
      return "the key is in free state";
  }
  return "?";
}

bool Mkey::locate(std::uint64_t va, KeyPiece& found) const noexcept {
  std::uint64_t offset = va - start;
  if (mode == Mode::equal_pieces) return locate_equal(offset, found);
  if (!table.empty() && table[0].key == KeyPiece::repeats) return locate_repeated(offset, found);
  for (const KeyPiece& piece : table) {
    const std::uint64_t size = piece.length != 0 ? piece.length : longest;
    if (offset < size) {
      found = {piece.address + offset, piece.key, static_cast<std::uint32_t>(size - offset)};
      return true;
    }
    offset -= size;
  }
  return false;
}

bool Mkey::locate_equal(std::uint64_t offset, KeyPiece& found) const noexcept {
  const std::uint64_t size = std::uint64_t{1} << log_page_size;
  offset += start & (size - 1);
  const std::uint64_t i = offset >> log_page_size;
  if (i >= table.size()) return false;
  const std::uint64_t within = offset & (size - 1);
  found = {table[i].address + within, table[i].key,
           static_cast<std::uint32_t>(std::min(size - within, longest))};
  return true;
}

/// Each round is a stride further.
bool Mkey::locate_repeated(std::uint64_t offset, KeyPiece& found) const noexcept {
  const KeyPiece& header = table[0];
  const std::uint64_t rounds = header.address >> 32;
  const std::size_t pieces = header.address & 0xffff;
  if (header.length == 0 || offset / header.length >= rounds) return false;
  const std::uint64_t round = offset / header.length;
  offset %= header.length;
  for (std::size_t i = 1; i <= pieces && i < table.size(); ++i) {
    const std::uint32_t stride = table[i].length >> 16, bytes = table[i].length & 0xffff;
    if (offset < bytes) {
      found = {table[i].address + round * stride + offset, table[i].key,
               static_cast<std::uint32_t>(bytes - offset)};
      return true;
    }
    offset -= bytes;
  }
  return false;
}

}  // namespace chime::model
