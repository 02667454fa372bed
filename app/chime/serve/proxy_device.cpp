// SPDX-License-Identifier: BSD-3-Clause
#include "proxy_device.h"

#include <array>
#include <cstring>

namespace chime::serve {
namespace {

template <class T>
Result<T> payload_as(const ProxyConnection::Message& message) noexcept {
  if (message.payload.size() != sizeof(T)) {
    return fail(EPROTO, "message %d has %zu bytes of payload; it must have %zu",
                static_cast<int>(message.command), message.payload.size(), sizeof(T));
  }
  T value;
  std::memcpy(&value, message.payload.data(), sizeof value);
  return value;
}

}  // namespace

Result<unsigned> ProxyDevice::serve() noexcept {
  unsigned served = 0;
  for (; served < most; ++served) {
    auto message = connection_.next();
    if (!message) return fail(message.error());
    if (!*message) break;
    if (auto done = execute(**message); !done) return fail(done.error());
  }
  return served;
}

Result<> ProxyDevice::execute(const ProxyConnection::Message& message) noexcept {
  switch (message.command) {
    case ProxyCommand::sync_sysmem: {
      auto map = payload_as<ProxySysmem>(message);
      if (!map) return fail(map.error());
      return replace_memory(*map, message.descriptors);
    }
    case ProxyCommand::set_irqfd:
      return {};  // INTx, which the function never raises
    case ProxyCommand::config_write:
      return access_config(message, true);
    case ProxyCommand::config_read:
      return access_config(message, false);
    case ProxyCommand::bar_write:
      return access_bar(message, true);
    case ProxyCommand::bar_read:
      return access_bar(message, false);
    case ProxyCommand::device_reset:
      function_.reset();
      return connection_.answer(0);
    case ProxyCommand::ret:
      break;
  }
  return fail(EPROTO, "message %d is none that QEMU's proxy sends", static_cast<int>(message.command));
}

Result<> ProxyDevice::replace_memory(const ProxySysmem& map, std::span<const int> descriptors) noexcept {
  std::array<MemoryPiece, proxy_regions> pieces;
  for (std::size_t i = 0; i < descriptors.size(); ++i)
    pieces[i] = {map.address[i], map.size[i], map.offset[i]};
  return memory_.replace(std::span(pieces).first(descriptors.size()), descriptors);
}

Result<> ProxyDevice::access_config(const ProxyConnection::Message& message, bool write) noexcept {
  auto access = payload_as<ProxyConfigAccess>(message);
  if (!access) return fail(access.error());
  if (access->length != 1 && access->length != 2 && access->length != 4) {
    return fail(EPROTO, "an access to %d bytes of configuration space; there are 1, 2 and 4", access->length);
  }
  const auto length = static_cast<unsigned>(access->length);
  if (!write) return connection_.answer(function_.read_config(access->offset, length));
  function_.write_config(access->offset, access->value, length);
  return connection_.answer(0);
}

Result<> ProxyDevice::access_bar(const ProxyConnection::Message& message, bool write) noexcept {
  auto access = payload_as<ProxyBarAccess>(message);
  if (!access) return fail(access.error());
  if (access->size != 1 && access->size != 2 && access->size != 4 && access->size != 8) {
    return fail(EPROTO, "an access to %u bytes of a BAR; there are 1, 2, 4 and 8", access->size);
  }
  const std::uint64_t bar = function_.bar_address();
  const bool inside = bar != 0 && access->memory != 0 && access->address >= bar &&
                      access->address - bar < model::pci::Function::bar_size;
  const std::uint64_t offset = access->address - bar;
  if (!write)
    return connection_.answer(inside ? function_.read_bar(offset, access->size) : ~std::uint64_t{0});
  if (inside) function_.write_bar(offset, access->value, access->size);
  return connection_.answer(0);
}

}  // namespace chime::serve
