// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "message_stream.h"
#include "proxy_message.h"

namespace chime::serve {

/// Messages of x-pci-proxy-dev and the answers to them.
class ProxyConnection {
 public:
  struct Message {
    ProxyCommand command;
    std::span<const std::byte> payload;
    std::span<const int> descriptors;  ///< closed when the next message is asked for
  };

  explicit ProxyConnection(FileDescriptor socket) noexcept;

  int fd() const noexcept { return stream_.fd(); }
  short events() const noexcept { return stream_.events(); }

  /// As MessageStream::next.
  Result<std::optional<Message>> next() noexcept;
  Result<> answer(std::uint64_t value) noexcept;

 private:
  MessageStream stream_;
};

}  // namespace chime::serve
