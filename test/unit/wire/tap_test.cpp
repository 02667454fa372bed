// SPDX-License-Identifier: BSD-3-Clause
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <rte_dev.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

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

}  // namespace chime::wire::test
