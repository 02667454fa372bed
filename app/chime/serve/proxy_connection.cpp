// SPDX-License-Identifier: BSD-3-Clause
#include "proxy_connection.h"

#include <cerrno>
#include <cstring>

namespace chime::serve {
namespace {

Result<std::size_t> size_of(std::span<const std::byte> bytes) noexcept {
  ProxyHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.size > proxy_largest) {
    return fail(EPROTO, "message %d announces %llu bytes; the longest has %zu", header.command,
                static_cast<unsigned long long>(header.size), proxy_largest);
  }
  return sizeof header + static_cast<std::size_t>(header.size);
}

constexpr MessageFormat format{.header = sizeof(ProxyHeader),
                               .largest = sizeof(ProxyHeader) + proxy_largest,
                               .descriptors = proxy_regions,
                               .size = size_of};
static_assert(format.largest <= MessageStream::capacity &&
              format.descriptors <= MessageStream::most_descriptors);

}  // namespace

ProxyConnection::ProxyConnection(FileDescriptor socket) noexcept : stream_(std::move(socket), format) {}

Result<std::optional<ProxyConnection::Message>> ProxyConnection::next() noexcept {
  auto message = stream_.next();
  if (!message) return fail(message.error());
  if (!*message) return std::nullopt;
  ProxyHeader header;
  std::memcpy(&header, (*message)->bytes.data(), sizeof header);
  return Message{static_cast<ProxyCommand>(header.command), (*message)->bytes.subspan(sizeof header),
                 (*message)->descriptors};
}

Result<> ProxyConnection::answer(std::uint64_t value) noexcept {
  const struct {
    ProxyHeader header;
    std::uint64_t value;
  } message{{static_cast<std::int32_t>(ProxyCommand::ret), 0, sizeof value}, value};
  return stream_.send(std::as_bytes(std::span(&message, 1)));
}

}  // namespace chime::serve
