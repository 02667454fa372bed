// SPDX-License-Identifier: BSD-3-Clause
#include <chrono>
#include <cstring>

#include "card.h"
#include "hca/port.h"
#include "path.h"

/// @file
/// One packet through everything: work request, doorbell, wire, steering, receive queue.

namespace chime::test {
namespace {

class Slice : public CardTest {};

std::array<std::byte, 98> frame(std::uint8_t number) {
  std::array<std::byte, 98> bytes{};
  for (std::size_t i = 0; i < 6; ++i) bytes[i] = std::byte{0xff};
  bytes[6] = std::byte{0x02};
  bytes[12] = std::byte{0x88};
  bytes[13] = std::byte{0xb5};
  for (std::size_t i = 14; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7 + number);
  return bytes;
}

TEST_F(Slice, OnePacketIsLoopedIntoTheReceiveQueue) {
  auto path = Path::make(*device);
  ASSERT_TRUE(path) << why(path);
  path->post_receives(4);
  settle();
  const auto sent = frame(1);
  path->send(sent);
  EXPECT_EQ(path->poll_receive(), nullptr) << "nothing happens before the HCA is stepped";
  settle();

  const prm::Cqe* done = path->poll_send();
  ASSERT_NE(done, nullptr);
  EXPECT_EQ(prm::cqe_opcode_of(done->op_own), prm::cqe_opcode::requester);
  const prm::Cqe* got = path->poll_receive();
  ASSERT_NE(got, nullptr);
  EXPECT_EQ(prm::cqe_opcode_of(got->op_own), prm::cqe_opcode::responder_send);
  ASSERT_EQ(got->byte_cnt, sent.size());
  EXPECT_EQ(std::memcmp(path->received(*got).data(), sent.data(), sent.size()), 0);
  EXPECT_EQ(got->sop_drop_qpn & 0xffffff, 0x1234u) << "the entry's flow tag";
  EXPECT_EQ(path->poll_receive(), nullptr);
}

TEST_F(Slice, ManyRoundsKeepTheirOrder) {
  auto path = Path::make(*device);
  ASSERT_TRUE(path) << why(path);
  path->post_receives(32);
  unsigned received = 0;
  for (unsigned n = 0; n < 1000; ++n) {
    path->send(frame(static_cast<std::uint8_t>(n)));
    settle();
    ASSERT_NE(path->poll_send(), nullptr) << "packet " << n;
    while (const prm::Cqe* got = path->poll_receive()) {
      const auto expected = frame(static_cast<std::uint8_t>(received++));
      ASSERT_EQ(std::memcmp(path->received(*got).data(), expected.data(), expected.size()), 0);
      path->post_receives(1);
    }
  }
  EXPECT_EQ(received, 1000u);
}

TEST_F(Slice, WithoutBuffersPacketsAreCounted) {
  auto path = Path::make(*device);
  ASSERT_TRUE(path) << why(path);
  for (std::uint8_t n = 0; n < 3; ++n) path->send(frame(n));
  settle();
  EXPECT_EQ(path->poll_receive(), nullptr);
  auto dropped = hca::query_out_of_buffer(path->q_counter);
  ASSERT_TRUE(dropped) << why(dropped);
  EXPECT_EQ(*dropped, 3u);
}

TEST_F(Slice, PortCountsWhatCameAndWent) {
  auto path = Path::make(*device);
  ASSERT_TRUE(path) << why(path);
  path->post_receives(8);
  const auto sent = frame(0);
  for (int n = 0; n < 5; ++n) path->send(sent);
  settle();
  auto counters = device->port().counters();
  ASSERT_TRUE(counters) << why(counters);
  EXPECT_EQ(counters->tx_broadcast_packets, 5u);
  EXPECT_EQ(counters->rx_broadcast_packets, 5u);
  EXPECT_EQ(counters->rx_broadcast_bytes, 5 * sent.size());
  EXPECT_EQ(counters->tx_wire_packets, 5u);
  EXPECT_EQ(counters->tx_wire_bytes, 5 * sent.size());
  EXPECT_EQ(counters->rx_steer_missed, 0u);
  path->root = {};
  path->send(sent);
  settle();
  counters = device->port().counters();
  ASSERT_TRUE(counters);
  EXPECT_EQ(counters->rx_steer_missed, 1u) << "without a root nothing takes the packet";
}

/// The HCA in a thread of its own, stepped by nobody.
TEST(SliceThreaded, EverythingArrivesInOrder) {
  auto runtime = hca::Runtime::create();
  ASSERT_TRUE(runtime);
  auto device = (*runtime)->open({.name = "test0", .model_thread = "own"});
  ASSERT_TRUE(device) << why(device);
  {
    auto path = Path::make(**device);
    ASSERT_TRUE(path) << why(path);
    path->post_receives(60);
    constexpr unsigned packets = 20'000;
    unsigned sent = 0, completed = 0, received = 0;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (received < packets && std::chrono::steady_clock::now() < deadline) {
      while (sent < packets && sent - received < 30 && sent - completed < 30) {
        path->send(frame(static_cast<std::uint8_t>(sent++)));
      }
      while (path->poll_send()) ++completed;
      while (const prm::Cqe* got = path->poll_receive()) {
        const auto expected = frame(static_cast<std::uint8_t>(received++));
        ASSERT_EQ(std::memcmp(path->received(*got).data(), expected.data(), expected.size()), 0);
        path->post_receives(1);
      }
    }
    EXPECT_EQ(received, packets);
  }
}

TEST_F(Slice, ClosingWithEverythingOpenDestroysInOrder) {
  auto path = Path::make(*device);
  ASSERT_TRUE(path) << why(path);
  // Handles that are never ended, as a process leaves them that is killed.
  alignas(Path) static std::byte storage[sizeof(Path)];
  new (storage) Path(std::move(*path));
  device.reset();
}

}  // namespace
}  // namespace chime::test
