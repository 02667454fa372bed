// SPDX-License-Identifier: BSD-3-Clause
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "ring_peer.h"
#include "support.h"

namespace chime::wire::test {

namespace {

/// A thread that steps, and runs control work between two steps.
class SteppingThread final : public Executor {
 public:
  explicit SteppingThread(std::function<void()> step) : step_(std::move(step)), thread_([this] { loop(); }) {}
  ~SteppingThread() override { stop(); }

  void stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }

  void call(void (*function)(void*), void* argument) noexcept override {
    if (std::this_thread::get_id() == thread_.get_id() || !thread_.joinable()) {
      function(argument);
      return;
    }
    std::lock_guard one_at_a_time(callers_);
    std::unique_lock lock(mutex_);
    function_ = function;
    argument_ = argument;
    asked_ = true;
    done_.wait(lock, [&] { return function_ == nullptr; });
  }

 private:
  void loop() {
    while (!stop_) {
      step_();
      if (!asked_) continue;
      std::lock_guard lock(mutex_);
      asked_ = false;
      function_(argument_);
      function_ = nullptr;
      done_.notify_one();
    }
  }

  std::function<void()> step_;
  std::mutex callers_, mutex_;
  std::condition_variable done_;
  void (*function_)(void*) = nullptr;
  void* argument_ = nullptr;
  std::atomic<bool> asked_{false}, stop_{false};
  std::thread thread_;
};

/// Leaves a wire alone before it ends, also where a test does.
class Unstepped {
 public:
  Unstepped(SteppingThread& thread, std::atomic<Port*>& stepped) : thread_(thread), stepped_(stepped) {}
  ~Unstepped() {
    thread_.run([this] { stepped_ = nullptr; });
  }
  Unstepped(const Unstepped&) = delete;
  Unstepped& operator=(const Unstepped&) = delete;

 private:
  SteppingThread& thread_;
  std::atomic<Port*>& stepped_;
};

/// A card's end that counts.
struct CountingPort final : model::WirePort {
  void deliver(std::span<const model::Frame> f) noexcept override { frames += f.size(); }
  void wire_changed() noexcept override { ++changes; }
  std::atomic<std::uint64_t> frames{0}, changes{0};
};

}  // namespace

using ThreadTest = WireTest;

/// Wires are made, asked, spoilt and destroyed while a thread steps one of them.
TEST_F(ThreadTest, ControlRunsBesideSteps) {
  std::atomic<Port*> stepped{nullptr};
  SteppingThread thread([&] {
    if (Port* wire = stepped.load()) {
      transmit(*wire, {frame_bytes(64), frame_bytes(300)});
      wire->poll(32);
    } else {
      std::this_thread::yield();
    }
  });
  CountingPort here, there;
  auto a = factory->make({"net_chime0", "cable:x", {}}, thread, clock);
  ASSERT_TRUE(a);
  const Unstepped at_end(thread, stepped);
  (*a)->plug(&here);
  stepped = a->get();
  for (int round = 0; round < 200; ++round) {
    auto b = factory->make({"net_chime1", "cable:x", {}}, thread, clock);
    ASSERT_TRUE(b);
    thread.run([&] { (*b)->plug(&there); });
    ASSERT_TRUE(factory->set_faults("net_chime0", {.loss_ppm = 500'000, .reorder_ppm = 1000}));
    std::uint64_t before = there.frames;
    ASSERT_TRUE(eventually([&] { return there.frames > before; }));
    ASSERT_TRUE(factory->set_faults("net_chime0", {}));
    ASSERT_GE(factory->statistics("net_chime0")->tx_frames, 1u);
    thread.run([&] { (*b)->plug(nullptr); });
  }
  EXPECT_EQ(here.changes, 401u);
}

TEST_F(ThreadTest, AnEthdevIsTakenIntoUseBesideSteps) {
  std::atomic<Port*> stepped{nullptr};
  SteppingThread thread([&] {
    if (Port* wire = stepped.load()) {
      transmit(*wire, {frame_bytes(64)});
      wire->poll(32);
    }
    std::this_thread::yield();
  });
  auto peer = std::make_unique<RingPeer>("peer", 64);
  CountingPort port;
  for (int round = 0; round < 20; ++round) {
    auto wire = factory->make({"net_chime0", peer->port_name(), {}}, thread, clock);
    ASSERT_TRUE(wire);
    const Unstepped at_end(thread, stepped);
    thread.run([&] {
      (*wire)->plug(&port);
      stepped = wire->get();
    });
    ASSERT_TRUE(use(**wire));
    std::uint64_t before = port.frames;
    ASSERT_TRUE(peer->put(frame_bytes(64)));
    ASSERT_TRUE(eventually([&] { return port.frames > before; }));
    ASSERT_TRUE(eventually([&] { return !peer->take().empty(); }));
    thread.run([&] {
      stepped = nullptr;
      (*wire)->plug(nullptr);
    });
  }
}

/// The thread is between two steps when the wire is taken away, and takes it again by itself.
TEST_F(ThreadTest, AnEthdevComesBackBesideSteps) {
  std::atomic<Port*> stepped{nullptr};
  SteppingThread thread([&] {
    if (Port* wire = stepped.load()) wire->poll(32);
    std::this_thread::yield();
  });
  RingPeer peer("peer", 64);
  CountingPort port;
  auto wire = factory->make({"net_chime0", peer.port_name(), {}}, thread, clock);
  ASSERT_TRUE(wire);
  const Unstepped at_end(thread, stepped);
  (*wire)->plug(&port);
  ASSERT_TRUE(use(**wire));
  for (int round = 0; round < 10; ++round) {
    peer.remove();
    stepped = wire->get();
    peer.add();
    std::uint64_t before = port.frames;
    ASSERT_TRUE(peer.put(frame_bytes(64)));
    ASSERT_TRUE(eventually([&] { return port.frames > before; }));
    // The driver frees its queues before it tells anybody: nobody may be bursting then.
    thread.run([&] { stepped = nullptr; });
  }
}

}  // namespace chime::wire::test
