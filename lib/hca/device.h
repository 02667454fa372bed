// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/array.h"
#include "base/error.h"
#include "hca/doorbell.h"
#include "hca/object.h"
#include "prm/eqe.h"

/// @file
/// The seam: an open HCA as a host process may see it beside a bound kernel driver. What the kernel would
/// refuse is refused here, with EPERM and the reason, by every backend. Control path: virtual calls, may
/// sleep, callable from any thread of the process that opened the device.

namespace chime::hca {

class Port;
class Steering;

/// What a memory region or umem may be used for, besides being read locally.
struct Access {
  bool local_write = false;
  bool remote_read = false;
  bool remote_write = false;
  bool remote_atomic = false;
};

/// A range of this process's memory that objects can be laid on (CREATE_UMEM). One in use can't go.
struct Umem {
  Object object;
  std::uint32_t id() const noexcept { return object.number(); }
};

/// A registered memory range with its keys.
struct MemoryRegion {
  Object umem;
  Object mkey;  ///< ends before the umem
  std::uint32_t lkey = 0;
  std::uint32_t rkey = 0;
};

/// A UAR page: one writer at a time.
struct Uar {
  Object object;
  Doorbell send;  ///< of send queues; a template: each queue that is the UAR's only writer takes a copy
  std::uint32_t page_id() const noexcept { return object.number(); }
};

/// One event of an EventChannel.
struct Event {
  prm::event_type type;
  std::uint8_t sub_type;  ///< 0 on a card
  std::uint64_t cookie;   ///< as given to subscribe()
};

/// Events of objects, by a file descriptor that polls readable. Ends its subscriptions with it.
class EventChannel {
 public:
  virtual ~EventChannel() = default;
  virtual int fd() const noexcept = 0;
  virtual Result<> subscribe(const Object& object, prm::event_type type, std::uint64_t cookie) noexcept = 0;
  /// @return the next event, nothing when there is none. Never blocks.
  virtual Result<std::optional<Event>> next() noexcept = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  /// A general command: QUERY_HCA_CAP, QUERY_NIC_VPORT_CONTEXT, ... (facts in doc/prm/user-context).
  virtual Result<> command(std::span<const std::byte> in, std::span<std::byte> out) noexcept = 0;
  /// Executes a CREATE_*, ALLOC_* or SET_FLOW_TABLE_ENTRY command. The object ends with the handle.
  virtual Result<Object> create(std::span<const std::byte> in, std::span<std::byte> out) noexcept = 0;

  /// @param address page-aligned; @param length bytes
  virtual Result<Umem> register_umem(void* address, std::size_t length, Access access) noexcept = 0;
  /// ibv_reg_mr: the way to memory with remote rights, and the kernel's way to a key that spans pages of any
  /// size.
  virtual Result<MemoryRegion> register_memory(const Object& pd, void* address, std::size_t length,
                                               Access access) noexcept = 0;
  virtual Result<Uar> alloc_uar() noexcept = 0;
  /// Where to arm this completion queue (which was created on `uar`).
  virtual Result<Doorbell> arm_doorbell(const Uar& uar, const Object& cq) noexcept = 0;
  /// Number of the event queue behind a completion vector.
  virtual Result<std::uint32_t> query_eqn(std::uint32_t vector) noexcept = 0;
  virtual Result<Owned<EventChannel>> create_event_channel() noexcept = 0;

  /// Whether condition() may ever be an error.
  virtual bool may_be_lost() const noexcept { return false; }
  /// ENODEV: the card failed or was taken away, and what to do. It stays so: commands fail, queues stand
  /// still while their memory and doorbells may be used as before, and only the device's end is left.
  /// port().change_fd() tells when it comes to that.
  virtual Result<> condition() const noexcept { return {}; }

  virtual Port& port() noexcept = 0;
  virtual Steering& steering() noexcept = 0;
  /// Whether its doorbells can be rung by all processes of the group: they are EAL memory, not a mapping of
  /// this process.
  virtual bool serves_secondaries() const noexcept = 0;
  /// For messages: "mlx5_0", "software HCA of net_chime0".
  virtual const char* name() const noexcept = 0;

 protected:
  Device() noexcept = default;
  friend class Object;
  Object own(std::uint64_t handle, std::uint32_t number) noexcept { return {*this, handle, number}; }
  virtual void destroy(std::uint64_t handle) noexcept = 0;
  virtual Result<> modify(std::uint64_t handle, std::span<const std::byte> in,
                          std::span<std::byte> out) noexcept = 0;
  virtual Result<> query(std::uint64_t handle, std::span<const std::byte> in,
                         std::span<std::byte> out) noexcept = 0;
};

}  // namespace chime::hca
