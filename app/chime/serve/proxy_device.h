// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "base/error.h"
#include "guest_memory.h"
#include "model/pci/function.h"
#include "proxy_connection.h"
#include "transport.h"

namespace chime::serve {

/// Makes the messages of QEMU's x-pci-proxy-dev accesses to a PCI function.
class ProxyDevice final : public Transport {
 public:
  ProxyDevice(FileDescriptor socket, model::pci::Function& function, GuestMemory& memory) noexcept
      : connection_(std::move(socket)), function_(function), memory_(memory) {}

  int fd() const noexcept override { return connection_.fd(); }
  short events() const noexcept override { return connection_.events(); }
  Result<unsigned> serve() noexcept override;

 private:
  Result<> execute(const ProxyConnection::Message& message) noexcept;
  Result<> replace_memory(const ProxySysmem& map, std::span<const int> descriptors) noexcept;
  Result<> access_config(const ProxyConnection::Message& message, bool write) noexcept;
  Result<> access_bar(const ProxyConnection::Message& message, bool write) noexcept;

  ProxyConnection connection_;
  model::pci::Function& function_;
  GuestMemory& memory_;
};

}  // namespace chime::serve
