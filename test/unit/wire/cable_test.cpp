// SPDX-License-Identifier: BSD-3-Clause
#include "support.h"

namespace chime::wire::test {

using CableTest = WireTest;

TEST_F(CableTest, CarriesBothWays) {
  Plugged a(make("net_chime0", "cable:x")), b(make("net_chime1", "cable:x"));
  EXPECT_TRUE(a->ready());
  EXPECT_TRUE(a->link().up);
  EXPECT_TRUE(b->link().up);
  std::vector<std::string> there = {frame_bytes(64, 1), frame_bytes(9000, 2)}, back = {frame_bytes(128, 3)};
  transmit(*a.wire, there, 1000);
  transmit(*b.wire, back);
  EXPECT_EQ(b.port.received, there);
  EXPECT_EQ(a.port.received, back);
  EXPECT_EQ(a->statistics().tx_frames, 2u);
  EXPECT_EQ(b->statistics().rx_frames, 2u);
  EXPECT_EQ(b->statistics().rx_bytes, 9064u);
  EXPECT_EQ(a->statistics().rx_frames, 1u);
}

TEST_F(CableTest, LinkIsUpWhileBothEndsArePluggedIn) {
  Plugged a(make("net_chime0", "cable:x"));
  EXPECT_FALSE(a->link().up);
  transmit(*a.wire, {frame_bytes(64)});
  EXPECT_EQ(a->statistics().tx_dropped.link_down, 1u);
  {
    auto end = make("net_chime1", "cable:x");
    EXPECT_FALSE(a->link().up) << "an end that nobody is plugged into";
    TestPort port;
    int changes = a.port.changes;
    end->plug(&port);
    EXPECT_TRUE(a->link().up);
    EXPECT_EQ(a.port.changes, changes + 1);
    end->plug(nullptr);
    EXPECT_FALSE(a->link().up);
    EXPECT_EQ(a.port.changes, changes + 2);
    end->plug(&port);
  }
  EXPECT_FALSE(a->link().up) << "the other end is gone";
  transmit(*a.wire, {frame_bytes(64)});
  EXPECT_EQ(a->statistics().tx_dropped.link_down, 2u);

  Plugged again(make("net_chime1", "cable:x"));
  transmit(*again.wire, {frame_bytes(64)});
  EXPECT_EQ(a.port.received.size(), 1u);
}

TEST_F(CableTest, EndsCloseInAnyOrder) {
  auto a = make("net_chime0", "cable:x"), b = make("net_chime1", "cable:x");
  a.reset();
  a = make("net_chime2", "cable:x");
  b.reset();
  b = make("net_chime3", "cable:x");
  b.reset();
  a.reset();
  Plugged c(make("net_chime0", "cable:x")), d(make("net_chime1", "cable:x"));
  transmit(*c.wire, {frame_bytes(64)});
  EXPECT_EQ(d.port.received.size(), 1u);
}

TEST_F(CableTest, AThirdEndIsRefusedNamingTheTwo) {
  auto a = make("net_chime0", "cable:x"), b = make("net_chime1", "cable:x");
  Error error = refused("net_chime2", "cable:x");
  EXPECT_EQ(error.errnum, EBUSY);
  EXPECT_STREQ(
      error.text,
      "net_chime2: cable:x has its two ends in net_chime0 and net_chime1 already; another name makes "
      "another cable");
  EXPECT_TRUE(make("net_chime2", "cable:y"));
}

TEST_F(CableTest, ThreadsCannotBeCabled) {
  auto a = make("net_chime0", "cable:x");
  DirectExecutor other;
  auto b = factory->make({"net_chime1", "cable:x", {}}, other, clock);
  ASSERT_FALSE(b);
  EXPECT_EQ(b.error().errnum, ENOTSUP);
  EXPECT_TRUE(make("net_chime1", "cable:x"));
}

TEST_F(CableTest, CablesAreApart) {
  Plugged a(make("net_chime0", "cable:x")), b(make("net_chime1", "cable:x"));
  Plugged c(make("net_chime2", "cable:y")), d(make("net_chime3", "cable:y"));
  transmit(*a.wire, {frame_bytes(64)});
  EXPECT_EQ(b.port.received.size(), 1u);
  EXPECT_TRUE(c.port.received.empty() && d.port.received.empty());
}

}  // namespace chime::wire::test
