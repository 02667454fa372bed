// SPDX-License-Identifier: BSD-3-Clause
#include "qtest.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>

namespace chime::serve {

void Qtest::write(std::uint64_t address, std::uint32_t data) noexcept {
  const Kept message{address, data};
  // One that was not sent yet says the same as two.
  if (std::find(kept_.begin(), kept_.begin() + count_, message) != kept_.begin() + count_) return;
  if (count_ == kept_.size()) {
    ++lost_;
    return;
  }
  kept_[count_++] = message;
}

Result<bool> Qtest::connect() noexcept {
  if (socket_) return true;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path_.size() >= sizeof address.sun_path) {
    return fail(ENAMETOOLONG, "qtest socket %s: the path is too long", path_.c_str());
  }
  std::memcpy(address.sun_path, path_.c_str(), path_.size());
  FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return fail(errno, "a socket: %s", std::strerror(errno));
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    if (errno == ENOENT || errno == ECONNREFUSED) return false;
    return fail(errno, "qtest socket %s: %s", path_.c_str(), std::strerror(errno));
  }
  socket_ = std::move(socket);
  return true;
}

Result<> Qtest::flush() noexcept {
  if (count_ == 0 && unanswered_ == 0) return {};
  auto connected = connect();
  if (!connected) return fail(connected.error());
  if (!*connected) return {};
  std::size_t sent = 0;
  for (; sent < count_; ++sent) {
    std::array<char, 64> line;
    const int length = std::snprintf(line.data(), line.size(), "writel %#" PRIx64 " %#" PRIx32 "\n",
                                     kept_[sent].address, kept_[sent].data);
    if (send(socket_.get(), line.data(), static_cast<std::size_t>(length), MSG_NOSIGNAL) != length) {
      count_ = 0;
      return fail(errno == ECONNRESET ? EPIPE : errno, "qtest socket: %s", std::strerror(errno));
    }
  }
  unanswered_ += count_;
  count_ = 0;
  return take_replies();
}

/// A line for each message, "OK" if all is well; nothing else is of interest.
Result<> Qtest::take_replies() noexcept {
  std::array<char, 1024> text;
  for (;;) {
    const ssize_t got = recv(socket_.get(), text.data(), text.size(), MSG_DONTWAIT);
    if (got == 0) return fail(EPIPE, "QEMU closed the qtest socket");
    if (got < 0) return {};
    const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.begin() + got, '\n'));
    unanswered_ -= std::min(lines, unanswered_);
    if (std::memchr(text.data(), 'F', static_cast<std::size_t>(got))) {
      return fail(EIO, "QEMU refused an interrupt message");
    }
  }
}

}  // namespace chime::serve
