// SPDX-License-Identifier: BSD-3-Clause
#include "steering/index_pool.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace chime::test {
namespace {

using net::IndexPool;

IndexPool pool_of(std::uint32_t size) {
  auto made = IndexPool::make(size, "test");
  EXPECT_TRUE(made);
  return std::move(*made);
}

TEST(IndexPool, GivesEveryNumberOnceLowestFirst) {
  for (std::uint32_t size : {1u, 2u, 63u, 64u, 65u, 4095u, 4096u, 4097u, 300000u}) {
    IndexPool pool = pool_of(size);
    for (std::uint32_t i = 0; i < size; ++i) ASSERT_EQ(pool.take(), i) << size;
    EXPECT_TRUE(pool.full());
    EXPECT_EQ(pool.take(), IndexPool::none);
    pool.give_back(size - 1);
    pool.give_back(0);
    EXPECT_EQ(pool.take(), 0u);
    if (size > 1) {
      EXPECT_EQ(pool.take(), size - 1);
    }
  }
}

TEST(IndexPool, LargestSize) {
  IndexPool pool = pool_of(IndexPool::max_size);
  EXPECT_EQ(pool.take(), 0u);
  EXPECT_EQ(pool.take(), 1u);
  pool.give_back(0);
  EXPECT_EQ(pool.taken(), 1u);
  EXPECT_EQ(pool.take(), 0u);
}

TEST(IndexPool, RandomOrderAgainstASet) {
  constexpr std::uint32_t size = 5000;
  IndexPool pool = pool_of(size);
  std::set<std::uint32_t> free, taken;
  for (std::uint32_t i = 0; i < size; ++i) free.insert(i);
  std::mt19937 random(1);
  for (int n = 0; n < 100000; ++n) {
    if (random() % 2 == 0 && !free.empty()) {
      const std::uint32_t got = pool.take();
      ASSERT_EQ(got, *free.begin());
      free.erase(got);
      taken.insert(got);
    } else if (!taken.empty()) {
      auto at = taken.lower_bound(static_cast<std::uint32_t>(random() % size));
      if (at == taken.end()) at = taken.begin();
      pool.give_back(*at);
      free.insert(*at);
      taken.erase(at);
    }
    ASSERT_EQ(pool.taken(), taken.size());
  }
}

}  // namespace
}  // namespace chime::test
