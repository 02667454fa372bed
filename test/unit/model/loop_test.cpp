// SPDX-License-Identifier: BSD-3-Clause
#include "model/loop.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <thread>
#include <vector>

namespace chime {
namespace {

using model::Loop;
using model::LoopOptions;
using model::Stepped;

struct Counter final : Stepped {
  unsigned step() noexcept override {
    ++steps;
    return work.load() != 0 ? (--work, 1) : 0;
  }
  std::atomic<unsigned> steps{0};
  std::atomic<unsigned> work{0};
};

Owned<Loop> make(LoopOptions options) {
  auto made = Loop::create(options);
  EXPECT_TRUE(made.has_value()) << made.error().text;
  return std::move(*made);
}

TEST(Loop, CallerSteps) {
  const auto loop = make({.mode = LoopOptions::Mode::caller});
  Counter a, b;
  a.work = 2;
  ASSERT_TRUE(loop->add(a).has_value());
  ASSERT_TRUE(loop->add(b).has_value());
  EXPECT_EQ(loop->step(), 1u);
  EXPECT_EQ(loop->step(), 1u);
  EXPECT_EQ(loop->step(), 0u);
  EXPECT_EQ(b.steps, 3u);
  bool called = false;
  loop->run([&] { called = true; });
  EXPECT_TRUE(called);
  loop->remove(a);
  loop->step();
  EXPECT_EQ(a.steps, 3u);
  EXPECT_EQ(b.steps, 4u);
}

TEST(Loop, ManyMembers) {
  const auto loop = make({.mode = LoopOptions::Mode::caller});
  std::vector<Counter> members(20);
  for (Counter& member : members) ASSERT_TRUE(loop->add(member).has_value());
  for (std::size_t i = 0; i < members.size(); i += 2) loop->remove(members[i]);
  loop->step();
  for (std::size_t i = 0; i < members.size(); ++i) EXPECT_EQ(members[i].steps, i % 2);
}

struct RemovesItself final : Stepped {
  explicit RemovesItself(Loop& l) : loop(l) {}
  unsigned step() noexcept override {
    ++steps;
    loop.remove(*this);
    return 1;
  }
  Loop& loop;
  unsigned steps = 0;
};

TEST(Loop, AMemberMayGoDuringItsStep) {
  const auto loop = make({.mode = LoopOptions::Mode::caller});
  RemovesItself one(*loop);
  Counter other;
  ASSERT_TRUE(loop->add(one).has_value());
  ASSERT_TRUE(loop->add(other).has_value());
  loop->step();
  loop->step();
  EXPECT_EQ(one.steps, 1u);
  EXPECT_EQ(other.steps, 2u);
}

TEST(Loop, ThreadStepsAndServesCalls) {
  const auto loop = make({});
  Counter counter;
  counter.work = 1000;
  ASSERT_TRUE(loop->add(counter).has_value());
  pthread_t self{};
  char name[16] = {};
  loop->run([&] {
    self = pthread_self();
    pthread_getname_np(self, name, sizeof name);
    loop->run([&] { name[15] = 0; });  // on its own thread: at once
  });
  EXPECT_FALSE(pthread_equal(self, pthread_self()));
  EXPECT_STREQ(name, "chime-model");
  while (counter.work != 0) std::this_thread::yield();
  loop->remove(counter);
  const unsigned steps = counter.steps;
  loop->run([] {});
  EXPECT_EQ(counter.steps, steps);
}

TEST(Loop, CallsFromManyThreadsRunOneAtATime) {
  const auto loop = make({});
  unsigned value = 0;  // guarded by the loop
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 200; ++n) loop->run([&] { ++value; });
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(value, 800u);
}

TEST(Loop, BoundToACpu) {
  cpu_set_t mine;
  ASSERT_EQ(sched_getaffinity(0, sizeof mine, &mine), 0);
  int cpu = 0;
  while (!CPU_ISSET(static_cast<unsigned>(cpu), &mine)) ++cpu;
  const auto loop = make({.cpu = cpu});
  cpu_set_t its;
  loop->run([&] { sched_getaffinity(0, sizeof its, &its); });
  EXPECT_EQ(CPU_COUNT(&its), 1);
  EXPECT_TRUE(CPU_ISSET(static_cast<unsigned>(cpu), &its));
}

TEST(Loop, ACpuThatIsNotThere) {
  for (int cpu : {1000, 100000}) {
    const auto made = Loop::create({.cpu = cpu});
    ASSERT_FALSE(made.has_value());
    EXPECT_NE(std::string_view(made.error().text).find("CPU"), std::string_view::npos);
  }
}

}  // namespace
}  // namespace chime
