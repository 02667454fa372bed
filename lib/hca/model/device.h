// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "base/array.h"
#include "base/error.h"
#include "hca/device.h"
#include "hca/model/embedded.h"
#include "hca/model/events.h"
#include "hca/model/findings.h"
#include "hca/model/kernel.h"
#include "hca/model/memory.h"
#include "hca/model/port.h"
#include "hca/model/root_steering.h"
#include "hca/model/user_context.h"
#include "hca/port.h"
#include "hca/steering.h"
#include "model/hca.h"
#include "model/loop.h"
#include "model/profile.h"
#include "wire/factory.h"

namespace chime::hca::embedded {

/// A loop and the name under which lib/wire knows it; one pair for all HCAs that the loop steps.
class SteppedLoop final : public wire::Executor {
 public:
  static Result<Owned<SteppedLoop>> create(const model::LoopOptions& options) noexcept;
  explicit SteppedLoop(Owned<model::Loop> loop) noexcept : loop_(std::move(loop)) {}

  model::Loop& loop() noexcept { return *loop_; }
  void call(void (*function)(void*), void* argument) noexcept override { loop_->call(function, argument); }

 private:
  Owned<model::Loop> loop_;
};

/// What a device is made of. The loop and the factory outlive it.
struct DeviceConfig {
  const char* name;        ///< of the port, for messages and the wire
  model::Profile profile;  ///< what kind of card
  wire::WireSpec wire;     ///< what it is plugged into
  MacAddress mac;          ///< burnt into it
  SteppedLoop* shared;     ///< what steps it; nullptr: `own`
  Owned<SteppedLoop> own;  ///< a loop of its own
};

/// hca::Device over a software HCA in this process, with the kernel driver that a card would have.
class EmbeddedDevice final : public Device, public Steering, public EventSink {
 public:
  static Result<Owned<EmbeddedDevice>> open(DeviceConfig config, wire::Factory& wires) noexcept;
  explicit EmbeddedDevice(DeviceConfig config) noexcept;
  ~EmbeddedDevice() override;

  Result<> command(std::span<const std::byte> in, std::span<std::byte> out) noexcept override;
  Result<Object> create(std::span<const std::byte> in, std::span<std::byte> out) noexcept override;
  Result<Umem> register_umem(void* address, std::size_t length, Access access) noexcept override;
  Result<MemoryRegion> register_memory(const Object& pd, void* address, std::size_t length,
                                       Access access) noexcept override;
  Result<Uar> alloc_uar() noexcept override;
  Result<Doorbell> arm_doorbell(const Uar& uar, const Object& cq) noexcept override;
  Result<std::uint32_t> query_eqn(std::uint32_t vector) noexcept override;
  Result<Owned<EventChannel>> create_event_channel() noexcept override;
  Result<> condition() const noexcept override;
  hca::Port& port() noexcept override { return *port_; }
  Steering& steering() noexcept override { return *this; }
  bool serves_secondaries() const noexcept override { return true; }
  const char* name() const noexcept override { return name_; }

  // hca::Steering
  Result<Object> root(std::uint8_t criteria_enable, std::span<const std::byte> mask,
                      std::span<const std::byte> value, std::uint16_t priority,
                      RootDestination destination) noexcept override;

  // The kernel's events, on the thread that steps the HCA.
  void event(const prm::Eqe& eqe) noexcept override;

  // For tests; on the loop.
  model::Loop& loop() noexcept { return loop_.loop(); }
  model::Hca& hca() noexcept { return *hca_; }
  Kernel& kernel() noexcept { return *kernel_; }
  UserContext& user() noexcept { return *user_; }
  void lose() noexcept {
    lost_ = true;
    port_->changed();
  }

 private:
  void destroy(std::uint64_t handle) noexcept override;
  Result<> modify(std::uint64_t handle, std::span<const std::byte> in,
                  std::span<std::byte> out) noexcept override;
  Result<> query(std::uint64_t handle, std::span<const std::byte> in,
                 std::span<std::byte> out) noexcept override;

  Result<> start(wire::Factory& wires) noexcept;
  Result<> power_on() noexcept;
  void power_off() noexcept;
  /// Runs `f` on the loop, after all doorbells that were rung before.
  template <class F>
  auto run(F&& f) noexcept;
  Object handed_out(Handle& handle) noexcept;
  template <class T>
  Result<Object> handed_out(Result<T> made) noexcept;

  DeviceConfig config_;
  SteppedLoop& loop_;
  char port_name_[64];
  char name_[96];

  // In the order in which they come to life.
  model::SystemClock clock_;
  RegisteredMemory memory_;
  PendingInterrupts interrupts_;
  Findings findings_;
  EventRouter events_;
  Owned<wire::Port> wire_;
  Owned<model::Hca> hca_;
  Owned<Kernel> kernel_;
  Owned<Embedded> embedded_;
  Owned<RootTables> root_;
  Owned<UserContext> user_;
  Owned<EmbeddedPort> port_;
  bool stepped_ = false;
  std::atomic<bool> lost_{false};
};

}  // namespace chime::hca::embedded
