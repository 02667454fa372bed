// SPDX-License-Identifier: BSD-3-Clause
// Compressed completions, expanded the way drivers do it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "rig.h"

namespace chime {
namespace {

using model::CqeCompression;
using test::Bytes;
using test::CompletionQueue;
using test::pointer;
using test::ReceiveQueue;
using test::Rig;

struct Compressed : ::testing::Test {
  static constexpr std::size_t room = 2048;

  explicit Compressed(const model::Profile& profile = test::roomy_profile()) : rig(profile) {}

  Rig rig;
  CompletionQueue cq = rig.make_cq(6);
  ReceiveQueue rq = rig.make_rq(6, 1, cq);
  std::uint64_t buffers = rig.memory.allocate(64 * room, 4096);
  unsigned blocks = 0;
  std::uint32_t longest_block = 0;

  void SetUp() override {
    rig.receive_all(*rig.make_tir(rq));
    cq.cq->compression = CqeCompression::checksum;
  }
  void post(unsigned count) {
    for (unsigned i = 0; i < count; ++i) rq.post({pointer(rig, buffers + (rq.producer % 64) * room, room)});
    rq.write_record();
  }

  prm::Cqe& slot(std::uint32_t i) {
    return rig.memory.at<prm::Cqe>(cq.ring + std::uint64_t{i & cq.cq->ring.mask()} * prm::cqe_size);
  }

  /// All that there is, one whole CQE each. Slots get software's owner bit back, as Linux does.
  std::vector<prm::Cqe> expand() {
    std::vector<prm::Cqe> all;
    for (prm::Cqe cqe{}; cq.poll(cqe);) {
      if ((cqe.op_own & prm::cqe_compressed) != prm::cqe_compressed) {
        all.push_back(cqe);
        continue;
      }
      ++blocks;
      const std::uint32_t first = cq.consumer - 1;
      const std::uint32_t count = cqe.byte_cnt;
      longest_block = std::max(longest_block, count);
      std::array<prm::MiniCqe, prm::mini_cqes> minis;
      for (std::uint32_t i = 0; i < count; ++i) {
        if (i % prm::mini_cqes == 0) std::memcpy(&minis, &slot(first + (i ? i : 1)), sizeof minis);
        prm::Cqe one = cqe;
        const prm::MiniCqe& mini = minis[i % prm::mini_cqes];
        one.byte_cnt = mini.byte_cnt;
        one.op_own &= 0xf0;
        one.wqe_counter = static_cast<std::uint16_t>(cqe.wqe_counter + i);
        if (cq.cq->compression == CqeCompression::hash) {
          std::memcpy(&one.rss_hash_result, &mini, 4);
        } else {
          one.check_sum = mini.check_sum;
        }
        if (cq.cq->compression == CqeCompression::checksum_stride) one.wqe_counter = mini.stride_index;
        all.push_back(one);
      }
      for (std::uint32_t i = 0; i < count; ++i) slot(first + i).op_own = cq.cq->ring.owner(first + i);
      cq.consumer = first + count;
    }
    cq.publish();
    return all;
  }

  void expect(const std::vector<Bytes>& frames) {
    const std::uint16_t first = static_cast<std::uint16_t>(rq.rq->consumed - frames.size());
    const std::vector<prm::Cqe> all = expand();
    ASSERT_EQ(all.size(), frames.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(all[i].byte_cnt, frames[i].size()) << i;
      EXPECT_EQ(all[i].wqe_counter, static_cast<std::uint16_t>(first + i)) << i;
      if (cq.cq->compression != CqeCompression::hash) {
        EXPECT_EQ(all[i].check_sum, test::naive_sum(frames[i].data() + 14, frames[i].size() - 14)) << i;
      }
      EXPECT_EQ(all[i].hds_ip_ext, 7) << i;
    }
  }

  std::vector<Bytes> frames_of(unsigned count) {
    std::vector<Bytes> frames;
    for (unsigned i = 0; i < count; ++i) frames.push_back(test::udp4_frame(64 + i));
    return frames;
  }
};

TEST_F(Compressed, OnePacketIsNotCompressed) {
  post(1);
  const auto frames = frames_of(1);
  rig.wire.deliver_all(frames);
  expect(frames);
  EXPECT_EQ(blocks, 0u);
}

TEST_F(Compressed, BlocksOfEverySizeAtEveryPlace) {
  for (const auto format :
       {CqeCompression::checksum, CqeCompression::hash, CqeCompression::checksum_stride}) {
    cq.cq->compression = format;
    for (unsigned count = 2; count <= 32; ++count) {
      SCOPED_TRACE(count);
      blocks = 0;
      post(count);
      const auto frames = frames_of(count);
      rig.wire.deliver_all(frames);
      expect(frames);
      EXPECT_EQ(blocks, 1u);
    }
  }
}

/// A card whose blocks have up to 16 CQEs.
struct CompressedBy16 : Compressed {
  CompressedBy16() : Compressed(profile()) {}
  static model::Profile profile() {
    using G = prm::cmd_hca_cap;
    model::Profile made = test::roomy_profile();
    for (auto bytes : {made.capabilities.maximum(0), made.capabilities.current(0)})
      prm::View<G>(bytes).set(G::cqe_compression_max_num, 16);
    return made;
  }
};

TEST_F(CompressedBy16, BlocksHaveAsManyAsTheCapabilitySays) {
  for (unsigned count : {15u, 16u, 17u, 31u, 32u}) {
    SCOPED_TRACE(count);
    blocks = 0;
    longest_block = 0;
    post(count);
    const auto frames = frames_of(count);
    rig.wire.deliver_all(frames);
    expect(frames);
    EXPECT_EQ(longest_block, std::min(count, 16u));
    EXPECT_EQ(blocks, count <= 17 ? 1u : 2u) << "a last one alone is no block";
  }
}

TEST_F(Compressed, WhatDiffersBeginsAnew) {
  post(8);
  std::vector<Bytes> frames = frames_of(4);
  Bytes broken = test::udp4_frame(90);
  broken.back() ^= std::byte{1};
  rig.wire.deliver_all({frames[0], frames[1], broken, broken, broken, frames[2]});
  const auto all = expand();
  ASSERT_EQ(all.size(), 6u);
  EXPECT_EQ(blocks, 2u);
  EXPECT_EQ(all[1].hds_ip_ext, 7);
  EXPECT_EQ(all[2].hds_ip_ext, 3);
  EXPECT_EQ(all[4].hds_ip_ext, 3);
  EXPECT_EQ(all[5].hds_ip_ext, 7);
}

TEST_F(Compressed, OneEventForABlock) {
  cq.cq->arm = model::Cq::Arm::any;
  post(4);
  rig.wire.deliver_all(frames_of(4));
  EXPECT_EQ(cq.cq->arm, model::Cq::Arm::fired);
  EXPECT_EQ(cq.cq->producer, 4u);
}

TEST_F(Compressed, NeverMoreThanTheQueueHasRoomFor) {
  CompletionQueue small = rig.make_cq(2);
  small.cq->compression = CqeCompression::checksum;
  rq.rq->cq = model::Ref(small.cq);
  post(6);
  rig.wire.deliver_all(frames_of(6));
  EXPECT_EQ(small.cq->state, model::Cq::State::overflow);
  EXPECT_EQ(small.cq->producer, 4u) << "four fit, the fifth does not";
  EXPECT_EQ(rq.rq->state, model::QueueState::error);
}

}  // namespace
}  // namespace chime
