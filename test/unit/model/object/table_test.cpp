// SPDX-License-Identifier: BSD-3-Clause
#include "model/object/table.h"

#include <gtest/gtest.h>

#include <set>

#include "model/object/access.h"

namespace chime::model {
namespace {

ObjectTable<Pd> table(std::uint32_t limit) {
  return {Kind::pd, 1, limit};
}

std::uint32_t add(ObjectTable<Pd>& pds) {
  auto pd = make_owned<Pd>("a PD");
  auto made = pds.insert(std::move(*pd));
  EXPECT_TRUE(made);
  return (*made)->number;
}

TEST(ObjectTable, NumbersAreNeverZeroAndComeBackLate) {
  auto pds = table(1 << 24);
  const std::uint32_t first = add(pds);
  EXPECT_NE(first, 0u);
  pds.erase(*pds.find(first));
  std::set<std::uint32_t> later;
  for (unsigned i = 0; i < 1000; ++i) {
    const std::uint32_t number = add(pds);
    EXPECT_TRUE(later.insert(number).second);
    EXPECT_NE(number, first);
    pds.erase(*pds.find(number));
  }
  EXPECT_EQ(pds.live(), 0u);
}

TEST(ObjectTable, AllNumbersCanBeHad) {
  auto pds = table(300);
  std::set<std::uint32_t> numbers;
  for (unsigned i = 1; i < 300; ++i) numbers.insert(add(pds));
  EXPECT_EQ(numbers.size(), 299u);
  auto more = make_owned<Pd>("a PD");
  auto refused = pds.insert(std::move(*more));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().errnum, ENOSPC);
  pds.erase(*pds.find(57));
  EXPECT_EQ(add(pds), 57u);
}

TEST(ObjectTable, FindsNothingOutside) {
  auto pds = table(1 << 24);
  EXPECT_EQ(pds.find(0), nullptr);
  EXPECT_EQ(pds.find(0xffffffff), nullptr);
  add(pds);
  EXPECT_EQ(pds.find(0xffffffff), nullptr);
}

TEST(ObjectTable, ManyAreFoundAndVisitedInOrder) {
  auto pds = table(1 << 24);
  for (unsigned i = 0; i < 20000; ++i) add(pds);
  std::uint32_t last = 0;
  pds.for_each([&](Pd& pd) {
    EXPECT_LT(last, pd.number);
    last = pd.number;
    EXPECT_EQ(pds.find(pd.number), &pd);
  });
  EXPECT_EQ(pds.live(), 20000u);
}

TEST(Ref, CountsUses) {
  Pd pd;
  {
    Ref<Pd> one(&pd);
    Ref<Pd> two(&pd);
    EXPECT_EQ(pd.uses, 2u);
    one = std::move(two);
    EXPECT_EQ(pd.uses, 1u);
    Ref<Pd> three(std::move(one));
    EXPECT_EQ(pd.uses, 1u);
    Ref<Pd>& same = three;
    three = std::move(same);
    EXPECT_EQ(pd.uses, 1u);
    EXPECT_EQ(three.get(), &pd);
  }
  EXPECT_EQ(pd.uses, 0u);
}

}  // namespace
}  // namespace chime::model
