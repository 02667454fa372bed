// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "card.h"
#include "hca/model/memory.h"

namespace chime::test {
namespace {

using hca::embedded::PageRange;
using hca::embedded::Pages;
using hca::embedded::RegisteredMemory;

constexpr std::size_t page = 4096;

TEST(RegisteredMemory, ReachesWhatWasAddedAndNothingElse) {
  auto pages = Pages::make(8 * page, "test");
  ASSERT_TRUE(pages);
  const auto base = reinterpret_cast<std::uintptr_t>(pages->data());
  RegisteredMemory memory;
  EXPECT_EQ(memory.map(base, 1), nullptr);
  const PageRange middle = PageRange::small(pages->data() + 2 * page, 2 * page);
  ASSERT_TRUE(memory.add(middle));
  EXPECT_EQ(memory.map(base + 2 * page, 2 * page), pages->data() + 2 * page);
  EXPECT_EQ(memory.map(base + 2 * page - 1, 2), nullptr);
  EXPECT_EQ(memory.map(base + 4 * page - 1, 2), nullptr);
  EXPECT_EQ(memory.map(base + 2 * page, ~std::size_t{0}), nullptr);
  const auto generation = memory.generation();
  memory.remove(middle);
  EXPECT_NE(memory.generation(), generation);
  EXPECT_EQ(memory.map(base + 2 * page, 1), nullptr);
}

TEST(RegisteredMemory, NeighboursAreOnePieceAndOverlapsCount) {
  auto pages = Pages::make(8 * page, "test");
  ASSERT_TRUE(pages);
  const auto base = reinterpret_cast<std::uintptr_t>(pages->data());
  RegisteredMemory memory;
  const PageRange left = PageRange::small(pages->data(), 4 * page);
  const PageRange right = PageRange::small(pages->data() + 4 * page, 4 * page);
  const PageRange across = PageRange::small(pages->data() + 3 * page, 2 * page);
  ASSERT_TRUE(memory.add(right));
  ASSERT_TRUE(memory.add(left));
  ASSERT_TRUE(memory.add(across));
  ASSERT_TRUE(memory.add(across));
  EXPECT_NE(memory.map(base, 8 * page), nullptr);
  memory.remove(left);
  memory.remove(right);
  memory.remove(across);
  EXPECT_EQ(memory.map(base, 1), nullptr);
  EXPECT_NE(memory.map(base + 3 * page, 2 * page), nullptr) << "it was added twice";
  memory.remove(across);
  EXPECT_EQ(memory.map(base + 3 * page, 1), nullptr);
}

TEST(RegisteredMemory, MustBeThereAndWritable) {
  RegisteredMemory memory;
  void* sealed = mmap(nullptr, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  auto read_only = memory.add(PageRange::small(sealed, page));
  ASSERT_FALSE(read_only);
  EXPECT_EQ(read_only.error().errnum, EFAULT) << read_only.error().text;
  munmap(sealed, page);
  auto gone = memory.add(PageRange::small(sealed, page));
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().errnum, EFAULT);
  EXPECT_FALSE(memory.add(PageRange::small(sealed, 0)));
}

TEST(PageRange, IsWholePages) {
  const PageRange range = PageRange::small(reinterpret_cast<void*>(0x10ff0), 0x20);
  EXPECT_EQ(range.first, 0x10000u);
  EXPECT_EQ(range.count, 2u);
  EXPECT_EQ(range.offset, 0xff0u);
  EXPECT_EQ(range.end(), 0x12000u);
}

}  // namespace
}  // namespace chime::test
