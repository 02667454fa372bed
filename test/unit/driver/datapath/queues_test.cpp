// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <poll.h>

#include <string>

#include "hca/model/testing.h"
#include "hca/port.h"
#include "loop.h"

/// The queues' control side, and the bursts, over the software HCA.

namespace chime::net {
namespace {

/// An Ethernet frame that no parser takes for IP.
std::vector<std::uint8_t> frame(std::size_t length, unsigned seed = 1) {
  std::vector<std::uint8_t> bytes = content(length, seed);
  bytes[0] = 0x02;
  bytes[6] = 0x02;
  bytes[12] = 0x88;
  bytes[13] = 0xb5;
  return bytes;
}

class Queues : public testing::Test {
 protected:
  Owned<RxQueueControl> make_rx(const RxQueueConfig& config) {
    return must(RxQueueControl::create(loop.context(), config));
  }
  Owned<TxQueueControl> make_tx(const TxQueueConfig& config) {
    return must(TxQueueControl::create(loop.context(), config));
  }
  /// Sends frames and expects them back. @return how many came
  unsigned round_trip(RxQueueControl& rx, TxQueueControl& tx, unsigned count) {
    std::vector<rte_mbuf*> burst;
    for (unsigned i = 0; i < count; ++i) burst.push_back(pool.packet(frame(60 + i * 13 % 1400, i)));
    const std::uint16_t taken = send(tx, burst);
    for (std::size_t i = taken; i < burst.size(); ++i) rte_pktmbuf_free(burst[i]);
    loop.run();
    unsigned came = 0;
    for (rte_mbuf* packet : receive(rx)) {
      EXPECT_EQ(bytes_of(*packet), frame(60 + came * 13 % 1400, came));
      EXPECT_EQ(packet->port, test_port);
      rte_pktmbuf_free(packet);
      ++came;
    }
    return came;
  }

