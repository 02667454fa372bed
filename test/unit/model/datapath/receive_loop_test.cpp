// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>

#include "receive_fixture.h"

/// From a send queue over a wire that loops to a receive queue.

namespace chime {
namespace {

using test::Bytes;
using test::CompletionQueue;
using test::pointer;

struct ReceiveLoop : test::ReceiveFixture {};

TEST_F(ReceiveLoop, LoopedFromSendQueueToReceiveQueue) {
  rig.wire.loop = true;
  CompletionQueue sent = rig.make_cq(6);
  test::SendQueue sq = rig.make_sq(6, sent);
  post(40);
  for (unsigned i = 0; i < 40; ++i) {
    const Bytes frame = test::udp4_frame(60 + i * 37, i);
    sq.post({pointer(rig, Bytes(frame.begin() + 18, frame.end()))},
            {.inline_header = Bytes(frame.begin(), frame.begin() + 18), .cs_flags = 0xc0});
  }
  rig.ring(sq);
  rig.run();
  for (unsigned i = 0; i < 40; ++i) {
    prm::Cqe cqe{};
    ASSERT_TRUE(cq.poll(cqe));
    EXPECT_EQ(cqe.hds_ip_ext, 7);
    EXPECT_EQ(rig.memory.read(buffer(i), cqe.byte_cnt), test::udp4_frame(60 + i * 37, i));
  }
}

TEST_F(ReceiveLoop, LoopedIntoTheBufferThatItIsSentFrom) {
  rig.wire.loop = true;
  CompletionQueue sent = rig.make_cq(6);
  test::SendQueue sq = rig.make_sq(6, sent);
  const Bytes frame = test::udp4_frame(1000);
  for (const std::uint64_t ahead : {1u, 30u, 400u}) {
    post(1);
    const std::uint64_t from = buffer(rq.producer - 1u) + ahead;
    rig.memory.write(from, Bytes(frame.begin() + 18, frame.end()));
    sq.post({pointer(rig, from, 982)}, {.inline_header = Bytes(frame.begin(), frame.begin() + 18)});
    rig.ring(sq);
    rig.run();
    prm::Cqe cqe{};
    ASSERT_TRUE(cq.poll(cqe));
    ASSERT_EQ(cqe.byte_cnt, 1000u);
    const Bytes got = rig.memory.read(from - ahead, 1000);
    // The header comes first, and lies on the payload's first bytes when that is less than 18 bytes further
    // on.
    const auto spoilt = static_cast<std::ptrdiff_t>(ahead < 18 ? 18 - ahead : 0);
    EXPECT_TRUE(std::equal(got.begin(), got.begin() + 18, frame.begin())) << ahead;
    EXPECT_TRUE(std::equal(got.begin() + 18 + spoilt, got.end(), frame.begin() + 18 + spoilt)) << ahead;
  }
}

}  // namespace
}  // namespace chime
