// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <rte_pmd_chime.h>

#include <array>
#include <cstddef>
#include <cstdint>

/// @file
/// The client's part of what perftest 4.5 says over TCP (version 6.06 of its talk). Each line of the table is
/// one message of the client's, then one like it of the server's:
///
///     bytes  what
///      16    version, text
///       4    bytes after which buffers wrap, big-endian; the larger one of both holds
///       4    bytes of a cache line, big-endian
///       2    path MTU as verbs number it, one digit; the smaller one holds
///     108    keys: where the queue pair and the memory are. After this the server connects
///     108    keys again, twice: it has connected; it waits
///            -- here the client works --
///     108    keys: the client has finished
///     5 x 8  report: bytes, operations, MB/s at most and on average, millions of messages a second
///     108    keys, then "done" of both

namespace chime::test {

/// What the server told of its memory: `size` bytes (its -s, a page at least) from `address`.
struct PerftestMemory {
  std::uint64_t address;
  std::uint32_t rkey;
};

/// A stock ib_atomic_bw, ib_write_bw or ib_read_bw (one queue pair, GIDs) that waits for its client. Failures
/// are thrown.
class PerftestServer {
 public:
  explicit PerftestServer(const char* where);
  ~PerftestServer();
  PerftestServer(const PerftestServer&) = delete;
  PerftestServer& operator=(const PerftestServer&) = delete;

  /// Tells of this side's queue pair, until the server is connected to it. @return the server's queue pair,
  /// sealed; its GID must be link-local, for its MAC
  rte_pmd_chime_endpoint meet(const rte_pmd_chime_endpoint& own);
  const PerftestMemory& memory() const { return memory_; }
  /// The work is done: the server prints its line of results and ends. @param bytes of an operation
  void leave(std::uint64_t bytes, std::uint64_t operations);

 private:
  static constexpr std::size_t keys_size = 108;
  using Keys = std::array<char, keys_size>;

  /// One message and its answer, of one size.
  void exchange(const void* mine, void* theirs, std::size_t size) const;
  std::uint32_t exchange_number(std::uint32_t mine) const;
  Keys exchange_keys() const;

  int fd_;
  Keys keys_{};  ///< of this side
  PerftestMemory memory_{};
};

}  // namespace chime::test
