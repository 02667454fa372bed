// SPDX-License-Identifier: BSD-3-Clause
#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "control.h"

namespace chime::serve {
namespace {

constexpr std::size_t longest_line = 4096;

}  // namespace

Result<Control> Control::listen(const std::string& path) {
  auto listener = Listener::listen(path);
  if (!listener) return fail(listener.error().within("control"));
  return Control(std::move(*listener));
}

std::vector<int> Control::descriptors() const {
  std::vector<int> all{listener_.fd()};
  for (const auto& [fd, client] : clients_) all.push_back(fd);
  return all;
}

unsigned Control::serve(const std::vector<Owned<Nic>>& nics, wire::Factory& wires) {
  for (;;) {
    FileDescriptor client = listener_.accept();
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
