// SPDX-License-Identifier: BSD-3-Clause
#include "model/aperture.h"

#include <gtest/gtest.h>

#include "rig.h"

namespace chime {
namespace {

using model::Aperture;
using model::UarCells;
using test::CompletionQueue;
using test::Rig;
using test::SendQueue;

/// Software that rings through cells, as the driver's doorbell does.
struct ApertureTest : ::testing::Test {
  Rig rig;
  CompletionQueue cq = rig.make_cq(6);
  SendQueue sq = rig.make_sq(9, cq);
  test::Data data = test::pointer(rig, test::udp4_frame(64));
  UarCells cells{};
  Aperture aperture{rig.uar->number, cells};
  std::size_t position = 0;

  void ring() {
    sq.post({data});
    sq.write_record();
    cells.send[position].store(sq.doorbell(), std::memory_order_release);
    position = (position + 1) % UarCells::send_cells;
  }
  std::size_t drain() {
    aperture.drain(*rig.hca);
    rig.run();
    return rig.wire.sent.size();
  }
};

TEST_F(ApertureTest, HandsOverInOrder) {
  for (unsigned i = 1; i <= 1000; ++i) {
    ring();
    if (i % 7 == 0) {
      EXPECT_EQ(drain(), i);
    }
  }
  EXPECT_EQ(aperture.drain(*rig.hca), 1000u % 7);
  EXPECT_EQ(aperture.drain(*rig.hca), 0u);
  EXPECT_TRUE(rig.diagnostics.rules.empty());
}

TEST_F(ApertureTest, ALappedDrainLosesNothing) {
  unsigned rung = 0;
  for (unsigned ahead : {127u, 128u, 129u, 200u, 256u, 300u, 5u, 128u, 130u, 1u}) {
    for (unsigned i = 0; i < ahead; ++i) ring();
    rung += ahead;
    EXPECT_EQ(drain(), rung) << ahead;
    // Wherever the writer stands now, it is found again.
    for (unsigned i = 0; i < 3; ++i) {
      ring();
      EXPECT_EQ(drain(), ++rung) << ahead;
    }
  }
  EXPECT_TRUE(rig.diagnostics.rules.empty());
}

TEST_F(ApertureTest, ArmCells) {
  test::EventQueue eq = rig.make_eq(4);
  CompletionQueue first = rig.make_cq(4, eq.eq), second = rig.make_cq(4, eq.eq);
  const auto store = [&](std::size_t cell, CompletionQueue& queue) {
    const std::uint64_t word = prm::cq_arm_word(0, prm::cq_arm::any, 0);
    cells.arm[cell].store(prm::host_to_be(word << 32 | queue.cq->number));
  };
  store(0, first);
  store(7, second);
  EXPECT_EQ(aperture.drain(*rig.hca), 2u);
  EXPECT_EQ(first.cq->arm, model::Cq::Arm::any);
  EXPECT_EQ(second.cq->arm, model::Cq::Arm::any);
}

TEST_F(ApertureTest, OffsetsThatMeanNothing) {
  rig.hca->doorbell(rig.uar->number, 0x100, 1);
  rig.hca->doorbell(0xfffff, prm::uar_blueflame, 1);
  EXPECT_EQ(rig.diagnostics.rules.size(), 2u);
}

}  // namespace
}  // namespace chime
