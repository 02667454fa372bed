// SPDX-License-Identifier: BSD-3-Clause
#include "proxy_connection.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace chime::serve {

ProxyConnection::~ProxyConnection() {
  close_descriptors();
}

void ProxyConnection::close_descriptors() noexcept {
  for (std::size_t i = 0; i < descriptor_count_; ++i) ::close(descriptors_[i]);
  descriptor_count_ = 0;
}

/// @return false: there were too many; those are closed
bool ProxyConnection::take_descriptors(std::span<const int> came) noexcept {
  bool all = true;
  for (const int fd : came) {
    if (descriptor_count_ < descriptors_.size()) {
      descriptors_[descriptor_count_++] = fd;
    } else {
      ::close(fd);
      all = false;
    }
  }
  return all;
}

/// The message that was handed out is over.
void ProxyConnection::drop() noexcept {
  if (descriptor_count_ != 0 && descriptors_at_ < handed_out_) close_descriptors();
  filled_ -= handed_out_;
  descriptors_at_ -= std::min(descriptors_at_, handed_out_);
  std::memmove(buffer_.data(), buffer_.data() + handed_out_, filled_);
  handed_out_ = 0;
}

/// Reads until the buffer has so many bytes. @return false: not yet
///
/// Into an empty buffer as much as has come, which is one message mostly, for QEMU waits for the answer. The
/// kernel ends a read behind bytes that bring descriptors, so that they are those of the last byte; what is
/// there in part is completed exactly, and brings no other message's.
Result<bool> ProxyConnection::fill(std::size_t bytes) noexcept {
  while (filled_ < bytes) {
    iovec part{buffer_.data() + filled_, (filled_ == 0 ? buffer_.size() : bytes) - filled_};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * proxy_regions)> control;
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    const ssize_t got = recvmsg(socket_.get(), &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got == 0) return fail(EPIPE, "QEMU closed the connection");
    if (got < 0) {
      if (errno == EAGAIN || errno == EINTR) return false;
      return fail(errno == ECONNRESET ? EPIPE : errno, "reading QEMU's message: %s", std::strerror(errno));
    }
    filled_ += static_cast<std::size_t>(got);
    if (header.msg_controllen != 0) descriptors_at_ = filled_ - 1;
    bool all = (header.msg_flags & MSG_CTRUNC) == 0;
    for (cmsghdr* c = CMSG_FIRSTHDR(&header); c; c = CMSG_NXTHDR(&header, c)) {
      if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
      std::array<int, proxy_regions> came;
      const std::size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      std::memcpy(came.data(), CMSG_DATA(c), count * sizeof(int));
      all &= take_descriptors(std::span(came).first(count));
    }
    if (!all) return fail(EPROTO, "a message has more than %u file descriptors", proxy_regions);
  }
  return true;
}

Result<std::optional<ProxyConnection::Message>> ProxyConnection::next() noexcept {
  if (handed_out_ != 0) drop();
  auto whole = fill(sizeof(ProxyHeader));
  if (!whole) return fail(whole.error());
  if (!*whole) return std::nullopt;
  ProxyHeader header;
  std::memcpy(&header, buffer_.data(), sizeof header);
  if (header.size > proxy_largest) {
    return fail(EPROTO, "message %d announces %llu bytes; the longest has %zu", header.command,
                static_cast<unsigned long long>(header.size), proxy_largest);
  }
  const auto size = static_cast<std::size_t>(header.size);
  whole = fill(sizeof header + size);
  if (!whole) return fail(whole.error());
  if (!*whole) return std::nullopt;
  handed_out_ = sizeof header + size;
  return Message{static_cast<ProxyCommand>(header.command),
                 {buffer_.data() + sizeof header, size},
                 {descriptors_.data(), descriptors_at_ < handed_out_ ? descriptor_count_ : 0}};
}

Result<> ProxyConnection::answer(std::uint64_t value) noexcept {
  struct {
    ProxyHeader header;
    std::uint64_t value;
  } message{{static_cast<std::int32_t>(ProxyCommand::ret), 0, sizeof value}, value};
  const auto* at = reinterpret_cast<const char*>(&message);
  std::size_t left = sizeof message;
  while (left > 0) {
    const ssize_t sent = send(socket_.get(), at, left, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN) return fail(EPROTO, "QEMU asks on and takes no answers");
      return fail(errno == ECONNRESET ? EPIPE : errno, "answering QEMU: %s", std::strerror(errno));
    }
    at += sent;
    left -= static_cast<std::size_t>(sent);
  }
  return {};
}

}  // namespace chime::serve
