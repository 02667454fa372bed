// SPDX-License-Identifier: BSD-3-Clause
#include "support.h"

namespace chime::wire::test {

using LoopTest = WireTest;

TEST_F(LoopTest, SentIsReceivedAtOnce) {
  Plugged card(make("net_chime0", "loop"));
  EXPECT_TRUE(card->ready());
  EXPECT_TRUE(card->link().up);
  EXPECT_EQ(card.port.changes, 1);
  std::vector<std::string> frames = {frame_bytes(64, 1), frame_bytes(1514, 2), frame_bytes(9996, 3)};
  transmit(*card.wire, frames, 700);
  EXPECT_EQ(card.port.received, frames);
  EXPECT_EQ(card.port.batches, 1);
  EXPECT_EQ(card->poll(64), 0u);

  WireStatistics s = card->statistics();
  EXPECT_EQ(s.tx_frames, 3u);
  EXPECT_EQ(s.rx_frames, 3u);
  EXPECT_EQ(s.tx_bytes, 64u + 1514 + 9996);
  EXPECT_EQ(s.rx_bytes, s.tx_bytes);
  EXPECT_EQ(s.tx_dropped.total() + s.rx_dropped.total(), 0u);
}

TEST_F(LoopTest, AnnouncesTheSpeedThatIsAskedFor) {
  auto wire = factory->make({.port_name = "net_chime0", .wire = "loop", .faults = {}, .link_mbps = 10'000},
                            executor, clock);
  ASSERT_TRUE(wire);
  Plugged card(std::move(*wire));
  EXPECT_TRUE(card->link().up);
  EXPECT_EQ(card->link().speed_mbps, 10'000u);
}

TEST_F(LoopTest, SaysThatWhatIsSentComesBack) {
  EXPECT_TRUE(make("net_chime0", "loop")->loops());
  auto answering = factory->make({.port_name = "net_chime1", .wire = "loop", .faults = {}, .responder = true},
                                 executor, clock);
  ASSERT_TRUE(answering);
  EXPECT_TRUE((*answering)->loops());
  EXPECT_FALSE(make("net_chime2", "cable:a")->loops());
}

/// The frame's bytes are the sender's own: nothing was copied on the way.
TEST_F(LoopTest, BorrowsTheSendersBytes) {
  struct Looker final : model::WirePort {
    void deliver(std::span<const model::Frame> frames) noexcept override {
      data = frames[0].segments[0].data;
    }
    void wire_changed() noexcept override {}
    const std::byte* data = nullptr;
  } looker;
  auto wire = make("net_chime0", "loop");
  wire->plug(&looker);
  std::byte bytes[64]{};
  model::Segment segment{bytes, sizeof bytes};
  model::Frame frame{&segment, 1, sizeof bytes};
  wire->transmit({&frame, 1});
  EXPECT_EQ(looker.data, bytes);
}

TEST_F(LoopTest, WithoutAPortDropsAndCounts) {
  auto wire = make("net_chime0", "loop");
  EXPECT_FALSE(wire->link().up);
  transmit(*wire, {frame_bytes(64), frame_bytes(64)});
  EXPECT_EQ(wire->statistics().tx_dropped.no_port, 2u);
  EXPECT_EQ(wire->statistics().tx_frames, 0u);
}

TEST_F(LoopTest, OnePortHasOneWire) {
  auto wire = make("net_chime0", "loop");
  Error error = refused("net_chime0", "cable:x");
  EXPECT_EQ(error.errnum, EEXIST);
  EXPECT_STREQ(error.text, "net_chime0 has a wire already: loop");
  wire.reset();
  EXPECT_TRUE(make("net_chime0", "cable:x"));
}

TEST_F(LoopTest, RefusesWhatIsNoWire) {
  EXPECT_EQ(refused("net_chime0", "").errnum, EINVAL);
  EXPECT_EQ(refused("", "loop").errnum, EINVAL);
  EXPECT_EQ(refused("net_chime0", "cable:").errnum, EINVAL);
  EXPECT_EQ(refused("net_chime0", std::string(64, 'x').c_str()).errnum, EINVAL);
  EXPECT_EQ(refused(std::string(64, 'x').c_str(), "loop").errnum, EINVAL);
  Error error = refused("net_chime0", "cable:");
  EXPECT_NE(
      std::string(error.text).find("\"cable:\" is not a wire: it is loop, cable:NAME, tap:INTERFACE or"),
      std::string::npos)
      << error.text;
}

TEST_F(LoopTest, FactoryFindsWiresByPort) {
  EXPECT_EQ(factory->statistics("net_chime0").error().errnum, ENODEV);
  EXPECT_EQ(factory->set_faults("net_chime0", {}).error().errnum, ENODEV);
  {
    Plugged card(make("net_chime0", "loop"));
    transmit(*card.wire, {frame_bytes(64)});
    EXPECT_EQ(factory->statistics("net_chime0")->tx_frames, 1u);
  }
  EXPECT_EQ(factory->statistics("net_chime0").error().errnum, ENODEV);
}

}  // namespace chime::wire::test
