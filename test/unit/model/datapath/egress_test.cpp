// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "receive_fixture.h"

/// Frames of a send queue to the port's own addresses, on a wire from which nothing comes back.

namespace chime {
namespace {

using model::Ref;
using model::Tir;
using test::Bytes;
using test::CompletionQueue;
using test::pointer;

struct Egress : test::ReceiveFixture {
  CompletionQueue sent = rig.make_cq(6);
  test::SendQueue sq = rig.make_sq(6, sent);
  const Bytes frame = test::udp4_frame(200);
  const model::Mac own{2, 0, 0, 0, 0, 2}, other{2, 0, 0, 0, 0, 9};

  void SetUp() override {
    ReceiveFixture::SetUp();
    rig.wire.comes_back = false;
    rig.card->vport.permanent_address = own;
    post(8);
  }

  Bytes to(const model::Mac& address, Bytes bytes) const {
    for (std::size_t i = 0; i < address.size(); ++i) bytes[i] = static_cast<std::byte>(address[i]);
    return bytes;
  }
  void queue(const Bytes& bytes, test::SendOptions options = {}) {
    options.inline_header = Bytes(bytes.begin(), bytes.begin() + 18);
    sq.post({pointer(rig, Bytes(bytes.begin() + 18, bytes.end()))}, options);
  }
  void send(const Bytes& bytes) {
    queue(bytes);
    rig.ring(sq);
    rig.run();
  }
  /// The next frame that was received.
  Bytes got() {
    prm::Cqe cqe{};
    if (!cq.poll(cqe)) return {};
    cq.publish();
    return rig.memory.read(buffer(cqe.wqe_counter), cqe.byte_cnt);
  }
  model::TransportDomain* make_domain() {
    return *rig.card->transport_domains.insert(std::make_unique<model::TransportDomain>());
  }
};

TEST_F(Egress, AnOwnAddressTurnsBack) {
  send(frame);
  EXPECT_EQ(got(), frame);
  EXPECT_TRUE(rig.wire.sent.empty());
  EXPECT_EQ(rig.card->vport.transmitted.unicast.packets, 1u);
  EXPECT_EQ(rig.card->vport.received.unicast.octets, 200u);
  EXPECT_EQ(rig.card->port.transmitted.unicast.packets, 0u) << "it did not come to the physical port";
  EXPECT_EQ(rig.card->port.received.unicast.packets, 0u);
}

TEST_F(Egress, AllElseGoesToTheWire) {
  for (const model::Mac& address : {other, model::Mac{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, model::Mac{1}}) {
    send(to(address, frame));
    EXPECT_TRUE(got().empty());
  }
  EXPECT_EQ(rig.wire.sent.size(), 3u);
  EXPECT_EQ(rig.card->port.transmitted.unicast.packets, 1u);
}

TEST_F(Egress, OneBurstGoesBothWaysInOrder) {
  const Bytes away = to(other, frame);
  for (unsigned i = 0; i < 3; ++i) {
    queue(test::udp4_frame(100 + i));
    queue(away);
  }
  rig.ring(sq);
  rig.run();
  for (unsigned i = 0; i < 3; ++i) EXPECT_EQ(got(), test::udp4_frame(100 + i));
  EXPECT_EQ(rig.wire.sent, std::vector<Bytes>(3, away));
}

TEST_F(Egress, EveryAddressOfTheVirtualPort) {
  model::VportContext& vport = rig.card->vport;
  vport.unicast_list = std::move(*Array<model::Mac>::make(1, "addresses"));
  vport.unicast_list[0] = {2, 0, 0, 0, 1, 1};
  auto entry = std::make_unique<model::L2Entry>();
  entry->address = {2, 0, 0, 0, 1, 2};
  ASSERT_TRUE(rig.card->l2_table.entries.insert(3, entry.get()).has_value());
  entry.release();
  for (const model::Mac& address : {model::Mac{2, 0, 0, 0, 1, 1}, model::Mac{2, 0, 0, 0, 1, 2}}) {
    const Bytes bytes = to(address, frame);
    send(bytes);
    EXPECT_EQ(got(), bytes);
  }
  vport.permanent_address = {};
  send(to({}, frame));
  EXPECT_EQ(rig.wire.sent.size(), 1u) << "no address is no address";
}

TEST_F(Egress, TheDriverTurnsItOff) {
  rig.card->vport.block_local_unicast = true;
  send(frame);
  EXPECT_TRUE(got().empty());
  EXPECT_EQ(rig.wire.sent.size(), 1u);
}

TEST_F(Egress, AWireThatLoopsBringsItOnce) {
  rig.wire.comes_back = rig.wire.loop = true;
  send(frame);
  EXPECT_EQ(got(), frame);
  EXPECT_TRUE(got().empty());
}

TEST_F(Egress, ATirTakesItsOwnDomainsFramesWhenItWasTold) {
  model::TransportDomain* const domain = make_domain();
  rig.tis->transport_domain = Ref(domain);
  send(frame);
  EXPECT_EQ(got(), frame) << "from another domain";
  tir->transport_domain = Ref(domain);
  send(frame);
  EXPECT_TRUE(got().empty());
  tir->self_loopback = Tir::self_multicast;
  send(frame);
  EXPECT_TRUE(got().empty());
  tir->self_loopback = Tir::self_unicast;
  send(frame);
  EXPECT_EQ(got(), frame);
  EXPECT_TRUE(rig.wire.sent.empty());
  tir->self_loopback = 0;
  rig.wire.deliver(frame);
  EXPECT_EQ(got(), frame) << "from the wire";
}

TEST_F(Egress, ALargeSendIsCutThoughTheWireWould) {
  rig.wire.cutting = true;
  test::FrameBuilder builder;
  builder.ethernet(0x0800).ipv4(6, 20 + 3000).tcp().fill(3000, 3, 7);
  const Bytes large = builder.bytes();
  const auto header = large.begin() + 54;
  sq.post({pointer(rig, Bytes(header, large.end()))}, {.inline_header = Bytes(large.begin(), header),
                                                       .cs_flags = 0xc0,
                                                       .mss = 1000,
                                                       .opcode = prm::wqe_opcode::lso});
  rig.ring(sq);
  rig.run();
  for (unsigned i = 0; i < 3; ++i) EXPECT_EQ(got().size(), 1054u) << i;
  EXPECT_TRUE(rig.wire.sent.empty());
}

TEST_F(Egress, NothingTurnsBackWhileTheLinkIsDown) {
  rig.wire.set_up(false);
  send(frame);
  EXPECT_TRUE(got().empty());
  EXPECT_EQ(rig.card->port.transmit_discarded, 1u);
}

}  // namespace
}  // namespace chime
