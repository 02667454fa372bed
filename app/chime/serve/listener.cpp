// SPDX-License-Identifier: BSD-3-Clause
#include "listener.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace chime::serve {
namespace {

bool is_socket(const std::string& path) noexcept {
  struct stat file;
  return ::lstat(path.c_str(), &file) == 0 && S_ISSOCK(file.st_mode);
}

/// @return false: a process that has ended left the name
bool somebody_listens(const sockaddr_un& address) noexcept {
  const FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int failed = ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  return !socket || failed == 0 || errno != ECONNREFUSED;
}

}  // namespace

Listener::Listener(std::string path, FileDescriptor socket) noexcept
    : path_(std::move(path)), socket_(std::move(socket)) {
  if (struct stat file; ::lstat(path_.c_str(), &file) == 0) {
    device_ = file.st_dev;
    inode_ = file.st_ino;
  }
}

Result<Listener> Listener::listen(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return fail(ENAMETOOLONG, "socket %s: the path is too long", path.c_str());
  }
  std::memcpy(address.sun_path, path.c_str(), path.size());
  FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (is_socket(path)) {
    if (somebody_listens(address))
      return fail(EADDRINUSE, "socket %s: another process listens there; choose another path", path.c_str());
    ::unlink(path.c_str());
  }
  if (!socket || ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(socket.get(), 4) != 0) {
    return fail(errno, "socket %s: %s", path.c_str(), std::strerror(errno));
  }
  return Listener(path, std::move(socket));
}

Listener::Listener(Listener&& other) noexcept = default;

Listener& Listener::operator=(Listener&& other) noexcept {
  if (this == &other) return *this;
  remove_name();
  path_ = std::move(other.path_);
  socket_ = std::move(other.socket_);
  device_ = other.device_;
  inode_ = other.inode_;
  return *this;
}

Listener::~Listener() {
  remove_name();
}

/// Unless another process has taken its place.
void Listener::remove_name() const noexcept {
  struct stat file;
  if (!socket_ || ::lstat(path_.c_str(), &file) != 0) return;
  if (file.st_dev == device_ && file.st_ino == inode_) ::unlink(path_.c_str());
}

FileDescriptor Listener::accept() const noexcept {
  return FileDescriptor(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

void Listener::refuse() const noexcept {
  ::shutdown(socket_.get(), SHUT_RDWR);
  while (accept()) continue;
}

}  // namespace chime::serve
