// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "proxy_message.h"

namespace chime::serve {

/// One end of the stream socket to QEMU: whole messages in, answers out. Messages are not trusted.
class ProxyConnection {
 public:
  struct Message {
    ProxyCommand command;
    std::span<const std::byte> payload;
    std::span<const int> descriptors;  ///< closed when the next message is asked for
  };

  explicit ProxyConnection(FileDescriptor socket) noexcept : socket_(std::move(socket)) {}
  ~ProxyConnection();
  ProxyConnection(const ProxyConnection&) = delete;
  ProxyConnection& operator=(const ProxyConnection&) = delete;

  int fd() const noexcept { return socket_.get(); }

  /// The next message, nothing while it has not come whole. Never blocks.
  /// @return EPIPE: QEMU is gone; EPROTO: what came is no message, the connection is of no more use
  Result<std::optional<Message>> next() noexcept;
  Result<> answer(std::uint64_t value) noexcept;

 private:
  void drop() noexcept;
  Result<bool> fill(std::size_t bytes) noexcept;
  bool take_descriptors(std::span<const int> came) noexcept;
  void close_descriptors() noexcept;

  FileDescriptor socket_;
  std::array<std::byte, sizeof(ProxyHeader) + proxy_largest> buffer_;
  std::size_t filled_ = 0;
  std::size_t handed_out_ = 0;  ///< bytes of the message that was, at the buffer's beginning
  std::array<int, proxy_regions> descriptors_;
  std::size_t descriptor_count_ = 0;
  std::size_t descriptors_at_ = 0;  ///< in buffer_: a byte of the message that they came with
};

}  // namespace chime::serve