  Pool pool;
  Loop loop;
};

TEST_F(Queues, RoundTripAndStop) {
  auto rx = make_rx(loop.rx_config(pool));
  auto tx = make_tx(loop.tx_config());
  const Loop::Lead lead = loop.lead_to(*rx);
  for (unsigned again = 0; again < 20; ++again) {
    must(rx->start());
    must(tx->start());
    EXPECT_TRUE(rx->started() && tx->started());
    unsigned came = 0;
    for (unsigned i = 0; i < 10; ++i) came += round_trip(*rx, *tx, 25);
    EXPECT_EQ(came, 250u);
    // Some packets are under way.
    rte_mbuf* late[] = {pool.packet(frame(60)), pool.packet(frame(60))};
    EXPECT_EQ(send(*tx, late), 2);
    if (again % 2 == 0) loop.run();
    must(tx->stop());
    must(rx->stop());
    EXPECT_EQ(pool.available(), 511u);
  }
  EXPECT_EQ(rx->counters().packets, 20u * 250);
  EXPECT_EQ(tx->counters().packets, 20u * 252);
  EXPECT_EQ(tx->counters().drop_queue_error, 0u);
  rx->reset_counters();
  EXPECT_EQ(rx->counters().packets, 0u);
}

TEST_F(Queues, StartAndStopTwice) {
  auto rx = make_rx(loop.rx_config(pool));
  auto tx = make_tx(loop.tx_config());
  must(rx->stop());
  must(tx->stop());
  must(rx->start());
  must(tx->start());
  EXPECT_EQ(rx->start().error().errnum, EALREADY);
  EXPECT_EQ(tx->start().error().errnum, EALREADY);
  must(rx->stop());
  must(rx->stop());
  must(tx->stop());
  must(tx->stop());
}

TEST_F(Queues, EndWhileStarted) {
  const std::uint32_t before = loop.objects();
  {
    auto rx = make_rx(loop.rx_config(pool));
    auto tx = make_tx(loop.tx_config());
    const Loop::Lead lead = loop.lead_to(*rx);
    must(rx->start());
    must(tx->start());
    round_trip(*rx, *tx, 10);
    rte_mbuf* packet = pool.packet(frame(60));
    send(*tx, std::span(&packet, 1));
  }
  EXPECT_EQ(pool.available(), 511u);
  EXPECT_EQ(loop.objects(), before);
  EXPECT_EQ(hca::embedded::refused_destroys(loop.device()), 0u);
}

TEST_F(Queues, ScatteredJumboFramesAndChains) {
  must(loop.device().port().set_mtu(8000));
  RxQueueConfig rx_config = loop.rx_config(pool);
  rx_config.descriptors = 256;
  rx_config.conf.offloads |= RTE_ETH_RX_OFFLOAD_SCATTER;
  rx_config.max_frame = 8000;
  TxQueueConfig tx_config = loop.tx_config();
  tx_config.conf.offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
  tx_config.max_frame = 8000;
  auto rx = make_rx(rx_config);
  auto tx = make_tx(tx_config);
  EXPECT_EQ(rx->fast()->segments, 4);
  const Loop::Lead lead = loop.lead_to(*rx);
  must(rx->start());
  must(tx->start());
  for (unsigned i = 0; i < 200; ++i) {
    const std::size_t lengths[] = {100 + i, 1, 1500, 2000 - i, 20};
    const auto bytes = frame(3621, i);
    rte_mbuf* burst[] = {pool.chain(bytes, lengths), pool.packet(frame(60, i))};
    ASSERT_EQ(send(*tx, burst), 2);
    loop.run();
    const auto packets = receive(*rx);
    ASSERT_EQ(packets.size(), 2u);
    EXPECT_EQ(bytes_of(*packets[0]), bytes);
    EXPECT_EQ(packets[0]->nb_segs, 2);
    EXPECT_EQ(bytes_of(*packets[1]), frame(60, i));
    for (rte_mbuf* packet : packets) rte_pktmbuf_free(packet);
  }
  rte_eth_rxq_info info{};
  rx->info(info);
  EXPECT_EQ(info.nb_desc, 256);
  EXPECT_EQ(info.scattered_rx, 1);
  EXPECT_EQ(info.rx_buf_size, RTE_MBUF_DEFAULT_DATAROOM);
  EXPECT_EQ(info.mp, pool.get());
}

TEST_F(Queues, WrongSettingsAreExplained) {
  const auto refused = [&](auto change, const char* why) {
    RxQueueConfig config = loop.rx_config(pool);
    change(config);
    const auto made = RxQueueControl::create(loop.context(), config);
    ASSERT_FALSE(made) << why;
    EXPECT_EQ(made.error().errnum, EINVAL);
    EXPECT_NE(std::string(made.error().text).find(why), std::string::npos) << made.error().text;
  };
  refused([](auto& c) { c.descriptors = 100; }, "power of two");
  refused([](auto& c) { c.descriptors = 32; }, "power of two from 64");
  refused([](auto& c) { c.max_frame = 3000; }, "RTE_ETH_RX_OFFLOAD_SCATTER would do");
  refused(
      [](auto& c) {
        c.max_frame = 70000;
        c.conf.offloads |= RTE_ETH_RX_OFFLOAD_SCATTER;
      },
      "are possible");
  refused(
      [](auto& c) {
        c.max_frame = 30000;
        c.conf.offloads |= RTE_ETH_RX_OFFLOAD_SCATTER;
      },
      "descriptors are too few");
  const Pool tiny(63, RTE_PKTMBUF_HEADROOM);
  refused([&](auto& c) { c.pool = tiny.get(); }, "headroom");

  TxQueueConfig tx = loop.tx_config();
  tx.descriptors = 1000;
  EXPECT_EQ(TxQueueControl::create(loop.context(), tx).error().errnum, EINVAL);
}

TEST_F(Queues, TooFewMbufsAtStart) {
  const Pool small(50);
  auto rx = make_rx(loop.rx_config(small));
  const auto started = rx->start();
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().errnum, ENOMEM);
  EXPECT_NE(std::string(started.error().text).find("too few mbufs"), std::string::npos);
  EXPECT_EQ(small.available(), 50u);
}

TEST_F(Queues, EveryCommandMayFail) {
  const std::uint32_t before = loop.objects();
  for (const bool receive_side : {true, false}) {
    bool whole = false;
    for (unsigned n = 1; !whole && n < 100; ++n) {
      hca::embedded::fail_command(loop.device(), n);
      Result<> done;
      if (receive_side) {
        auto made = RxQueueControl::create(loop.context(), loop.rx_config(pool));
        done = made ? (*made)->start() : Result<>(fail(made.error()));
        whole = done.has_value();
      } else {
        auto made = TxQueueControl::create(loop.context(), loop.tx_config());
        done = made ? (*made)->start() : Result<>(fail(made.error()));
        whole = done.has_value();
      }
      hca::embedded::fail_command(loop.device(), 0);
      EXPECT_TRUE(whole || done.error().text[0] != '\0');
      EXPECT_EQ(pool.available(), 511u) << n;
      EXPECT_EQ(loop.objects(), before) << n;
    }
    EXPECT_TRUE(whole);
  }
  EXPECT_EQ(hca::embedded::refused_destroys(loop.device()), 0u);
}

TEST_F(Queues, AStopThatFailsCanBeTriedAgain) {
  auto rx = make_rx(loop.rx_config(pool));
  auto tx = make_tx(loop.tx_config());
  must(rx->start());
  must(tx->start());
  for (const unsigned n : {1u, 2u}) {
    hca::embedded::fail_command(loop.device(), n);
    EXPECT_FALSE(rx->stop());
    EXPECT_TRUE(rx->started());
    hca::embedded::fail_command(loop.device(), n);
    EXPECT_FALSE(tx->stop());
    EXPECT_TRUE(tx->started());
    hca::embedded::fail_command(loop.device(), 0);
  }
  EXPECT_EQ(pool.available(), 511u - 64);
  must(rx->stop());
  must(tx->stop());
  EXPECT_EQ(pool.available(), 511u);
}

TEST_F(Queues, SendQueueRecovers) {
  auto rx = make_rx(loop.rx_config(pool));
  auto tx = make_tx(loop.tx_config());
  const Loop::Lead lead = loop.lead_to(*rx);
  must(rx->start());
  must(tx->start());
  for (unsigned again = 0; again < 10; ++again) {
    EXPECT_EQ(round_trip(*rx, *tx, 20), 20u);
    EXPECT_FALSE(tx->recover());
    tx->fast()->hot.lkey_be ^= 0xff000000;  // a key of nobody
    rte_mbuf* bad = pool.packet(frame(60));
    EXPECT_EQ(send(*tx, std::span(&bad, 1)), 1);
    tx->fast()->hot.lkey_be ^= 0xff000000;
    loop.run();

    rte_mbuf* waiting = pool.packet(frame(60));
    EXPECT_EQ(send(*tx, std::span(&waiting, 1)), 0);
    const auto error = tx->recover();
    ASSERT_TRUE(error);
    for (const char* part : {"port 7", "Tx queue 3", "local protection"})
      EXPECT_NE(std::string(error->text).find(part), std::string::npos) << error->text;
    EXPECT_FALSE(tx->recover()) << "it is the lcore's turn";
    EXPECT_EQ(send(*tx, std::span(&waiting, 1)), 0);
    EXPECT_FALSE(tx->recover());
    EXPECT_EQ(tx->fast()->health.stage.load(), Health::good);
    EXPECT_EQ(send(*tx, std::span(&waiting, 1)), 1);
    loop.run();
    for (rte_mbuf* packet : receive(*rx)) rte_pktmbuf_free(packet);
  }
  EXPECT_EQ(tx->counters().recoveries, 10u);
  EXPECT_EQ(tx->counters().error_cqes, 10u);
  EXPECT_GE(tx->counters().drop_queue_error, 10u);
  must(tx->stop());
  must(rx->stop());
  EXPECT_EQ(pool.available(), 511u);
}

TEST_F(Queues, ReceiveQueueRecovers) {
  auto rx = make_rx(loop.rx_config(pool));
  auto tx = make_tx(loop.tx_config());
  const Loop::Lead lead = loop.lead_to(*rx);
  must(rx->start());
  must(tx->start());
  for (unsigned again = 0; again < 10; ++again) {
    EXPECT_EQ(round_trip(*rx, *tx, 20), 20u);
    // The next WQE gets a key of nobody.
    RxQueue& q = *rx->fast();
    auto* wqe = reinterpret_cast<prm::WqeData*>(q.wqes) + (q.consumed & (q.size() - 1));
    wqe->lkey.raw ^= 0xff000000;
    rte_mbuf* packet = pool.packet(frame(60));
    EXPECT_EQ(send(*tx, std::span(&packet, 1)), 1);
    loop.run();
    EXPECT_TRUE(receive(*rx).empty());
    const auto error = rx->recover();
    ASSERT_TRUE(error);
    for (const char* part : {"port 7", "Rx queue 2", "local"})
      EXPECT_NE(std::string(error->text).find(part), std::string::npos) << error->text;
    EXPECT_FALSE(rx->recover());
    EXPECT_TRUE(receive(*rx).empty());
    EXPECT_FALSE(rx->recover());
    EXPECT_EQ(q.health.stage.load(), Health::good);
  }
  EXPECT_EQ(round_trip(*rx, *tx, 20), 20u);
  EXPECT_EQ(rx->counters().recoveries, 10u);
  must(tx->stop());
  must(rx->stop());
  EXPECT_EQ(pool.available(), 511u);
}

TEST_F(Queues, RecoveryThatFailsIsReportedOnceAndTriedAgain) {
  auto rx = make_rx(loop.rx_config(pool));
  auto tx = make_tx(loop.tx_config());
  must(rx->start());
  must(tx->start());
  rx->fast()->health.stage.store(Health::failed);
  tx->fast()->health.stage.store(Health::failed);
  for (unsigned attempt = 0; attempt < 3; ++attempt) {
    hca::embedded::fail_command(loop.device(), 1);
    EXPECT_EQ(rx->recover().has_value(), attempt == 0);
    hca::embedded::fail_command(loop.device(), 1);
    EXPECT_EQ(tx->recover().has_value(), attempt == 0);
  }
  hca::embedded::fail_command(loop.device(), 0);
  EXPECT_TRUE(rx->recover());
  EXPECT_TRUE(tx->recover());
  EXPECT_EQ(rx->fast()->health.stage.load(), Health::quiesced);
  // Stop works from the middle of a recovery.
  must(rx->stop());
  must(tx->stop());
  EXPECT_EQ(pool.available(), 511u);
  must(rx->start());
  must(tx->start());
  EXPECT_EQ(rx->fast()->health.stage.load(), Health::good);
}

TEST_F(Queues, VlanStripIsSwitchedWhileRunning) {
  auto rx = make_rx(loop.rx_config(pool));
  auto tx = make_tx(loop.tx_config());
  const Loop::Lead lead = loop.lead_to(*rx);
  must(rx->start());
  must(tx->start());
  std::vector<std::uint8_t> tagged = frame(64);
  tagged[12] = 0x81;
  tagged[13] = 0x00;
  tagged[14] = 0x21;
  tagged[15] = 0x23;
  for (const bool strip : {false, true, false}) {
    must(rx->set_vlan_strip(strip));
    rte_eth_rxq_info info{};
    rx->info(info);
    EXPECT_EQ((info.conf.offloads & RTE_ETH_RX_OFFLOAD_VLAN_STRIP) != 0, strip);
    rte_mbuf* packet = pool.packet(tagged);
    ASSERT_EQ(send(*tx, std::span(&packet, 1)), 1);
    loop.run();
    const auto packets = receive(*rx);
    ASSERT_EQ(packets.size(), 1u);
    EXPECT_EQ(packets[0]->pkt_len, strip ? 60u : 64u);
    EXPECT_EQ((packets[0]->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0, strip);
    EXPECT_TRUE(!strip || packets[0]->vlan_tci == 0x2123);
    rte_pktmbuf_free(packets[0]);
  }
}

TEST_F(Queues, AnArmedQueueRaisesOneEvent) {
  RxQueueConfig config = loop.rx_config(pool);
  config.interrupt = true;
  auto rx = make_rx(config);
  auto tx = make_tx(loop.tx_config());
  const Loop::Lead lead = loop.lead_to(*rx);
  auto channel = must(loop.device().create_event_channel());
  must(channel->subscribe(rx->cq(), prm::event_type::completion, 42));
  must(rx->start());
  must(tx->start());
  const auto events = [&] {
    unsigned count = 0;
    while (const auto event = must(channel->next())) {
      EXPECT_EQ(event->cookie, 42u);
      ++count;
    }
    return count;
  };
  for (unsigned again = 0; again < 5; ++again) {
    EXPECT_EQ(round_trip(*rx, *tx, 3), 3u);
    EXPECT_EQ(events(), 0u) << "not armed";
    EXPECT_EQ(rx_interrupt_arm(*rx->fast()), 0);
    loop.run();
    EXPECT_EQ(events(), 0u) << "nothing came";
    EXPECT_EQ(round_trip(*rx, *tx, 3), 3u);
    pollfd fd{.fd = channel->fd(), .events = POLLIN, .revents = 0};
    EXPECT_EQ(poll(&fd, 1, 1000), 1);
    EXPECT_EQ(events(), 1u);
    rx_interrupt_served(*rx->fast());
  }
}

TEST_F(Queues, MaxFrameFollowsTheMtu) {
  auto rx = make_rx(loop.rx_config(pool));
  auto tx = make_tx(loop.tx_config());
  must(tx->start());
  tx->set_max_frame(500);
  rte_mbuf* packet = pool.packet(frame(501));
  EXPECT_EQ(send(*tx, std::span(&packet, 1)), 1);
  EXPECT_EQ(tx->counters().drop_too_long, 1u);
  packet = pool.packet(frame(500));
  EXPECT_EQ(send(*tx, std::span(&packet, 1)), 1);
  EXPECT_EQ(tx->counters().packets, 1u);
  rte_eth_txq_info info{};
  tx->info(info);
  EXPECT_EQ(info.nb_desc, 64);
  EXPECT_EQ(info.conf.tx_rs_thresh, 8);
}

}  // namespace
}  // namespace chime::net
