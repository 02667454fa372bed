// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "hca/device.h"
#include "hca/steering.h"

namespace chime::test {

/// A device whose n-th command from now is refused. Ends of objects do not count: nobody could be told.
class FailingDevice final : public hca::Device, private hca::Steering {
 public:
  explicit FailingDevice(hca::Device& device) : device_(device) {}

  /// 1 is the next, 0 none.
  void fail_command(unsigned n) { fails_in_ = n; }

  Result<> command(std::span<const std::byte> in, std::span<std::byte> out) noexcept override {
    if (fails()) return refused();
    return device_.command(in, out);
  }
  Result<hca::Object> create(std::span<const std::byte> in, std::span<std::byte> out) noexcept override {
    if (fails()) return refused();
    return device_.create(in, out);
  }
  Result<hca::Umem> register_umem(void* address, std::size_t length, hca::Access access) noexcept override {
    return device_.register_umem(address, length, access);
  }
  Result<hca::MemoryRegion> register_memory(const hca::Object& pd, void* address, std::size_t length,
                                            hca::Access access) noexcept override {
    return device_.register_memory(pd, address, length, access);
  }
  Result<hca::Uar> alloc_uar() noexcept override { return device_.alloc_uar(); }
  Result<hca::Doorbell> arm_doorbell(const hca::Uar& uar, const hca::Object& cq) noexcept override {
    return device_.arm_doorbell(uar, cq);
  }
  Result<std::uint32_t> query_eqn(std::uint32_t vector) noexcept override {
    return device_.query_eqn(vector);
  }
  Result<Owned<hca::EventChannel>> create_event_channel() noexcept override {
    return device_.create_event_channel();
  }
  hca::Port& port() noexcept override { return device_.port(); }
  hca::Steering& steering() noexcept override { return *this; }
  bool serves_secondaries() const noexcept override { return true; }
  const char* name() const noexcept override { return device_.name(); }

 private:
  Result<hca::Object> root(std::uint8_t criteria_enable, std::span<const std::byte> mask,
                           std::span<const std::byte> value, std::uint16_t priority,
                           hca::RootDestination destination) noexcept override {
    if (fails()) return refused();
    return device_.steering().root(criteria_enable, mask, value, priority, destination);
  }
  // Objects are the other device's.
  void destroy(std::uint64_t) noexcept override {}
  Result<> modify(std::uint64_t, std::span<const std::byte>, std::span<std::byte>) noexcept override {
    return refused();
  }
  Result<> query(std::uint64_t, std::span<const std::byte>, std::span<std::byte>) noexcept override {
    return refused();
  }

  bool fails() noexcept { return fails_in_ != 0 && --fails_in_ == 0; }
  static tl::unexpected<Error> refused() noexcept {
    Error error = Error::make(EIO, "this command was made to fail");
    error.status = 1;
    return fail(error);
  }

  hca::Device& device_;
  unsigned fails_in_ = 0;
};

}  // namespace chime::test
