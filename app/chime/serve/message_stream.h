// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <optional>
#include <span>

#include "base/error.h"
#include "base/file_descriptor.h"

namespace chime::serve {

/// What tells one message of a stream from the next.
struct MessageFormat {
  std::size_t header;    ///< bytes that every message begins with
  std::size_t largest;   ///< bytes of the longest message, its header with it
  unsigned descriptors;  ///< most file descriptors with one message
  /// @param header that many bytes. @return bytes of the whole message; an error: no message begins so
  Result<std::size_t> (*size)(std::span<const std::byte> header) noexcept;
};

/// Our end of the stream socket to QEMU: whole messages in, whole answers out, whatever they say. What comes
/// is not trusted. While there is no room for an answer, no message is taken.
class MessageStream {
 public:
  static constexpr std::size_t capacity = 16384;
  static constexpr unsigned most_descriptors = 16;
  static constexpr std::size_t largest_answer = 8192;

  struct Message {
    std::span<const std::byte> bytes;  ///< valid until the next message is asked for
    std::span<const int> descriptors;  ///< closed when the next message is asked for
  };

  /// @param format fits into capacity and most_descriptors
  MessageStream(FileDescriptor socket, const MessageFormat& format) noexcept
      : socket_(std::move(socket)), format_(format) {}
  ~MessageStream();
  MessageStream(const MessageStream&) = delete;
  MessageStream& operator=(const MessageStream&) = delete;

  int fd() const noexcept { return socket_.get(); }
  /// What to wait for.
  short events() const noexcept { return unsent_ == unsent_at_ ? POLLIN : POLLOUT; }

  /// The next message, nothing while it has not come whole, or the last answer has not gone whole. Never
  /// blocks.
  /// @return EPIPE: QEMU is gone; EPROTO: what came is no message, the connection is of no more use
  Result<std::optional<Message>> next() noexcept;
  /// Sends the answer to the message, at most one. Never blocks: what finds no room goes later.
  /// @param answer has at most largest_answer bytes. @return EPIPE: QEMU is gone
  Result<> send(std::span<const std::byte> answer) noexcept;

 private:
  void drop() noexcept;
  Result<std::size_t> put(std::span<const std::byte> bytes) noexcept;
  Result<bool> fill(std::size_t bytes) noexcept;
  Result<> take_descriptors(const msghdr& header) noexcept;
  void close_descriptors() noexcept;

  FileDescriptor socket_;
  const MessageFormat format_;
  alignas(8) std::array<std::byte, capacity> buffer_;
  std::size_t at_ = 0;          ///< in buffer_: the message that was handed out, or the next
  std::size_t filled_ = 0;      ///< in buffer_: behind all that has come
  std::size_t handed_out_ = 0;  ///< bytes of the message that was
  std::array<int, most_descriptors> descriptors_;
  std::size_t descriptor_count_ = 0;
  std::size_t descriptors_at_ = 0;              ///< in buffer_: a byte of the message that they came with
  std::array<std::byte, largest_answer> rest_;  ///< of an answer that found no room
  std::size_t unsent_ = 0;                      ///< in rest_: its end
  std::size_t unsent_at_ = 0;                   ///< in rest_: what goes next
};

}  // namespace chime::serve
