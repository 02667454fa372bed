// SPDX-License-Identifier: BSD-3-Clause
#include "ring_peer.h"
#include "support.h"

namespace chime::wire::test {

class EthdevTest : public WireTest {
 protected:
  RingPeer peer{"peer", 4096};
};

TEST_F(EthdevTest, SendsOutOfThePort) {
  Plugged card(make("net_chime0", peer.port_name()));
  ASSERT_TRUE(use(*card.wire));
  EXPECT_TRUE(card->link().up);
  EXPECT_GT(card->link().speed_mbps, 0u);
  std::vector<std::string> frames;
  for (unsigned i = 0; i < 100; ++i) frames.push_back(frame_bytes(60 + i * 13, i));
  transmit(*card.wire, frames, 100);
  EXPECT_EQ(peer.take(), frames);
  WireStatistics s = card->statistics();
  EXPECT_EQ(s.tx_frames, 100u);
  std::size_t bytes = 0;
  for (const auto& frame : frames) bytes += frame.size();
  EXPECT_EQ(s.tx_bytes, bytes);
  EXPECT_EQ(s.rx_frames, 0u);
}

TEST_F(EthdevTest, ReceivesFromThePort) {
  Plugged card(make("net_chime0", peer.port_name()));
  ASSERT_TRUE(use(*card.wire));
  std::vector<std::string> frames;
  for (unsigned i = 0; i < 50; ++i) {
    frames.push_back(frame_bytes(60 + i * 17, i));
    ASSERT_TRUE(peer.put(frames.back(), 300));
  }
  EXPECT_EQ(card->poll(1000), 50u);
  EXPECT_EQ(card.port.received, frames);
  EXPECT_EQ(card->statistics().rx_frames, 50u);
  EXPECT_EQ(peer.own_mbufs_out(), 0u) << "mbufs of a foreign pool go home";
  EXPECT_EQ(card->poll(1000), 0u);
}

TEST_F(EthdevTest, ReceivesNoMoreThanTheBudget) {
  Plugged card(make("net_chime0", peer.port_name()));
  ASSERT_TRUE(use(*card.wire));
  for (unsigned i = 0; i < 100; ++i) ASSERT_TRUE(peer.put(frame_bytes(64, i)));
  EXPECT_EQ(card->poll(1), 1u);
  EXPECT_EQ(card->poll(40), 40u);
  EXPECT_EQ(card->poll(100), 59u);
  EXPECT_EQ(card.port.received.size(), 100u);
}

TEST_F(EthdevTest, CarriesJumboFramesInChains) {
  Plugged card(make("net_chime0", peer.port_name()));
  EXPECT_EQ(card->largest_frame(), 9996u) << "known before the port is started";
  ASSERT_TRUE(use(*card.wire));
  EXPECT_EQ(card->largest_frame(), 9978u + 18);
  std::vector<std::string> frames = {frame_bytes(9996, 1), frame_bytes(2048, 2), frame_bytes(2049, 3),
                                     frame_bytes(4096, 4)};
  for (std::size_t piece : {1000u, 2048u, 10000u}) {
    transmit(*card.wire, frames, piece);
    EXPECT_EQ(peer.take(), frames);
  }
  for (const auto& frame : frames) ASSERT_TRUE(peer.put(frame));
  EXPECT_EQ(card->poll(64), 4u);
  EXPECT_EQ(card.port.received, frames);
}

TEST_F(EthdevTest, DropsAndCountsWhatIsTooLong) {
  Plugged card(make("net_chime0", peer.port_name()));
  ASSERT_TRUE(use(*card.wire));
  transmit(*card.wire, {frame_bytes(64, 1), frame_bytes(9997, 2), frame_bytes(64, 3), frame_bytes(16000, 4)});
  EXPECT_EQ(peer.take(), (std::vector<std::string>{frame_bytes(64, 1), frame_bytes(64, 3)}));
  EXPECT_EQ(card->statistics().tx_dropped.too_long, 2u);

  // More segments than any buffer size of ours needs.
  ASSERT_TRUE(peer.put(frame_bytes(170, 1), 10));
  ASSERT_TRUE(peer.put(frame_bytes(160, 2), 10));
  card->poll(64);
  EXPECT_EQ(card.port.received, std::vector<std::string>{frame_bytes(160, 2)});
  EXPECT_EQ(card->statistics().rx_dropped.too_long, 1u);
  EXPECT_EQ(peer.own_mbufs_out(), 0u);
}

TEST_F(EthdevTest, DropsAndCountsWithoutAPort) {
  auto wire = make("net_chime0", peer.port_name());
  ASSERT_TRUE(use(*wire));
  for (unsigned i = 0; i < 40; ++i) ASSERT_TRUE(peer.put(frame_bytes(64, i)));
  wire->poll(100);
  EXPECT_EQ(wire->statistics().rx_dropped.no_port, 40u);
  EXPECT_EQ(peer.own_mbufs_out(), 0u);
}

TEST_F(EthdevTest, DropsAndCountsWhenThePeerTakesNoMore) {
  RingPeer slow("slow", 64);
  Plugged card(make("net_chime0", slow.port_name()));
  ASSERT_TRUE(use(*card.wire));
  std::vector<std::string> frames;
  for (unsigned i = 0; i < 100; ++i) frames.push_back(frame_bytes(100, i));
  transmit(*card.wire, frames);
  // A ring of 64 holds 63.
  EXPECT_EQ(card->statistics().tx_frames, 63u);
  EXPECT_EQ(card->statistics().tx_bytes, 6300u);
  EXPECT_EQ(card->statistics().tx_dropped.no_buffer, 37u);
  auto got = slow.take();
  EXPECT_EQ(got, std::vector<std::string>(frames.begin(), frames.begin() + 63));
  transmit(*card.wire, {frame_bytes(64)});
  EXPECT_EQ(slow.take().size(), 1u);
}

TEST_F(EthdevTest, DropsAndCountsWhenThePeerKeepsAllBuffers) {
  Plugged card(make("net_chime0", peer.port_name()));
  ASSERT_TRUE(use(*card.wire));
  std::vector<std::string> frames(3000, frame_bytes(64));
  transmit(*card.wire, frames);
  WireStatistics s = card->statistics();
  EXPECT_GT(s.tx_frames, 1500u);
  EXPECT_EQ(s.tx_frames + s.tx_dropped.no_buffer, 3000u);
  EXPECT_EQ(peer.take().size(), s.tx_frames);
  transmit(*card.wire, frames);
  EXPECT_EQ(peer.take().size(), s.tx_frames) << "all came home";
}

TEST_F(EthdevTest, NeverAsksForMoreThanItsBuffers) {
  RingPeer other("other");
  Plugged card(make("net_chime0", peer.port_name())), second(make("net_chime1", other.port_name()));
  ASSERT_TRUE(use(*card.wire));
  ASSERT_TRUE(use(*second.wire));
  for (int round = 0; round < 500; ++round) {
    transmit(*card.wire, std::vector<std::string>(32, frame_bytes(3000)));
    for (rte_mbuf* mbuf : peer.take_mbufs()) rte_pktmbuf_free(mbuf);
    ASSERT_TRUE(peer.put(frame_bytes(64)));
    ASSERT_EQ(card->poll(32), 1u);
  }
  EXPECT_EQ(card->statistics().tx_frames, 16000u);
  EXPECT_EQ(card->statistics().tx_dropped.total(), 0u);
}

TEST_F(EthdevTest, FaultsWorkBothWays) {
  Plugged card(make("net_chime0", peer.port_name(), {.loss_ppm = 1'000'000}));
  ASSERT_TRUE(use(*card.wire));
  transmit(*card.wire, {frame_bytes(64)});
  ASSERT_TRUE(peer.put(frame_bytes(64)));
  card->poll(64);
  EXPECT_TRUE(peer.take().empty());
  EXPECT_TRUE(card.port.received.empty());
  EXPECT_EQ(card->statistics().injected.lost, 2u);
}

TEST_F(EthdevTest, ManyDriversServe) {
  add_port("net_null0", "size=128");
  {
    Plugged card(make("net_chime0", "net_null0"));
    auto ok = use(*card.wire);
    ASSERT_TRUE(ok) << ok.error().text;
    EXPECT_TRUE(card->link().up);
    EXPECT_EQ(card->poll(100), 100u);
    EXPECT_EQ(card.port.received.size(), 100u);
    EXPECT_EQ(card.port.received[0].size(), 128u);
    transmit(*card.wire, std::vector<std::string>(100, frame_bytes(1514)));
    EXPECT_EQ(card->statistics().tx_frames, 100u);
  }
  remove_port("net_null0");
}

}  // namespace chime::wire::test
