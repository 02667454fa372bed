// SPDX-License-Identifier: BSD-3-Clause
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <rte_dev.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "support.h"

namespace chime::wire::test {

namespace {

constexpr std::uint16_t our_ethertype = 0x88b5;

/// A packet socket on the host's side of the tap.
class HostSide {
 public:
  explicit HostSide(const char* interface) {
    fd_ = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, htons(our_ethertype));
    EXPECT_GE(fd_, 0) << strerror(errno);
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(our_ethertype);
    address.sll_ifindex = static_cast<int>(if_nametoindex(interface));
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0) << strerror(errno);
  }
  ~HostSide() { close(fd_); }

  void send(const std::string& frame) const {
    EXPECT_EQ(::send(fd_, frame.data(), frame.size(), 0), static_cast<ssize_t>(frame.size()))
        << strerror(errno);
  }
  std::vector<std::string> receive(std::size_t count) const {
    std::vector<std::string> frames;
    eventually([&] {
      char bytes[2048];
      sockaddr_ll from{};
      socklen_t length = sizeof from;
      ssize_t n = recvfrom(fd_, bytes, sizeof bytes, 0, reinterpret_cast<sockaddr*>(&from), &length);
      if (n > 0 && from.sll_pkttype != PACKET_OUTGOING)
        frames.emplace_back(bytes, static_cast<std::size_t>(n));
      return frames.size() >= count;
    });
    return frames;
  }
  void set_up(const char* interface, bool up) const {
    ifreq request{};
    std::strncpy(request.ifr_name, interface, IFNAMSIZ - 1);
    ASSERT_EQ(ioctl(fd_, SIOCGIFFLAGS, &request), 0);
    request.ifr_flags = static_cast<short>(up ? request.ifr_flags | IFF_UP : request.ifr_flags & ~IFF_UP);
    ASSERT_EQ(ioctl(fd_, SIOCSIFFLAGS, &request), 0);
  }

 private:
  int fd_ = -1;
};

}  // namespace

/// In a network namespace of this thread.
class TapTest : public WireTest {
 protected:
  void SetUp() override {
    if (access("/dev/net/tun", R_OK | W_OK) != 0) GTEST_SKIP() << "/dev/net/tun: " << strerror(errno);
    own_ = open("/proc/thread-self/ns/net", O_RDONLY);
    if (own_ < 0 || unshare(CLONE_NEWNET) != 0) GTEST_SKIP() << "no network namespace: " << strerror(errno);
    WireTest::SetUp();
  }
  void TearDown() override {
    if (own_ < 0) return;
    setns(own_, CLONE_NEWNET);
    close(own_);
  }

 private:
  int own_ = -1;
};

TEST_F(TapTest, CarriesToTheHostAndBack) {
  if (rte_eal_hotplug_add("vdev", "net_tap0", "iface=chimetap0") != 0) GTEST_SKIP() << "no tap can be made";
  {
    Plugged card(make("net_chime0", "net_tap0"));
    EXPECT_EQ(card->largest_frame(), 1518u);
    auto ok = use(*card.wire);
    ASSERT_TRUE(ok) << ok.error().text;
    EXPECT_TRUE(eventually([&] {
      card->poll(1);
      clock.now += 1'000'000;
      return card->link().up;
    }));
    HostSide host("chimetap0");
    std::vector<std::string> frames = {frame_bytes(60, 1), frame_bytes(1514, 2)};
    transmit(*card.wire, frames, 500);
    EXPECT_EQ(host.receive(2), frames);

    host.send(frame_bytes(1514, 3));
    auto arrived = [&] {
      card->poll(64);
      for (const auto& frame : card.port.received) {
        if (frame == frame_bytes(1514, 3)) return true;
      }
      return false;
    };
    EXPECT_TRUE(eventually(arrived));

    transmit(*card.wire, {frame_bytes(1519)});
    EXPECT_EQ(card->statistics().tx_dropped.too_long, 1u);

    // The kernel's side goes down, and the link with it.
    host.set_up("chimetap0", false);
    EXPECT_TRUE(eventually([&] {
      card->poll(1);
      clock.now += 1'000'000;
      return !card->link().up;
    }));
    transmit(*card.wire, {frame_bytes(60)});
    EXPECT_EQ(card->statistics().tx_dropped.link_down, 1u);
    host.set_up("chimetap0", true);
    EXPECT_TRUE(eventually([&] {
      card->poll(1);
      clock.now += 1'000'000;
      return card->link().up;
    }));

    remove_port("net_tap0");
    EXPECT_FALSE(card->link().up);
    ASSERT_EQ(rte_eal_hotplug_add("vdev", "net_tap0", "iface=chimetap0"), 0);
    EXPECT_TRUE(eventually([&] {
      card->poll(1);
      clock.now += 1'000'000;
      return card->link().up;
    }));
  }
  remove_port("net_tap0");
}

