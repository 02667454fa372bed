// SPDX-License-Identifier: BSD-3-Clause
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "control.h"

namespace chime::serve {
namespace {

constexpr std::size_t longest_line = 4096;

}  // namespace

Result<Control> Control::listen(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return fail(ENAMETOOLONG, "control socket %s: the path is too long", path.c_str());
  }
  std::memcpy(address.sun_path, path.c_str(), path.size());
  Control control;
  control.listener_ = FileDescriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  // A socket that an earlier process left may go; nothing else.
  if (struct stat file; ::lstat(path.c_str(), &file) == 0 && S_ISSOCK(file.st_mode)) ::unlink(path.c_str());
  if (!control.listener_ ||
      ::bind(control.listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(control.listener_.get(), 4) != 0) {
    return fail(errno, "control socket %s: %s", path.c_str(), std::strerror(errno));
  }
  control.path_ = path;
  return control;
}

Control::~Control() {
  if (listener_) ::unlink(path_.c_str());
}

std::vector<int> Control::descriptors() const {
  std::vector<int> all{listener_.get()};
  for (const auto& [fd, client] : clients_) all.push_back(fd);
  return all;
}

unsigned Control::serve(const std::vector<Owned<Nic>>& nics, wire::Factory& wires) {
  for (;;) {
    FileDescriptor client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!client) break;
    const int fd = client.get();
    clients_.try_emplace(fd, std::move(client), "");
  }
  unsigned executed = 0;
  for (auto at = clients_.begin(); at != clients_.end();) {
    auto& [socket, text] = at->second;
    std::array<char, 1024> part;
    const ssize_t got = ::recv(socket.get(), part.data(), part.size(), 0);
    bool open = got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
    if (got > 0) text.append(part.data(), static_cast<std::size_t>(got));
    for (std::size_t end; (end = text.find('\n')) != std::string::npos; ++executed) {
      const std::string answer = execute_control(text.substr(0, end), nics, wires) + "\n";
      text.erase(0, end + 1);
      open &= ::send(socket.get(), answer.data(), answer.size(), MSG_NOSIGNAL) ==
              static_cast<ssize_t>(answer.size());
    }
    open &= text.size() <= longest_line;
    at = open ? std::next(at) : clients_.erase(at);
  }
  return executed;
}

}  // namespace chime::serve
