// SPDX-License-Identifier: BSD-3-Clause
#include "listener.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace chime::serve {

Result<Listener> Listener::listen(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return fail(ENAMETOOLONG, "socket %s: the path is too long", path.c_str());
  }
  std::memcpy(address.sun_path, path.c_str(), path.size());
  FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (struct stat file; ::lstat(path.c_str(), &file) == 0 && S_ISSOCK(file.st_mode)) ::unlink(path.c_str());
  if (!socket || ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(socket.get(), 4) != 0) {
    return fail(errno, "socket %s: %s", path.c_str(), std::strerror(errno));
  }
  return Listener(path, std::move(socket));
}

Listener& Listener::operator=(Listener&& other) noexcept {
  // One that took the place of this one has its name.
  if (socket_ && path_ != other.path_) ::unlink(path_.c_str());
  path_ = std::move(other.path_);
  socket_ = std::move(other.socket_);
  return *this;
}

Listener::~Listener() {
  if (socket_) ::unlink(path_.c_str());
}

FileDescriptor Listener::accept() const noexcept {
  return FileDescriptor(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

}  // namespace chime::serve
