// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "model/clock.h"
#include "model/wire.h"
#include "wire/factory.h"

namespace chime::wire::test {

/// The stepping thread is the test's own.
struct DirectExecutor final : Executor {
  void call(void (*function)(void*), void* argument) noexcept override {
    ++calls;
    function(argument);
  }
  int calls = 0;
};

struct TestClock final : model::Clock {
  std::uint64_t nanoseconds() noexcept override { return now; }
  std::uint64_t now = 1'000'000'000;
};

/// A card's end that keeps what it gets.
struct TestPort final : model::WirePort {
  void deliver(std::span<const model::Frame> frames) noexcept override {
    ++batches;
    for (const model::Frame& frame : frames) {
      std::string bytes;
      for (std::uint32_t i = 0; i < frame.segment_count; ++i) {
        EXPECT_NE(frame.segments[i].length, 0u);
        bytes.append(reinterpret_cast<const char*>(frame.segments[i].data), frame.segments[i].length);
      }
      EXPECT_EQ(bytes.size(), frame.length);
      received.push_back(bytes);
    }
  }
  void wire_changed() noexcept override { ++changes; }

  std::vector<std::string> received;
  int batches = 0;
  int changes = 0;
};

/// A frame of `length` bytes: broadcast, ethertype 0x88b5, then bytes that follow from `number`.
std::string frame_bytes(std::size_t length, unsigned number = 0);

/// Hands frames to a wire, each in pieces of at most `piece` bytes.
void transmit(model::Wire& wire, const std::vector<std::string>& frames, std::size_t piece = SIZE_MAX);

/// ready() and begin(), as a port that is started does.
Result<> use(Port& wire);

/// Polls until it is so, for up to 10 s. @return whether it became so
bool eventually(const std::function<bool()>& is_so);

/// A factory with its surroundings; EAL runs.
class WireTest : public ::testing::Test {
 protected:
  void SetUp() override;
  Owned<Port> make(const char* port, const char* wire, const FaultSpec& faults = {});
  Error refused(const char* port, const char* wire, const FaultSpec& faults = {});

  DirectExecutor executor;
  TestClock clock;
  Owned<Factory> factory;
};

/// The card's port is destroyed before what it is plugged into.
struct Plugged {
  Plugged(Owned<Port> w) : wire(std::move(w)) { wire->plug(&port); }
  ~Plugged() {
    if (wire) wire->plug(nullptr);
  }
  Port* operator->() { return wire.get(); }
  TestPort port;
  Owned<Port> wire;
};

/// Adds and removes ports as EAL's hotplug does.
std::uint16_t add_port(const char* name, const std::string& args = "");
void remove_port(const char* name);

}  // namespace chime::wire::test
