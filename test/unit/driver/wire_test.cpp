// SPDX-License-Identifier: BSD-3-Clause
#include <rte_dev.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "hca/model/testing.h"
#include "port_support.h"

/// @file
/// The wire of a port that is started, stopped and started again.

namespace chime::net::test {
namespace {

/// A net_pcap port that gives `count` frames once, and then nothing.
class Capture {
 public:
  Capture(std::string name, unsigned count)
      : name_(std::move(name)),
        path_(std::filesystem::temp_directory_path() /
              ("chime-driver-" + std::to_string(getpid()) + ".pcap")) {
    std::ofstream file(path_, std::ios::binary);
    const std::array<std::uint32_t, 6> header{0xa1b2c3d4, 4 << 16 | 2, 0, 0, 65535, 1};
    file.write(reinterpret_cast<const char*>(header.data()), sizeof header);
    for (unsigned i = 0; i < count; ++i) {
      const Bytes bytes = numbered(i);
      const auto length = static_cast<std::uint32_t>(bytes.size());
      const std::array<std::uint32_t, 4> record{1, 0, length, length};
      file.write(reinterpret_cast<const char*>(record.data()), sizeof record);
      file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    }
  }
  ~Capture() {
    remove();
    std::filesystem::remove(path_);
  }
  void add() {
    ASSERT_EQ(rte_eal_hotplug_add("vdev", name_.c_str(), ("rx_pcap=" + path_.string()).c_str()), 0);
    there_ = true;
  }
  void remove() {
    if (!there_) return;
    EXPECT_EQ(rte_eal_hotplug_remove("vdev", name_.c_str()), 0);
    there_ = false;
  }
  static Bytes numbered(unsigned i) {
    Bytes bytes = frame(100);
    bytes[20] = static_cast<std::uint8_t>(i);
    bytes[21] = static_cast<std::uint8_t>(i >> 8);
    return bytes;
  }

 private:
  std::string name_;
  std::filesystem::path path_;
  bool there_ = false;
};

std::vector<Bytes> numbered(unsigned count) {
  std::vector<Bytes> frames;
  for (unsigned i = 0; i < count; ++i) frames.push_back(Capture::numbered(i));
  return frames;
}

constexpr unsigned captured = 200;  // fewer than a ring has descriptors: nobody receives while it starts

TEST(PortWire, TheFirstFrameOfACaptureArrives) {
  Pool pool;
  Capture capture("net_pcap_whole", captured);
  capture.add();
  Port port("net_chime0", "wire=net_pcap_whole");
  ASSERT_EQ(port.error(), 0);
  ASSERT_EQ(port.set_up(pool), 0);
  ASSERT_EQ(rte_eth_promiscuous_enable(port.id()), 0);
  ASSERT_EQ(port.start(), 0);
  EXPECT_EQ(receive(port, captured), numbered(captured));
  EXPECT_EQ(port.xstat("rx_steer_missed_packets"), 0u);
  EXPECT_EQ(port.stop(), 0);
}

TEST(PortWire, AStartThatFailsTakesNoFrame) {
  Pool pool;
  Capture capture("net_pcap_kept", captured);
  capture.add();
  Port port("net_chime0", "wire=net_pcap_kept");
  ASSERT_EQ(port.error(), 0);
  ASSERT_EQ(port.set_up(pool), 0);
  ASSERT_EQ(rte_eth_promiscuous_enable(port.id()), 0);
  const auto start_with_failure = [&](unsigned n) {
    hca::embedded::fail_command(port.device(), n);
    const int error = port.start();
    hca::embedded::fail_command(port.device(), 0);
    return error;
  };
  // The first time the wire makes its mempool, which may go unregistered: a later command, then.
  ASSERT_NE(start_with_failure(8), 0);
  const std::uint32_t objects = port.objects();
  unsigned n = 1;
  for (; start_with_failure(n) != 0; ++n) {
    EXPECT_EQ(port.objects(), objects) << "command " << n;
    ASSERT_LT(n, 500u);
  }
  EXPECT_GT(n, 5u);
  EXPECT_EQ(receive(port, captured), numbered(captured));
  EXPECT_EQ(port.stop(), 0);
}

TEST(PortWire, AWireThatIsNotThereFailsTheStart) {
  Pool pool;
  Port port("net_chime0", "wire=net_pcap_late");
  ASSERT_EQ(port.error(), 0);
  ASSERT_EQ(port.set_up(pool), 0);
  ASSERT_EQ(rte_eth_promiscuous_enable(port.id()), 0);
  const std::uint32_t objects = port.objects();
  EXPECT_EQ(port.start(), -ENODEV);
  EXPECT_EQ(port.objects(), objects);

  Capture capture("net_pcap_late", captured);
  capture.add();
  ASSERT_TRUE(eventually([&] { return port.start() == 0; }));
  EXPECT_EQ(receive(port, captured), numbered(captured));
  EXPECT_EQ(port.stop(), 0);
}

TEST(PortWire, AThousandStartsLeaveNoObject) {
  Pool pool;
  Port port;
  ASSERT_EQ(port.error(), 0);
  PortSetup setup;
  setup.descriptors = 64;
  ASSERT_EQ(port.set_up(pool, setup), 0);
  ASSERT_EQ(rte_eth_promiscuous_enable(port.id()), 0);
  // The first start may keep what all later ones use again.
  ASSERT_EQ(port.start(), 0);
  const std::uint32_t started = port.objects();
  ASSERT_EQ(port.stop(), 0);
  const std::uint32_t objects = port.objects();
  const unsigned available = pool.available();
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(port.start(), 0) << i;
    if (i % 100 == 0) {
      ASSERT_EQ(port.objects(), started) << i;
      ASSERT_TRUE(loops(port, pool)) << i;
    }
    ASSERT_EQ(port.stop(), 0) << i;
    ASSERT_EQ(port.objects(), objects) << i;
    ASSERT_EQ(pool.available(), available) << i;
  }
  EXPECT_EQ(hca::embedded::refused_destroys(port.device()), 0u);
}

}  // namespace
}  // namespace chime::net::test
