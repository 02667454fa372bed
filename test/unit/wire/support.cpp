// SPDX-License-Identifier: BSD-3-Clause
#include "support.h"

#include <rte_dev.h>
#include <rte_ethdev.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace chime::wire::test {

std::string frame_bytes(std::size_t length, unsigned number) {
  std::string bytes(6, '\xff');
  bytes += std::string("\x02\0\0\0\0\x01\x88\xb5", 8);
  while (bytes.size() < length) {
    bytes.push_back(static_cast<char>(number * 31 + bytes.size() * 7 + bytes.size() / 251));
  }
  bytes.resize(length);
  return bytes;
}

void transmit(model::Wire& wire, const std::vector<std::string>& frames, std::size_t piece) {
  std::vector<std::vector<model::Segment>> segments(frames.size());
  std::vector<model::Frame> list;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    for (std::size_t at = 0; at < frames[i].size(); at += std::min(piece, frames[i].size())) {
      std::size_t length = std::min(piece, frames[i].size() - at);
      segments[i].push_back(
          {reinterpret_cast<const std::byte*>(frames[i].data() + at), static_cast<std::uint32_t>(length)});
    }
    list.push_back({segments[i].data(), static_cast<std::uint32_t>(segments[i].size()),
                    static_cast<std::uint32_t>(frames[i].size())});
  }
  wire.transmit(list);
}

Result<> use(Port& wire) {
  Result<> done = wire.ready();
  if (done) wire.begin();
  return done;
}

bool eventually(const std::function<bool()>& is_so) {
  auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!is_so()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

void WireTest::SetUp() {
  auto made = Factory::create();
  ASSERT_TRUE(made) << made.error().text;
  factory = std::move(*made);
}

Owned<Port> WireTest::make(const char* port, const char* wire, const FaultSpec& faults) {
  auto made = factory->make({port, wire, faults}, executor, clock);
  if (!made) {
    ADD_FAILURE() << made.error().text;
    std::abort();
  }
  return std::move(*made);
}

Error WireTest::refused(const char* port, const char* wire, const FaultSpec& faults) {
  auto made = factory->make({port, wire, faults}, executor, clock);
  EXPECT_FALSE(made) << port << " with wire " << wire;
  return made ? Error{} : made.error();
}

std::uint16_t add_port(const char* name, const std::string& args) {
  EXPECT_EQ(rte_eal_hotplug_add("vdev", name, args.c_str()), 0) << name << " " << args;
  std::uint16_t port = RTE_MAX_ETHPORTS;
  EXPECT_EQ(rte_eth_dev_get_port_by_name(name, &port), 0);
  return port;
}

void remove_port(const char* name) {
  EXPECT_EQ(rte_eal_hotplug_remove("vdev", name), 0) << name;
}

}  // namespace chime::wire::test
