// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <vector>

#include "card.h"
#include "path.h"
#include "prm/layouts.h"

namespace chime::test {
namespace {

using Match = prm::Box<prm::fte_match_param>;
constexpr std::uint8_t outer = prm::match_criteria::outer_headers;

class SteeringTest : public CardTest {
 protected:
  /// How many of `count` frames to this destination address arrive in the path's queue.
  unsigned arrive(Path& path, std::uint8_t last_byte, unsigned count = 1) {
    path.post_receives(count);
    std::array<std::byte, 64> frame{};
    frame[0] = std::byte{0x02};
    frame[5] = static_cast<std::byte>(last_byte);
    frame[12] = std::byte{0x88};
    frame[13] = std::byte{0xb5};
    for (unsigned n = 0; n < count; ++n) path.send(frame);
    settle();
    unsigned got = 0;
    while (path.poll_receive()) ++got;
    while (path.poll_send()) {
    }
    return got;
  }
  Match to_address(std::uint8_t last_byte) {
    Match match;
    match.at(prm::fte_match_param::outer_headers)
        .set(prm::fte_match_set_lyr_2_4::dmac_47_16, 0x02000000)
        .set(prm::fte_match_set_lyr_2_4::dmac_15_0, last_byte);
    return match;
  }
  Match address_mask() {
    Match match;
    match.at(prm::fte_match_param::outer_headers)
        .set(prm::fte_match_set_lyr_2_4::dmac_47_16, 0xffffffff)
        .set(prm::fte_match_set_lyr_2_4::dmac_15_0, 0xffff);
    return match;
  }
  Result<hca::Object> rule(std::uint8_t last_byte, std::uint16_t priority, const hca::Object& tir) {
    return device->steering().root(outer, address_mask().bytes(), to_address(last_byte).bytes(), priority,
                                   {hca::RootDestination::Kind::tir, tir.number()});
  }
};

TEST_F(SteeringTest, RulesOfOnePriorityLieSideBySide) {
  auto path = Path::make(*device);
  ASSERT_TRUE(path) << why(path);
  path->root = {};
  EXPECT_EQ(arrive(*path, 1), 0u);
  std::vector<hca::Object> rules;
  for (std::uint8_t n = 0; n < 200; ++n) {  // more than a group has room for
    auto made = rule(n, 3, path->tir);
    ASSERT_TRUE(made) << why(made);
    rules.push_back(std::move(*made));
  }
  EXPECT_EQ(arrive(*path, 0), 1u);
  EXPECT_EQ(arrive(*path, 199), 1u);
  EXPECT_EQ(arrive(*path, 200), 0u);
  rules.erase(rules.begin() + 100, rules.begin() + 150);
  EXPECT_EQ(arrive(*path, 120), 0u);
  EXPECT_EQ(arrive(*path, 199), 1u);
  auto again = rule(120, 3, path->tir);
  ASSERT_TRUE(again);
  EXPECT_EQ(arrive(*path, 120), 1u);
}

TEST_F(SteeringTest, PrioritiesAreTriedInOrder) {
  auto first = Path::make(*device), second = Path::make(*device);
  ASSERT_TRUE(first && second);
  first->root = {};
  second->root = {};
  auto late = rule(7, 9, second->tir);
  ASSERT_TRUE(late) << why(late);
  EXPECT_EQ(arrive(*second, 7), 1u);
  // Before, between and after what is there.
  auto early = rule(7, 2, first->tir);
  ASSERT_TRUE(early) << why(early);
  EXPECT_EQ(arrive(*first, 7), 1u);
  auto last = rule(8, 15, first->tir), between = rule(9, 5, first->tir);
  ASSERT_TRUE(last && between);
  EXPECT_EQ(arrive(*first, 8), 1u);
  EXPECT_EQ(arrive(*first, 9), 1u);
  *early = {};
  EXPECT_EQ(arrive(*second, 7), 1u);
  *between = {};
  EXPECT_EQ(arrive(*first, 8), 1u);
  *late = {};
  *last = {};
  EXPECT_EQ(arrive(*first, 8), 0u);
}

TEST_F(SteeringTest, EveryCommandOfARuleMayFail) {
  auto path = Path::make(*device);
  ASSERT_TRUE(path);
  const auto before = objects(*device);
  auto kept = rule(1, 8, path->tir);
  ASSERT_TRUE(kept);
  const auto with_one = objects(*device);
  for (const std::uint16_t priority : std::array<std::uint16_t, 3>{3, 8, 12}) {
    for (unsigned n = 1;; ++n) {
      hca::embedded::fail_command(*device, n);
      auto made = rule(2, priority, path->tir);
      hca::embedded::fail_command(*device, 0);
      if (made) break;
      ASSERT_EQ(objects(*device), with_one) << made.error().text;
      ASSERT_LT(n, 50u);
    }
  }
  *kept = {};
  EXPECT_EQ(objects(*device), before);
}

TEST_F(SteeringTest, WrongRulesAreRefused) {
  auto path = Path::make(*device);
  ASSERT_TRUE(path);
  EXPECT_FALSE(rule(1, 16, path->tir)) << "there are 16 priorities";
  auto nowhere = device->steering().root(0, {}, {}, 0, {hca::RootDestination::Kind::tir, 0xabcdef});
  ASSERT_FALSE(nowhere);
  const std::array<std::byte, 4096> long_mask{};
  EXPECT_FALSE(device->steering().root(outer, long_mask, {}, 0,
                                       {hca::RootDestination::Kind::tir, path->tir.number()}));
}

}  // namespace
}  // namespace chime::test
