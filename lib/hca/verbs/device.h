// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/array.h"
#include "base/error.h"
#include "hca/device.h"
#include "hca/port.h"
#include "hca/steering.h"
#include "hca/verbs/handles.h"
#include "hca/verbs/rdma_core.h"
#include "hca/verbs/root_steering.h"
#include "hca/verbs/watch.h"

namespace chime::hca::verbs {

/// hca::Device over rdma-core, beside the bound kernel driver.
class VerbsDevice final : public Device, public Steering {
 public:
  /// @param context opened with DevX; @param netdev index of the port's
  static Result<Owned<VerbsDevice>> make(Context context, unsigned netdev) noexcept;
  explicit VerbsDevice(Context context) noexcept;

  Result<> command(std::span<const std::byte> in, std::span<std::byte> out) noexcept override;
  Result<Object> create(std::span<const std::byte> in, std::span<std::byte> out) noexcept override;
  Result<Umem> register_umem(void* address, std::size_t length, Access access) noexcept override;
  Result<MemoryRegion> register_memory(const Object& pd, void* address, std::size_t length,
                                       Access access) noexcept override;
  Result<Uar> alloc_uar() noexcept override;
  Result<Doorbell> arm_doorbell(const Uar& uar, const Object& cq) noexcept override;
  Result<std::uint32_t> query_eqn(std::uint32_t vector) noexcept override;
  Result<Owned<EventChannel>> create_event_channel() noexcept override;
  bool may_be_lost() const noexcept override { return true; }
  Result<> condition() const noexcept override;
  hca::Port& port() noexcept override { return *port_; }
  Steering& steering() noexcept override { return *this; }
  bool serves_secondaries() const noexcept override { return false; }  // UAR pages are mapped here alone
  const char* name() const noexcept override { return name_.data(); }

  // hca::Steering
  Result<Object> root(std::uint8_t criteria_enable, std::span<const std::byte> mask,
                      std::span<const std::byte> value, std::uint16_t priority,
                      RootDestination destination) noexcept override;

 private:
  void destroy(std::uint64_t handle) noexcept override;
  Result<> modify(std::uint64_t handle, std::span<const std::byte> in,
                  std::span<std::byte> out) noexcept override;
  Result<> query(std::uint64_t handle, std::span<const std::byte> in,
                 std::span<std::byte> out) noexcept override;
  Object handed_out(Owned<Handle> handle) noexcept;

  // Users go first.
  Context context_;
  std::array<char, 64> name_{};
  Handles handles_;
  RootSteering root_;
  Watch watch_;
  Owned<Port> port_;
};

}  // namespace chime::hca::verbs