/// The kernel's own TAP, without a driver between.
class TunTest : public TapTest {};

TEST_F(TunTest, CarriesToTheHostAndBack) {
  Plugged card(make("net_chime0", "tap:chimetun0"));
  EXPECT_TRUE(card->link().up);
  EXPECT_EQ(card->largest_frame(), 9996u);
  EXPECT_EQ(card->descriptor(), -1);
  HostSide host("chimetun0");
  transmit(*card.wire, {frame_bytes(60, 1), frame_bytes(1514, 2)}, 500);
  EXPECT_EQ(host.receive(2), (std::vector{frame_bytes(60, 1), frame_bytes(1514, 2)}));

  host.send(frame_bytes(1514, 3));
  EXPECT_EQ(card->poll(64), 0u) << "before begin()";
  auto ok = use(*card.wire);
  ASSERT_TRUE(ok) << ok.error().text;
  pollfd readable{card->descriptor(), POLLIN, 0};
  EXPECT_EQ(poll(&readable, 1, 10'000), 1);
  for (unsigned i = 0; i < 100; ++i) host.send(frame_bytes(100, i));
  auto arrived = [&] {
    card->poll(64);
    return !card.port.received.empty() && card.port.received.back() == frame_bytes(100, 99);
  };
  EXPECT_TRUE(eventually(arrived));
  EXPECT_NE(std::find(card.port.received.begin(), card.port.received.end(), frame_bytes(1514, 3)),
            card.port.received.end());

  ASSERT_EQ(std::system("ip link set chimetun0 mtu 12000"), 0);
  host.send(frame_bytes(9997));
  EXPECT_TRUE(eventually([&] {
    card->poll(64);
    return card->statistics().rx_dropped.too_long == 1;
  }));
  transmit(*card.wire, {frame_bytes(9997)});
  EXPECT_EQ(card->statistics().tx_dropped.too_long, 1u);
  host.set_up("chimetun0", false);
  transmit(*card.wire, {frame_bytes(60)});
  EXPECT_EQ(card->statistics().tx_dropped.link_down, 1u);
}

/// The kernel takes TCP of 3000 bytes as what it is, and cuts it for a reader that can't take more: the other
/// end is a second TAP, behind a bridge.
TEST_F(TunTest, TheKernelCutsLargeSends) {
  Plugged sender(make("net_chime0", "tap:chimetun0")), receiver(make("net_chime1", "tap:chimetun1"));
  ASSERT_TRUE(use(*receiver.wire));
  if (std::system("ip link add chimebr0 type bridge && ip link set chimebr0 up && "
                  "ip link set chimetun0 master chimebr0 && ip link set chimetun1 master chimebr0") != 0) {
    GTEST_SKIP() << "no bridge can be made";
  }
  constexpr unsigned headers = 54, payload = 3000;
  std::string frame("\xff\xff\xff\xff\xff\xff\x02\x00\x00\x00\x00\x01\x08\x00", 14);
  frame +=
      std::string("\x45\x00\x0b\xe0\x00\x07\x40\x00\x40\x06\x00\x00\x0a\x00\x00\x01\x0a\x00\x00\x02", 20);
  frame +=
      std::string("\x00\x01\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00\x50\x10\xff\xff\x00\x00\x00\x00", 20);
  for (unsigned i = 0; i < payload; ++i) frame += static_cast<char>(i * 7);
  // 0x4500 + 0x0be0 + 7 + 0x4000 + 0x4006 + 4 words of addresses, complemented; and the pseudo header's sum.
  const std::uint32_t addresses = 0x0a00 + 1 + 0x0a00 + 2;
  std::uint32_t sum = 0x4500 + 0x0be0 + 7 + 0x4000 + 0x4006 + addresses;
  sum = ~((sum & 0xffff) + (sum >> 16)) & 0xffff;
  frame[24] = static_cast<char>(sum >> 8), frame[25] = static_cast<char>(sum);
  const std::uint32_t pseudo = addresses + 6 + 20 + payload;
  frame[50] = static_cast<char>(pseudo >> 8), frame[51] = static_cast<char>(pseudo);
  const model::Segment whole{reinterpret_cast<const std::byte*>(frame.data()),
                             static_cast<std::uint32_t>(frame.size())};
  const model::Frame large{&whole, 1, whole.length, {.payload = 1400, .headers = headers, .tcp = 34}};
  ASSERT_TRUE(sender->cuts());

  std::vector<std::string> pieces;
  EXPECT_TRUE(eventually([&] {
    sender->transmit({&large, 1});
    receiver->poll(64);
    for (const std::string& one : receiver.port.received)
      if (one.substr(12, 2) == frame.substr(12, 2) && one.substr(26, 8) == frame.substr(26, 8))
        pieces.push_back(one);
    receiver.port.received.clear();
    return pieces.size() >= 3;
  }));
  ASSERT_GE(pieces.size(), 3u);
  std::string together;
  for (unsigned i = 0; i < 3; ++i) together += pieces[i].substr(headers);
  EXPECT_EQ(together, frame.substr(headers));
  std::uint32_t checked = addresses + 6 + 20 + 1400;
  for (unsigned i = 34; i < headers + 1400; i += 2)
    checked += static_cast<std::uint8_t>(pieces[0][i]) * 256u + static_cast<std::uint8_t>(pieces[0][i + 1]);
  while (checked > 0xffff) checked = (checked & 0xffff) + (checked >> 16);
  EXPECT_EQ(checked, 0xffffu) << "the TCP checksum of the first piece";
}

TEST_F(TunTest, FaultsBefallSingleFrames) {
  Plugged card(make("net_chime0", "tap:chimetun0", {.loss_ppm = 1}));
  EXPECT_FALSE(card->cuts());
}

TEST_F(TunTest, ADeletedInterfaceIsALinkThatIsDown) {
  Plugged card(make("net_chime0", "tap:chimetun0"));
  ASSERT_TRUE(use(*card.wire));
  ASSERT_EQ(std::system("ip link del chimetun0"), 0);
  const int changes = card.port.changes;
  card->poll(1);
  EXPECT_FALSE(card->link().up);
  EXPECT_EQ(card.port.changes, changes + 1);
  EXPECT_EQ(card->descriptor(), -1);
  transmit(*card.wire, {frame_bytes(60)});
  EXPECT_EQ(card->statistics().tx_dropped.gone, 1u);
}

TEST_F(TunTest, TakesAnInterfaceThatIsThere) {
  ASSERT_EQ(std::system("ip tuntap add chimetun0 mode tap"), 0);
  {
    Plugged card(make("net_chime0", "tap:chimetun0"));
    HostSide host("chimetun0");
    transmit(*card.wire, {frame_bytes(60, 1)});
    EXPECT_EQ(host.receive(1), std::vector{frame_bytes(60, 1)});
  }
  EXPECT_NE(if_nametoindex("chimetun0"), 0u) << "it is its maker's";
}

TEST_F(TunTest, WhatIsNoTapIsRefused) {
  const auto text = [&](const char* wire) { return std::string(refused("net_chime0", wire).text); };
  EXPECT_NE(text("tap:").find("1 to 15 characters"), std::string::npos);
  EXPECT_NE(text("tap:a-name-that-is-too-long").find("1 to 15 characters"), std::string::npos);
  EXPECT_NE(text("tap:a/b").find("1 to 15 characters"), std::string::npos);
  EXPECT_NE(text("tap:lo").find("no TAP interface"), std::string::npos) << text("tap:lo");
  const int other = open("/dev/net/tun", O_RDWR);
  ifreq request{};
  std::strcpy(request.ifr_name, "chimetun0");
  request.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR;
  ASSERT_EQ(ioctl(other, TUNSETIFF, &request), 0) << strerror(errno);
  EXPECT_NE(text("tap:chimetun0").find("another process has"), std::string::npos) << text("tap:chimetun0");
  close(other);
}

}  // namespace chime::wire::test
