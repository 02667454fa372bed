// SPDX-License-Identifier: BSD-3-Clause
#include "hca/model/kernel.h"

#include <gtest/gtest.h>

#include <array>
#include <utility>

#include "hca/model/embedded.h"
#include "hca/model/findings.h"
#include "hca/model/memory.h"
#include "model/clock.h"
#include "model/hca.h"
#include "model/profile.h"

/// @file
/// The kernel driver of the software HCA: its bring-up, command by command.

namespace chime::hca::embedded {
namespace {

/// Nothing is plugged in.
struct NoWire final : model::Wire {
  void plug(model::WirePort*) noexcept override {}
  void transmit(std::span<const model::Frame>) noexcept override {}
  unsigned poll(unsigned) noexcept override { return 0; }
  model::WireLink link() const noexcept override { return {}; }
  std::uint32_t largest_frame() const noexcept override { return 1518; }
};

struct NoEvents final : EventSink {
  void event(const prm::Eqe&) noexcept override {}
};

struct KernelTest : testing::Test {
  void SetUp() override {
    auto profile = model::Profile::named(model::Profile::names()[0]);
    ASSERT_TRUE(profile);
    auto made = model::Hca::create(*profile, {memory, wire, interrupts, clock, findings});
    ASSERT_TRUE(made);
    hca = std::move(*made);
  }

  std::uint32_t objects() const {
    std::array<model::ObjectCount, 64> counts;
    const std::size_t kinds = hca->count_objects(counts);
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < kinds; ++i) sum += counts[i].live;
    return sum;
  }

  const MacAddress mac{2, 0, 0, 0, 0, 1};
  model::SystemClock clock;
  RegisteredMemory memory;
  PendingInterrupts interrupts;
  Findings findings{"test", clock};
  NoWire wire;
  NoEvents events;
  Owned<model::Hca> hca;
};

TEST_F(KernelTest, EveryCommandOfBringUpMayFail) {
  const std::uint32_t at_power_on = objects();
  Kernel kernel(*hca, memory, findings, events);
  unsigned n = 1;
  for (;; ++n) {
    kernel.fail_command(n);
    Result<> started = kernel.start(mac);
    kernel.fail_command(0);
    if (started) break;
    EXPECT_EQ(started.error().errnum, EIO) << started.error().text;
    EXPECT_EQ(objects(), at_power_on) << "after command " << n << ": " << started.error().text;
    EXPECT_EQ(kernel.uid(), 0u);
    ASSERT_LT(n, 200u);
  }
  EXPECT_GT(n, 15u);
  EXPECT_NE(kernel.uid(), 0u);
  EXPECT_GT(objects(), at_power_on);
  kernel.stop();
  EXPECT_EQ(objects(), at_power_on);
}

TEST_F(KernelTest, EveryCommandOfTheEndMayFail) {
  const std::uint32_t at_power_on = objects();
  // What a card refuses to take back must not keep the host from going on, nor from starting again.
  for (unsigned n = 1; n < 30; ++n) {
    Kernel kernel(*hca, memory, findings, events);
    Result<> started = kernel.start(mac);
    ASSERT_TRUE(started) << "round " << n << ": " << started.error().text;
    kernel.fail_command(n);
    kernel.stop();
    kernel.fail_command(0);
    // A new card: this one may have kept what it was not told to give up.
    hca.reset();
    SetUp();
    EXPECT_EQ(objects(), at_power_on);
  }
}

}  // namespace
}  // namespace chime::hca::embedded
