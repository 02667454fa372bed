// SPDX-License-Identifier: BSD-3-Clause
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "support.h"

namespace chime::wire::test {

namespace {

struct PcapHeader {
  std::uint32_t magic = 0xa1b2c3d4;
  std::uint16_t major = 2, minor = 4;
  std::uint32_t zone = 0, accuracy = 0, snaplen = 65535, link_type = 1;
};
struct PcapRecord {
  std::uint32_t seconds = 0, fraction = 0, captured = 0, length = 0;
};

void write_pcap(const std::string& path, const std::vector<std::string>& frames) {
  std::ofstream file(path, std::ios::binary);
  PcapHeader header;
  file.write(reinterpret_cast<const char*>(&header), sizeof header);
  for (const auto& frame : frames) {
    auto length = static_cast<std::uint32_t>(frame.size());
    PcapRecord record{1, 0, length, length};
    file.write(reinterpret_cast<const char*>(&record), sizeof record);
    file.write(frame.data(), static_cast<std::streamsize>(frame.size()));
  }
}

std::vector<std::string> read_pcap(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  PcapHeader header;
  PcapRecord record;
  std::vector<std::string> frames;
  file.read(reinterpret_cast<char*>(&header), sizeof header);
  while (file.read(reinterpret_cast<char*>(&record), sizeof record)) {
    EXPECT_EQ(record.captured, record.length);
    frames.emplace_back(record.captured, '\0');
    file.read(frames.back().data(), record.captured);
  }
  return frames;
}

}  // namespace

class PcapTest : public WireTest {
 protected:
  void SetUp() override {
    WireTest::SetUp();
    folder = std::filesystem::temp_directory_path() / ("chime-wire-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder);
    in = folder / "in.pcap";
    out = folder / "out.pcap";
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  std::filesystem::path folder;
  std::string in, out;
};

TEST_F(PcapTest, CarriesCapturesBothWaysUpToJumboSize) {
  std::vector<std::string> arriving = {frame_bytes(60, 1), frame_bytes(1514, 2), frame_bytes(9996, 3)};
  std::vector<std::string> leaving = {frame_bytes(60, 4), frame_bytes(9996, 5), frame_bytes(1514, 6)};
  write_pcap(in, arriving);
  add_port("net_pcap0", "rx_pcap=" + in + ",tx_pcap=" + out);
  for (int round = 0; round < 2; ++round) {
    Plugged card(make("net_chime0", "net_pcap0"));
    auto ok = use(*card.wire);
    ASSERT_TRUE(ok) << ok.error().text;
    EXPECT_TRUE(card->link().up);
    EXPECT_EQ(card->largest_frame(), 9996u);
    EXPECT_EQ(card->poll(64), 3u);
    EXPECT_EQ(card.port.received, arriving);
    transmit(*card.wire, leaving, 3000);
    EXPECT_EQ(card->statistics().tx_frames, 3u);
    card->plug(nullptr);
    card.wire.reset();
    EXPECT_EQ(read_pcap(out), leaving) << "closed with the wire";
  }
  remove_port("net_pcap0");
}

TEST_F(PcapTest, ACaptureOfOneWayServesToo) {
  write_pcap(in, {frame_bytes(60, 1)});
  add_port("net_pcap1", "rx_pcap=" + in);
  {
    Plugged card(make("net_chime0", "net_pcap1"));
    auto ok = use(*card.wire);
    ASSERT_TRUE(ok) << ok.error().text;
    EXPECT_EQ(card->poll(64), 1u);
    transmit(*card.wire, {frame_bytes(60)});
    WireStatistics s = card->statistics();
    EXPECT_EQ(s.tx_frames + s.tx_dropped.total(), 1u);
  }
  remove_port("net_pcap1");
}

}  // namespace chime::wire::test
