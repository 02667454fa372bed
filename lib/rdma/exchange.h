// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "rdma/endpoint.h"

/// @file
/// Exchanging endpoints and memory descriptors over a TCP connection, a line of text each. Control path;
/// blocks up to a time limit.

namespace chime::rdma {

/// Waits for one peer at "address:port", "[IPv6]:port" or ":port".
Result<FileDescriptor> accept_peer(const char* where, unsigned timeout_ms) noexcept;
/// Reaches a peer, trying again until the time is over: it may start later.
Result<FileDescriptor> reach_peer(const char* where, unsigned timeout_ms) noexcept;

/// Sends a line (without its end) and receives the peer's.
/// @return bytes of `theirs` used; it is NUL-terminated
Result<std::size_t> exchange_line(int fd, std::string_view mine, std::span<char> theirs,
                                  unsigned timeout_ms) noexcept;
Result<Endpoint> exchange_endpoint(int fd, const Endpoint& mine, unsigned timeout_ms) noexcept;
Result<MemoryDescriptor> exchange_memory(int fd, const MemoryDescriptor& mine, unsigned timeout_ms) noexcept;

}  // namespace chime::rdma
