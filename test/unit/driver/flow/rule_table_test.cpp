// SPDX-License-Identifier: BSD-3-Clause
#include "flow/rule_table.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "steered.h"

/// @file
/// How a group's table gives out its indices.

namespace chime::test {
namespace {

using net::Match;
using net::RuleTable;

class Table : public Steered {
 protected:
  void SetUp() override {
    Steered::SetUp();
    ASSERT_TRUE(start());
    auto made = RuleTable::create(*steering, 5);
    ASSERT_TRUE(made) << why(made);
    table = std::move(*made);
  }
  void TearDown() override {
    placements.clear();
    if (table) {
      EXPECT_EQ(table->entries(), 0u);
      EXPECT_EQ(table->flow_groups(), 0u);
    }
    table.reset();
    Steered::TearDown();
  }

  /// A match on source address under a mask of so many bits.
  static Match match(std::uint32_t address, unsigned bits = 32) {
    Match m;
    const std::uint32_t mask = bits == 0 ? 0 : ~0u << (32 - bits);
    m.criteria = net::match_outer;
    prm::set_bits(m.mask.bytes().data(), 0x2c * 8, 32, mask);
    prm::set_bits(m.value.bytes().data(), 0x2c * 8, 32, address & mask);
    return m;
  }
  Result<> insert(const Match& m, std::uint32_t priority = 0) {
    auto placed = table->insert(priority, m, {.to = {}, .flow_tag = 0, .counters = {}});
    if (!placed) return fail(placed.error());
    placements.push_back(std::move(*placed));
    return {};
  }

  Owned<RuleTable> table;
  std::vector<RuleTable::Placement> placements;
};

TEST_F(Table, OneMaskIsFewFlowGroups) {
  for (std::uint32_t i = 0; i < 4096; ++i) ASSERT_TRUE(insert(match(i)));
  EXPECT_EQ(table->flow_groups(), 1u);
  for (std::uint32_t i = 4096; i < 10000; ++i) ASSERT_TRUE(insert(match(i)));
  EXPECT_EQ(table->flow_groups(), 2u);
  EXPECT_EQ(table->entries(), 10000u);
}

TEST_F(Table, FreedIndicesAreUsedAgain) {
  std::mt19937 random(7);
  for (std::uint32_t i = 0; i < 4000; ++i) ASSERT_TRUE(insert(match(i)));
  for (std::uint32_t i = 0; i < 20000; ++i) {
    std::swap(placements[random() % placements.size()], placements.back());
    placements.pop_back();
    ASSERT_TRUE(insert(match(i)));
  }
  EXPECT_EQ(table->flow_groups(), 1u);
}

TEST_F(Table, MasksAndPrioritiesHaveGroupsOfTheirOwn) {
  for (std::uint32_t priority = 0; priority < net::rule_priorities; ++priority)
    for (unsigned bits = 1; bits <= 32; ++bits)
      ASSERT_TRUE(insert(match(0xffffffff, bits), priority)) << bits;
  EXPECT_EQ(table->flow_groups(), net::rule_priorities * 32);
}

TEST_F(Table, ManyMasksShareWhatThereIs) {
  unsigned masks = 0;
  for (std::uint32_t mask = 1; mask < 1500; ++mask) {
    Match m;
    m.criteria = net::match_outer;
    prm::set_bits(m.mask.bytes().data(), 0x2c * 8, 32, mask);
    const auto done = insert(m, 3);
    if (!done) {
      EXPECT_EQ(done.error().errnum, ENOSPC) << done.error().text;
      break;
    }
    ++masks;
  }
  EXPECT_GT(masks, 100u);
}

TEST_F(Table, EmptyMaskIsAMaskToo) {
  Match everything;
  ASSERT_TRUE(insert(everything));
  ASSERT_TRUE(insert(match(1)));
  EXPECT_EQ(table->flow_groups(), 2u);
}

}  // namespace
}  // namespace chime::test
