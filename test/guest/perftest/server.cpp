// SPDX-License-Identifier: BSD-3-Clause
#include "server.h"

#include <arpa/inet.h>
#include <endian.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

namespace chime::test {
namespace {

constexpr std::array<char, 16> version = {"6.06"};
constexpr std::uint32_t patience_ms = 30'000, page = 4096, cache_line = 64;
constexpr unsigned smallest_mtu = 128;  ///< bytes of MTU n: this << n

/// "LID:reads:QPN:PSN:rkey:address:16 bytes of GID:SRQ:", hexadecimal, each followed by a colon.
class Fields {
 public:
  explicit Fields(const char* text) : text_(text) {}
  std::uint64_t next() {
    char* end;
    const std::uint64_t value = std::strtoull(text_, &end, 16);
    if (end == text_ || *end != ':') throw std::runtime_error(std::string("no keys of perftest's: ") + text_);
    text_ = end + 1;
    return value;
  }

 private:
  const char* text_;
};

/// The MAC in a link-local address (RFC 4291, appendix A).
void mac_of(const std::uint8_t* gid, std::uint8_t* mac) {
  if (gid[0] != 0xfe || gid[1] != 0x80 || gid[11] != 0xff || gid[12] != 0xfe)
    throw std::runtime_error("the server's GID has no MAC in it; give it -x 0");
  mac[0] = gid[8] ^ 2;
  std::copy_n(gid + 9, 2, mac + 1);
  std::copy_n(gid + 13, 3, mac + 3);
}

}  // namespace

PerftestServer::PerftestServer(const char* where) : fd_(rte_pmd_chime_exchange_reach(where, patience_ms)) {
  if (fd_ < 0) throw std::runtime_error(rte_pmd_chime_last_error());
  // A server that ended, or waits for more, must not keep this side waiting.
  const timeval patience{.tv_sec = patience_ms / 1000, .tv_usec = 0};
  setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
}

PerftestServer::~PerftestServer() {
  close(fd_);
}

rte_pmd_chime_endpoint PerftestServer::meet(const rte_pmd_chime_endpoint& own) {
  std::array<char, version.size()> their_version;
  exchange(version.data(), their_version.data(), version.size());
  exchange_number(page);
  exchange_number(cache_line);
  const unsigned own_mtu = static_cast<unsigned>(std::countr_zero(own.mtu / smallest_mtu));
  const std::array<char, 2> mtu{static_cast<char>('0' + own_mtu), '\0'};
  std::array<char, 2> their_mtu;
  exchange(mtu.data(), their_mtu.data(), mtu.size());
  if (their_mtu[0] < '1' || their_mtu[0] > '5') throw std::runtime_error("the server told of no path MTU");

  int at = std::snprintf(keys_.data(), keys_.size(), "%04x:%04x:%06x:%06x:%08x:%016x:", 0u, own.depth + 0u,
                         own.qpn, own.psn, 0u, 0u);
  for (const std::uint8_t byte : own.gid)
    at += std::snprintf(keys_.data() + at, keys_.size() - static_cast<std::size_t>(at), "%02x:", byte);
  std::snprintf(keys_.data() + at, keys_.size() - static_cast<std::size_t>(at), "%08x:", 0u);

  const Keys theirs = exchange_keys();
  exchange_keys();
  exchange_keys();

  Fields fields(theirs.data());
  fields.next();  // the LID, of InfiniBand
  rte_pmd_chime_endpoint endpoint{};
  endpoint.depth = static_cast<std::uint16_t>(fields.next());
  endpoint.qpn = static_cast<std::uint32_t>(fields.next());
  endpoint.psn = static_cast<std::uint32_t>(fields.next());
  memory_.rkey = static_cast<std::uint32_t>(fields.next());
  memory_.address = fields.next();
  for (std::uint8_t& byte : endpoint.gid) byte = static_cast<std::uint8_t>(fields.next());
  mac_of(endpoint.gid, endpoint.mac);
  endpoint.mtu = static_cast<std::uint16_t>(smallest_mtu << (their_mtu[0] - '0'));
  rte_pmd_chime_endpoint_seal(&endpoint);
  return endpoint;
}

void PerftestServer::leave(std::uint64_t bytes, std::uint64_t operations) {
  exchange_keys();
  // Rates are 8-byte floating-point numbers; nobody measured any.
  for (const std::uint64_t value :
       {bytes, operations, std::uint64_t{0}, std::uint64_t{0}, std::uint64_t{0}}) {
    const std::uint64_t mine = htobe64(value);
    std::uint64_t theirs;
    exchange(&mine, &theirs, sizeof mine);
  }
  exchange_keys();
  std::array<char, sizeof "done"> theirs;
  exchange("done", theirs.data(), theirs.size());
}

void PerftestServer::exchange(const void* mine, void* theirs, std::size_t size) const {
  // The server takes a message by one read, so it goes by one send.
  if (send(fd_, mine, size, MSG_NOSIGNAL) != static_cast<ssize_t>(size) ||
      recv(fd_, theirs, size, MSG_WAITALL) != static_cast<ssize_t>(size))
    throw std::runtime_error("the server ended, or says nothing");
}

std::uint32_t PerftestServer::exchange_number(std::uint32_t mine) const {
  mine = htonl(mine);
  std::uint32_t theirs;
  exchange(&mine, &theirs, sizeof mine);
  return ntohl(theirs);
}

PerftestServer::Keys PerftestServer::exchange_keys() const {
  Keys theirs;
  exchange(keys_.data(), theirs.data(), theirs.size());
  theirs.back() = '\0';
  return theirs;
}

}  // namespace chime::test
