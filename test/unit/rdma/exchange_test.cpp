// SPDX-License-Identifier: BSD-3-Clause
#include "rdma/exchange.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>

namespace chime::rdma {
namespace {

struct Pair {
  Pair() {
    int fds[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    left = FileDescriptor(fds[0]);
    right = FileDescriptor(fds[1]);
  }
  FileDescriptor left, right;
};

Endpoint endpoint(std::uint32_t qpn) {
  Endpoint e{
      .qpn = qpn, .psn = 1, .gid = {1}, .mac = {2}, .mtu = 1024, .depth = 4, .reserved = 0, .check = 0};
  seal(e);
  return e;
}

TEST(Exchange, BothGetTheOthersEndpointAndMemory) {
  Pair pair;
  MemoryDescriptor memory{.address = 4096, .length = 64, .rkey = 7, .rights = 1, .check = 0};
  seal(memory);
  std::thread other([&] {
    const auto theirs = exchange_endpoint(pair.right.get(), endpoint(22), 5000);
    ASSERT_TRUE(theirs);
    EXPECT_EQ(theirs->qpn, 11u);
    EXPECT_TRUE(exchange_memory(pair.right.get(), memory, 5000));
  });
  const auto theirs = exchange_endpoint(pair.left.get(), endpoint(11), 5000);
  const auto target = exchange_memory(pair.left.get(), memory, 5000);
  other.join();
  ASSERT_TRUE(theirs);
  EXPECT_EQ(theirs->qpn, 22u);
  ASSERT_TRUE(target);
  EXPECT_EQ(target->rkey, 7u);
}

TEST(Exchange, APeerThatHangsUpSpeaksNonsenseOrNothing) {
  {
    Pair pair;
    pair.right = FileDescriptor();
    EXPECT_FALSE(exchange_endpoint(pair.left.get(), endpoint(2), 1000));
  }
  {
    Pair pair;
    EXPECT_EQ(exchange_endpoint(pair.left.get(), endpoint(2), 20).error().errnum, ETIMEDOUT);
  }
  {
    Pair pair;
    ASSERT_EQ(write(pair.right.get(), "hello\n", 6), 6);
    EXPECT_EQ(exchange_endpoint(pair.left.get(), endpoint(2), 1000).error().errnum, EINVAL);
  }
  {
    Pair pair;
    const std::string flood(1000, 'x');
    ASSERT_EQ(write(pair.right.get(), flood.data(), flood.size()), 1000);
    EXPECT_EQ(exchange_endpoint(pair.left.get(), endpoint(2), 1000).error().errnum, EMSGSIZE);
  }
}

TEST(Exchange, ReachesAPeerByTcp) {
  // A port that is free now, very likely still is in a moment.
  const std::string where = "127.0.0.1:" + std::to_string(20000 + getpid() % 20000);
  std::thread other([&] {
    auto peer = accept_peer(where.c_str(), 10000);
    ASSERT_TRUE(peer) << peer.error().text;
    EXPECT_TRUE(exchange_endpoint(peer->get(), endpoint(22), 5000));
  });
  auto peer = reach_peer(where.c_str(), 10000);
  if (peer) {
    EXPECT_EQ(exchange_endpoint(peer->get(), endpoint(11), 5000)->qpn, 22u);
  }
  other.join();
  EXPECT_TRUE(peer);
}

TEST(Exchange, ImpossiblePlacesAreRefused) {
  for (const char* where : {"", "nowhere", "host:", "127.0.0.1:999999999999999999", "[::1", "::::x:y"}) {
    EXPECT_FALSE(reach_peer(where, 0)) << where;
    EXPECT_FALSE(accept_peer(where, 0)) << where;
  }
  EXPECT_FALSE(reach_peer(nullptr, 0));
  EXPECT_EQ(accept_peer("127.0.0.1:0", 10).error().errnum, ETIMEDOUT);
}

}  // namespace
}  // namespace chime::rdma
