// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "pair.h"

/// Queue pairs of one card that talk to each other, on a wire from which nothing comes back.

namespace chime {
namespace {

using prm::wqe_opcode;
using test::Bytes;
using test::pointer;
using test::QueuePair;
using test::RoceRig;
using test::Wqe;

struct TurnBack : ::testing::Test {
  RoceRig rig;
  std::uint64_t target = rig.memory.allocate(65536, 4096);
  std::uint64_t local = rig.memory.allocate(65536, 4096);

  void SetUp() override {
    rig.wire.comes_back = rig.wire.loop = false;
    rig.wire.keep = true;
    rig.card->vport.permanent_address = rig.card->roce_addresses[0].mac;
  }
  QueuePair datagrams() { return rig.make_qp({.service = model::QpService::ud}); }
};

TEST_F(TurnBack, ConnectionsOverBothAddresses) {
  for (unsigned gid : {0u, 1u}) {
    QueuePair a = rig.make_qp(), b = rig.make_qp();
    rig.connect(a, b, gid);
    b.post_receive({pointer(rig, target, 8192)});
    rig.memory.write(local, Bytes(5000, std::byte{0x5e}));
    rig.memory.at<std::uint64_t>(target + 8192) = 0;
    a.post(Wqe(wqe_opcode::send).data(local, 5000, rig.lkey()));
    a.post(test::fetch_add(7, target + 8192, rig.rkey(), local + 8192, rig.lkey()));
    a.ring();
    rig.run();
    prm::Cqe cqe;
    for (int i = 0; i < 2; ++i) {
      ASSERT_TRUE(a.send_cq.poll(cqe)) << gid;
      EXPECT_EQ(prm::cqe_opcode_of(cqe.op_own), prm::cqe_opcode::requester);
    }
    ASSERT_TRUE(b.receive_cq.poll(cqe));
    EXPECT_EQ(cqe.byte_cnt, 5000u);
    EXPECT_EQ(rig.memory.read(target, 5000), Bytes(5000, std::byte{0x5e}));
  }
  EXPECT_TRUE(rig.wire.sent.empty());
  EXPECT_NE(rig.card->vport.received.unicast.packets, 0u);
  EXPECT_EQ(rig.card->port.received.unicast.packets, 0u);
}

TEST_F(TurnBack, WhateverTheDriverSaysOfRawFrames) {
  rig.card->vport.block_local_unicast = true;
  QueuePair a = rig.make_qp(), b = rig.make_qp();
  rig.connect(a, b);
  b.post_receive({pointer(rig, target, 4096)});
  a.post(Wqe(wqe_opcode::send).data(local, 10, rig.lkey()));
  a.ring();
  rig.run();
  prm::Cqe cqe;
  EXPECT_TRUE(a.send_cq.poll(cqe));
  EXPECT_TRUE(b.receive_cq.poll(cqe));
}

TEST_F(TurnBack, AnotherCardsAddressIsOnTheWire) {
  QueuePair a = rig.make_qp(), b = rig.make_qp();
  model::QpAttributes away = rig.attributes(b);
  away.path.remote_mac[5] ^= 0xff;
  RoceRig::bring_up(a, away);
  a.post(Wqe(wqe_opcode::send).data(local, 10, rig.lkey()));
  a.ring();
  rig.run();
  EXPECT_EQ(rig.wire.sent.size(), 1u);
}

TEST_F(TurnBack, Datagrams) {
  QueuePair c = datagrams(), d = datagrams();
  rig.connect(c, d);
  d.post_receive({pointer(rig, target, 4096)});
  c.post(Wqe(wqe_opcode::send)
             .vector(rig.card->roce_addresses[0], d.qp->number, 0x1234)
             .data(local, 500, rig.lkey()));
  c.ring();
  rig.run();
  prm::Cqe cqe;
  ASSERT_TRUE(d.receive_cq.poll(cqe));
  EXPECT_EQ(cqe.byte_cnt, 540u);
  EXPECT_TRUE(rig.wire.sent.empty());
}

TEST_F(TurnBack, AGroupIsHereAndOnTheWire) {
  constexpr model::RoceAddress group{.gid = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 1, 2, 3},
                                     .mac = {1, 0, 0x5e, 1, 2, 3}};
  QueuePair from = datagrams(), member = datagrams();
  for (QueuePair* qp : {&from, &member}) {
    RoceRig::bring_up(*qp, rig.attributes(*qp));
    for (int i = 0; i < 4; ++i) qp->post_receive({pointer(rig, target, 4096)});
  }
  // How often the sender and the other got it.
  auto send = [&] {
    from.post(Wqe(wqe_opcode::send).vector(group, model::multicast_qpn, 0x1234).data(local, 100, rig.lkey()));
    from.ring();
    rig.run();
    std::array<int, 2> got{};
    prm::Cqe cqe;
    while (from.receive_cq.poll(cqe)) ++got[0];
    while (member.receive_cq.poll(cqe)) ++got[1];
    return got;
  };
  using Got = std::array<int, 2>;
  EXPECT_EQ(send(), (Got{0, 0}));
  ASSERT_TRUE(rig.card->multicast.attach(group.gid, *member.qp));
  EXPECT_EQ(send(), (Got{0, 1}));
  ASSERT_TRUE(rig.card->multicast.attach(group.gid, *from.qp));
  EXPECT_EQ(send(), (Got{1, 1}));
  from.qp->block_own_multicast = true;
  EXPECT_EQ(send(), (Got{0, 1})) << "block_lb_mc";
  EXPECT_EQ(rig.wire.sent.size(), 4u);
}

TEST_F(TurnBack, AGroupWithoutMembersIsNotForTheNetworkInterface) {
  constexpr model::RoceAddress group{.gid = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 1, 2, 3},
                                     .mac = {1, 0, 0x5e, 1, 2, 3}};
  test::CompletionQueue cq = rig.make_cq(4);
  test::ReceiveQueue rq = rig.make_rq(4, 1, cq);
  rq.post({pointer(rig, target, 4096)});
  rq.write_record();
  rig.receive_all(*rig.make_tir(rq));
  QueuePair from = datagrams();
  RoceRig::bring_up(from, rig.attributes(from));
  ASSERT_TRUE(rig.card->multicast.attach({0xff, 0x0e}, *from.qp));
  from.post(Wqe(wqe_opcode::send).vector(group, model::multicast_qpn, 0x1234).data(local, 100, rig.lkey()));
  from.ring();
  rig.run();
  prm::Cqe cqe;
  EXPECT_FALSE(cq.poll(cqe));
  EXPECT_EQ(rig.wire.sent.size(), 1u);
}

}  // namespace
}  // namespace chime
