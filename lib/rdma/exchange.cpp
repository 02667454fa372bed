// SPDX-License-Identifier: BSD-3-Clause
#include "rdma/exchange.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

namespace chime::rdma {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int retry_ms = 50;

class Deadline {
 public:
  explicit Deadline(unsigned ms) noexcept : end_(Clock::now() + std::chrono::milliseconds(ms)) {}
  int left() const noexcept {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end_ - Clock::now()).count();
    return left > 0 ? static_cast<int>(left) : 0;
  }

 private:
  Clock::time_point end_;
};

/// "address:port" in two.
struct Place {
  char host[256] = {};
  char port[16] = {};
};
Result<Place> split(const char* where) noexcept {
  Place place;
  const std::string_view text = where != nullptr ? where : "";
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon + 1 == text.size() ||
      text.size() - colon - 1 >= sizeof place.port)
    return fail(EINVAL, "\"%s\" names no TCP port; HOST:PORT or :PORT would", where != nullptr ? where : "");
  std::string_view host = text.substr(0, colon);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  if (host.size() >= sizeof place.host) return fail(EINVAL, "a host name of %zu bytes", host.size());
  std::memcpy(place.host, host.data(), host.size());
  std::memcpy(place.port, text.data() + colon + 1, text.size() - colon - 1);
  return place;
}

struct Addresses {
  addrinfo* list = nullptr;
  Addresses() noexcept = default;
  Addresses(const Addresses&) = delete;
  Addresses& operator=(const Addresses&) = delete;
  ~Addresses() {
    if (list != nullptr) freeaddrinfo(list);
  }
};
Result<> resolve(const char* where, bool passive, Addresses& addresses) noexcept {
  auto place = split(where);
  if (!place) return fail(place.error());
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = passive ? AI_PASSIVE : 0;
  const char* host = place->host[0] != '\0' ? place->host : passive ? nullptr : "localhost";
  if (const int error = getaddrinfo(host, place->port, &hints, &addresses.list); error != 0)
    return fail(EINVAL, "\"%s\": %s", where, gai_strerror(error));
  return {};
}

Result<> wait_for(int fd, short events, const Deadline& deadline, const char* what) noexcept {
  pollfd wanted{fd, events, 0};
  int ready;
  do ready = ::poll(&wanted, 1, deadline.left());
  while (ready < 0 && errno == EINTR);
  if (ready < 0) return fail(errno, "%s: %s", what, std::strerror(errno));
  if (ready == 0) return fail(ETIMEDOUT, "%s: nothing came within the time limit", what);
  return {};
}

}  // namespace

Result<FileDescriptor> accept_peer(const char* where, unsigned timeout_ms) noexcept {
  const Deadline deadline(timeout_ms);
  Addresses addresses;
  if (Result<> done = resolve(where, true, addresses); !done) return fail(done.error());
  int error = EADDRNOTAVAIL;
  for (const addrinfo* a = addresses.list; a != nullptr; a = a->ai_next) {
    const FileDescriptor listening(socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol));
    const int on = 1;
    if (!listening || setsockopt(listening.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        bind(listening.get(), a->ai_addr, a->ai_addrlen) != 0 || listen(listening.get(), 1) != 0) {
      error = errno;
      continue;
    }
    if (Result<> done = wait_for(listening.get(), POLLIN, deadline, where); !done) return fail(done.error());
    FileDescriptor peer(accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (peer) return peer;
    error = errno;
  }
  return fail(error, "waiting for a peer at \"%s\": %s", where, std::strerror(error));
}

Result<FileDescriptor> reach_peer(const char* where, unsigned timeout_ms) noexcept {
  const Deadline deadline(timeout_ms);
  Addresses addresses;
  if (Result<> done = resolve(where, false, addresses); !done) return fail(done.error());
  int error = EADDRNOTAVAIL;
  for (;;) {
    for (const addrinfo* a = addresses.list; a != nullptr; a = a->ai_next) {
      FileDescriptor peer(socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol));
      if (peer && connect(peer.get(), a->ai_addr, a->ai_addrlen) == 0) return peer;
      error = errno;
    }
    if (deadline.left() == 0) break;
    ::poll(nullptr, 0, retry_ms);
  }
  return fail(error == ECONNREFUSED ? ETIMEDOUT : error, "no peer at \"%s\" within %u ms: %s", where,
              timeout_ms, std::strerror(error));
}

Result<std::size_t> exchange_line(int fd, std::string_view mine, std::span<char> theirs,
                                  unsigned timeout_ms) noexcept {
  constexpr const char* what = "exchange with the peer";
  const Deadline deadline(timeout_ms);
  char line[endpoint_text_size + 1];
  if (mine.size() >= endpoint_text_size)
    return fail(EMSGSIZE, "a line of %zu bytes to exchange", mine.size());
  std::memcpy(line, mine.data(), mine.size());
  line[mine.size()] = '\n';
  for (std::size_t sent = 0; sent <= mine.size();) {
    if (Result<> done = wait_for(fd, POLLOUT, deadline, what); !done) return fail(done.error());
    const ssize_t now = send(fd, line + sent, mine.size() + 1 - sent, MSG_NOSIGNAL);
    if (now < 0 && errno != EINTR) return fail(errno, "%s: %s", what, std::strerror(errno));
    if (now > 0) sent += static_cast<std::size_t>(now);
  }
  // Byte by byte: what follows the line is another exchange's.
  for (std::size_t used = 0;;) {
    if (Result<> done = wait_for(fd, POLLIN, deadline, what); !done) return fail(done.error());
    char byte;
    const ssize_t now = recv(fd, &byte, 1, 0);
    if (now == 0) return fail(ECONNRESET, "%s: it hung up", what);
    if (now < 0 && errno != EINTR) return fail(errno, "%s: %s", what, std::strerror(errno));
    if (now < 0) continue;
    if (byte == '\n') {
      theirs[used] = '\0';
      return used;
    }
    if (used + 1 == theirs.size()) return fail(EMSGSIZE, "%s: its line is longer than %zu bytes", what, used);
    theirs[used++] = byte;
  }
}

Result<Endpoint> exchange_endpoint(int fd, const Endpoint& mine, unsigned timeout_ms) noexcept {
  char text[endpoint_text_size], theirs[endpoint_text_size];
  const std::size_t length = format(mine, text);
  auto used = exchange_line(fd, {text, length}, theirs, timeout_ms);
  if (!used) return fail(used.error());
  return parse_endpoint({theirs, *used});
}

Result<MemoryDescriptor> exchange_memory(int fd, const MemoryDescriptor& mine, unsigned timeout_ms) noexcept {
  char text[endpoint_text_size], theirs[endpoint_text_size];
  const std::size_t length = format(mine, text);
  auto used = exchange_line(fd, {text, length}, theirs, timeout_ms);
  if (!used) return fail(used.error());
  return parse_memory({theirs, *used});
}

}  // namespace chime::rdma
