// SPDX-License-Identifier: BSD-3-Clause
#include "message_stream.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace chime::serve {

MessageStream::~MessageStream() {
  close_descriptors();
}

void MessageStream::close_descriptors() noexcept {
  for (std::size_t i = 0; i < descriptor_count_; ++i) ::close(descriptors_[i]);
  descriptor_count_ = 0;
}

Result<> MessageStream::take_descriptors(const msghdr& header) noexcept {
  bool all = (header.msg_flags & MSG_CTRUNC) == 0;
  for (cmsghdr* c = CMSG_FIRSTHDR(&header); c; c = CMSG_NXTHDR(const_cast<msghdr*>(&header), c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    std::array<int, most_descriptors> came;
    const std::size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    std::memcpy(came.data(), CMSG_DATA(c), count * sizeof(int));
    for (const int fd : std::span(came).first(count)) {
      if (descriptor_count_ < format_.descriptors) {
        descriptors_[descriptor_count_++] = fd;
      } else {
        ::close(fd);
        all = false;
      }
    }
  }
  if (all) return {};
  return fail(EPROTO, "a message has more than %u file descriptors, or more than can be opened here",
              format_.descriptors);
}

/// The message that was handed out is over.
void MessageStream::drop() noexcept {
  if (descriptor_count_ != 0 && descriptors_at_ < at_ + handed_out_) close_descriptors();
  at_ += handed_out_;
  handed_out_ = 0;
}

/// Reads until so many bytes of the next message are there. @return false: not yet
///
/// Into an empty buffer as much as has come. The kernel ends a read behind bytes that bring descriptors, so
/// that they are those of the last byte; what is there in part is completed exactly, and brings no other
/// message's.
Result<bool> MessageStream::fill(std::size_t bytes) noexcept {
  if (filled_ - at_ >= bytes) return true;
  std::memmove(buffer_.data(), buffer_.data() + at_, filled_ - at_);
  descriptors_at_ -= std::min(descriptors_at_, at_);
  filled_ -= at_;
  at_ = 0;
  while (filled_ < bytes) {
    iovec part{buffer_.data() + filled_, (filled_ == 0 ? buffer_.size() : bytes) - filled_};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * most_descriptors)> control;
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
    // Without control data, but truncated: none could be opened here.
    if (header.msg_controllen == 0 && (header.msg_flags & MSG_CTRUNC) == 0) continue;
    descriptors_at_ = filled_ - 1;
    if (auto taken = take_descriptors(header); !taken) return fail(taken.error());
  }
  return true;
}

Result<std::optional<MessageStream::Message>> MessageStream::next() noexcept {
  if (handed_out_ != 0) drop();
  if (unsent_at_ != unsent_) {
    auto sent = put(std::span(rest_).first(unsent_).subspan(unsent_at_));
    if (!sent) return fail(sent.error());
    unsent_at_ += *sent;
    if (unsent_at_ != unsent_) return std::nullopt;
  }
  auto whole = fill(format_.header);
  if (!whole) return fail(whole.error());
  if (!*whole) return std::nullopt;
  auto size = format_.size(std::span(buffer_).subspan(at_, format_.header));
  if (!size) return fail(size.error());
  if (*size < format_.header || *size > format_.largest) {
    return fail(EPROTO, "a message announces %zu bytes; there are %zu to %zu", *size, format_.header,
                format_.largest);
  }
  whole = fill(*size);
  if (!whole) return fail(whole.error());
  if (!*whole) return std::nullopt;
  handed_out_ = *size;
  return Message{std::span(buffer_).subspan(at_, *size),
                 std::span(descriptors_).first(descriptors_at_ < at_ + handed_out_ ? descriptor_count_ : 0)};
}

/// @return bytes that found room
Result<std::size_t> MessageStream::put(std::span<const std::byte> bytes) noexcept {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const auto left = bytes.subspan(done);
    const ssize_t sent = ::send(socket_.get(), left.data(), left.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN) break;
      return fail(errno == ECONNRESET ? EPIPE : errno, "answering QEMU: %s", std::strerror(errno));
    }
    done += static_cast<std::size_t>(sent);
  }
  return done;
}

Result<> MessageStream::send(std::span<const std::byte> answer) noexcept {
  auto sent = put(answer);
  if (!sent) return fail(sent.error());
  const auto rest = answer.subspan(*sent);
  std::copy(rest.begin(), rest.end(), rest_.begin());
  unsent_at_ = 0;
  unsent_ = rest.size();
  return {};
}

}  // namespace chime::serve
