// SPDX-License-Identifier: BSD-3-Clause
#include "card.h"

namespace chime::test {

Objects objects(hca::Device& device) {
  std::array<model::ObjectCount, 64> counts;
  const std::size_t kinds = hca::embedded::count_objects(device, counts);
  Objects live;
  for (std::size_t i = 0; i < kinds; ++i) {
    if (counts[i].live != 0) live[counts[i].kind] = counts[i].live;
  }
  return live;
}

void CardTest::SetUp() {
  auto made = hca::Runtime::create();
  ASSERT_TRUE(made) << why(made);
  runtime = std::move(*made);
  auto opened = runtime->open({.name = "test0", .model_thread = "caller"});
  ASSERT_TRUE(opened) << why(opened);
  device = std::move(*opened);
  objects_at_start = objects(*device);
}

void CardTest::TearDown() {
  if (!device) return;
  EXPECT_EQ(objects(*device), objects_at_start);
  EXPECT_EQ(hca::embedded::refused_destroys(*device), 0u);
}

void CardTest::settle() {
  for (int i = 0; i < 1000 && runtime->step() != 0; ++i) {
  }
}

}  // namespace chime::test
