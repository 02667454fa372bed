// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "base/error.h"
#include "guest_memory.h"
#include "model/pci/function.h"
#include "proxy_connection.h"

namespace chime::serve {

/// Makes QEMU's messages accesses to a PCI function. The seam of the transport: another one (vfio-user) would
/// call the same functions.
class ProxyDevice {
 public:
  ProxyDevice(FileDescriptor socket, model::pci::Function& function, GuestMemory& memory) noexcept
      : connection_(std::move(socket)), function_(function), memory_(memory) {}

  int fd() const noexcept { return connection_.fd(); }
  /// Messages served at once: other cards want their turn.
  static constexpr unsigned most = 64;

  /// Serves what has come, at most so many messages. @return messages served; EPIPE: QEMU is gone; EPROTO:
  /// what came makes no sense
  Result<unsigned> serve() noexcept;

 private:
  Result<> execute(const ProxyConnection::Message& message) noexcept;
  Result<> access_config(const ProxyConnection::Message& message, bool write) noexcept;
  Result<> access_bar(const ProxyConnection::Message& message, bool write) noexcept;

  ProxyConnection connection_;
  model::pci::Function& function_;
  GuestMemory& memory_;
};

}  // namespace chime::serve
