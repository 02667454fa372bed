// SPDX-License-Identifier: BSD-3-Clause
// Receive queues with strides: where packets begin, what completions say, how WQEs follow one another.
#include <gtest/gtest.h>

#include <cstring>

#include "rig.h"

namespace chime {
namespace {

using model::QueueState;
using test::Bytes;
using test::CompletionQueue;
using test::ReceiveQueue;
using test::Rig;

/// 4 WQEs of 8 strides of 256 bytes.
struct Striding : ::testing::TestWithParam<bool> {
  static constexpr std::uint32_t strides = 8, stride = 256, wqes = 4;

  Rig rig;
  CompletionQueue cq = rig.make_cq(7);
  ReceiveQueue rq = rig.make_rq(2, 2, cq);
  std::uint64_t buffers = rig.memory.allocate(wqes * strides * stride, 4096);

  void SetUp() override {
    rig.receive_all(*rig.make_tir(rq));
    rq.rq->strides = {.log_count = 3, .log_bytes = 8, .linked = GetParam()};
    for (std::uint32_t i = 0; i < wqes; ++i) write(i, (i + 1) % wqes);
  }

  void write(std::uint32_t i, std::uint32_t next) {
    const std::uint64_t at = rq.ring + (std::uint64_t{i} << rq.rq->ring.log_stride);
    rig.memory.at<prm::WqeNext>(at).next_wqe_index = static_cast<std::uint16_t>(next);
    auto& data = rig.memory.at<prm::WqeData>(at + sizeof(prm::WqeNext));
    data.byte_count = strides * stride;
    data.lkey = rig.lkey();
    data.address = buffers + std::uint64_t{i} * strides * stride;
  }
  void post(std::uint16_t count) {
    rq.producer = static_cast<std::uint16_t>(rq.producer + count);
    rq.write_record();
  }
  std::uint64_t at(std::uint32_t wqe, std::uint32_t first) const {
    return buffers + (std::uint64_t{wqe} * strides + first) * stride;
  }
  prm::Cqe completion() {
    prm::Cqe cqe{};
    EXPECT_TRUE(cq.poll(cqe));
    cq.publish();
    EXPECT_EQ(prm::cqe_opcode_of(cqe.op_own), prm::cqe_opcode::responder_send);
    return cqe;
  }
  /// Delivers a packet that is expected in these strides.
  void expect(std::size_t size, std::uint32_t wqe, std::uint32_t first, std::uint32_t count) {
    const Bytes frame = test::udp4_frame(size);
    rig.wire.deliver(frame);
    expect_taken(frame, wqe, first, count);
  }
  void expect_taken(const Bytes& frame, std::uint32_t wqe, std::uint32_t first, std::uint32_t count) {
    const prm::Cqe cqe = completion();
    EXPECT_EQ(cqe.wqe_id, wqe);
    EXPECT_EQ(cqe.wqe_counter, first);
    EXPECT_EQ(cqe.byte_cnt, frame.size() | count << 16);
    const std::uint32_t shift = rq.rq->strides.two_byte_shift ? 2 : 0;
    EXPECT_EQ(rig.memory.read(at(wqe, first) + shift, frame.size()), frame);
  }
};

TEST_P(Striding, PacketsTakeTheStridesTheyNeed) {
  post(1);
  expect(64, 0, 0, 1);
  expect(256, 0, 1, 1);
  expect(257, 0, 2, 2);
  expect(1024, 0, 4, 4);
  rig.wire.deliver(test::udp4_frame(64));
  EXPECT_EQ(rq.rq->out_of_buffer, 1u) << "the WQE is full";
  post(1);
  expect(64, 1, 0, 1);
  EXPECT_EQ(rq.rq->consumed, 1u);
}

TEST_P(Striding, FillerTellsOfTheRest) {
  post(2);
  expect(1500, 0, 0, 6);
  const Bytes frame = test::udp4_frame(600);
  rig.wire.deliver(frame);
  const prm::Cqe filler = completion();
  EXPECT_EQ(filler.byte_cnt, prm::cqe_filler | 2u << 16);
  EXPECT_EQ(filler.wqe_id, 0u);
  EXPECT_EQ(filler.wqe_counter, 6u);
  expect_taken(frame, 1, 0, 3);
}

TEST_P(Striding, FillerWithoutANextWqe) {
  post(1);
  expect(1500, 0, 0, 6);
  rig.wire.deliver(test::udp4_frame(600));
  EXPECT_EQ(completion().byte_cnt, prm::cqe_filler | 2u << 16);
  EXPECT_EQ(rq.rq->out_of_buffer, 1u);
  prm::Cqe cqe{};
  EXPECT_FALSE(cq.poll(cqe));
  post(1);
  expect(600, 1, 0, 3);
}

TEST_P(Striding, TwoByteShift) {
  rq.rq->strides.two_byte_shift = true;
  post(1);
  expect(254, 0, 0, 1);
  expect(255, 0, 1, 2);
  expect(64, 0, 3, 1);
}

TEST_P(Striding, ManyTimesAround) {
  post(wqes);
  for (std::uint32_t n = 0; n < 20 * wqes; ++n) {
    for (std::uint32_t first = 0; first < strides; first += 2) expect(300 + n, n % wqes, first, 2);
    post(1);
  }
}

TEST_P(Striding, LongerThanAWqeIsDropped) {
  post(2);
  rig.card->port.admin_mtu = 9998;
  rig.wire.deliver(test::udp4_frame(strides * stride + 1));
  EXPECT_EQ(rq.rq->too_long, 1u);
  prm::Cqe cqe{};
  EXPECT_FALSE(cq.poll(cqe));
  expect(strides * stride, 0, 0, strides);
}

TEST_P(Striding, ForeignKeyFailsTheQueue) {
  rig.memory.at<prm::WqeData>(rq.ring + sizeof(prm::WqeNext)).lkey = 0x123400;
  post(2);
  rig.wire.deliver(test::udp4_frame(64));
  EXPECT_EQ(prm::cqe_opcode_of(cq.poll_error().op_own), prm::cqe_opcode::responder_error);
  EXPECT_EQ(rq.rq->state, QueueState::error);
}

INSTANTIATE_TEST_SUITE_P(Kinds, Striding, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "LinkedList" : "Cyclic"; });

/// Software links WQEs in the order in which it gives them back.
struct LinkedList : Striding {};

TEST_P(LinkedList, FollowsTheLinks) {
  write(0, 2), write(2, 1), write(1, 3);
  post(3);
  for (std::uint32_t wqe : {0u, 2u, 1u}) expect(2000, wqe, 0, 8);
  // The next is read when it is posted, not before.
  write(1, 0);
  post(1);
  expect(64, 0, 0, 1);
}

INSTANTIATE_TEST_SUITE_P(Kinds, LinkedList, ::testing::Values(true));

}  // namespace
}  // namespace chime
