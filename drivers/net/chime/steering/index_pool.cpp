// SPDX-License-Identifier: BSD-3-Clause
#include "steering/index_pool.h"

#include <bit>

#include "keep.h"

namespace chime::net {

Result<IndexPool> IndexPool::make(std::uint32_t size, const char* what) noexcept {
  IndexPool pool;
  pool.size_ = size;
  for (std::uint32_t bits = size; pool.levels_ < max_levels;) {
    const std::uint32_t words = (bits + 63) / 64;
    Array<std::uint64_t>& level = pool.bits_[pool.levels_++];
    if (Result<> done = keep(level, Array<std::uint64_t>::make(words, what)); !done)
      return fail(done.error());
    for (std::uint64_t& word : level) word = ~std::uint64_t{0};
    if (bits % 64 != 0) level[words - 1] = (std::uint64_t{1} << bits % 64) - 1;
    if (words == 1) break;
    bits = words;
  }
  return pool;
}

std::uint32_t IndexPool::take() noexcept {
  if (full()) return none;
  std::uint32_t at = 0;
  for (unsigned level = levels_; level-- > 0;)
    at = at * 64 + static_cast<std::uint32_t>(std::countr_zero(bits_[level][at]));
  std::uint32_t bit = at;
  for (unsigned level = 0; level < levels_; ++level) {
    std::uint64_t& word = bits_[level][bit / 64];
    word &= ~(std::uint64_t{1} << bit % 64);
    if (word != 0) break;
    bit /= 64;
  }
  ++taken_;
  return at;
}

void IndexPool::give_back(std::uint32_t index) noexcept {
  for (unsigned level = 0; level < levels_; ++level) {
    std::uint64_t& word = bits_[level][index / 64];
    const bool had_free = word != 0;
    word |= std::uint64_t{1} << index % 64;
    if (had_free) break;
    index /= 64;
  }
  --taken_;
}

}  // namespace chime::net
