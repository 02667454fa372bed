// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

/// @file
/// What is posted and what comes back. Plain data, the same bytes as the structs of rte_pmd_chime.h (the
/// driver asserts it), so that a burst goes through the C API without a copy.

namespace chime::rdma {

/// Everything up to `read` moves bytes; from `fetch_add` on it is an atomic.
enum class Opcode : std::uint8_t {
  write = 0,
  write_imm = 1,
  send = 2,
  send_imm = 3,
  read = 4,
  fetch_add = 5,            ///< operand 0: what to add
  compare_swap = 6,         ///< operands: swap, compare
  masked_fetch_add = 7,     ///< operands: add, field boundary
  masked_compare_swap = 8,  ///< operands: swap, compare, swap mask, compare mask
  fetch_and = 9,            ///< operand 0
  fetch_or = 10,
  fetch_xor = 11,
  swap = 12,
};
inline constexpr unsigned opcodes = 13;
constexpr bool is_atomic(Opcode opcode) noexcept {
  return opcode >= Opcode::fetch_add;
}

/// Operation::flags.
inline constexpr std::uint8_t signaled = 0x01;   ///< a completion when done
inline constexpr std::uint8_t fenced = 0x02;     ///< waits for earlier reads and atomics of the queue pair
inline constexpr std::uint8_t solicited = 0x04;  ///< the peer's completion is a solicited one
inline constexpr std::uint8_t in_line = 0x08;    ///< the bytes are taken at once; no lkey needed

/// An operand of an atomic: up to 8 bytes a number in host order; else its 8-byte words, each in host order,
/// the most significant first, as the request has them.
union Operand {
  std::uint64_t value;
  const std::uint64_t* words;
};

/// 72 bytes, read once in order: nine words, a burst streams through the cache.
struct Operation {
  std::uint64_t cookie;  ///< comes back in the completion
  Opcode opcode;
  std::uint8_t flags;
  std::uint16_t reserved;
  std::uint32_t length;  ///< bytes; of an atomic: of one operand, 4 to 256
  std::uintptr_t local;  ///< data, or room for the original value (0: the queue pair's own, up to 8 bytes)
  std::uint32_t lkey;
  std::uint32_t rkey;
  std::uint64_t remote;
  union {
    std::uint32_t imm;  ///< host order
    Operand operand[4];
  };
};
static_assert(sizeof(Operation) == 72 && offsetof(Operation, length) == 12 &&
              offsetof(Operation, local) == 16);
static_assert(offsetof(Operation, rkey) == 28 && offsetof(Operation, remote) == 32 &&
              offsetof(Operation, operand) == 40);

/// A buffer for one send of the peer, or for the notice of one write with immediate data (length may be 0).
struct Receive {
  std::uint64_t cookie;
  std::uintptr_t local;
  std::uint32_t length;
  std::uint32_t lkey;
};
static_assert(sizeof(Receive) == 24);

/// What a completion is of: an Opcode, or these.
inline constexpr std::uint8_t receive_send = 0x40;
inline constexpr std::uint8_t receive_send_imm = 0x41;
inline constexpr std::uint8_t receive_write_imm = 0x42;

/// Half a cache line.
struct Completion {
  std::uint64_t cookie;
  std::uint64_t original;  ///< of an atomic of up to 8 bytes, host order
  std::uint32_t length;    ///< bytes
  std::uint32_t imm;       ///< host order
  std::uint32_t qpn;
  std::uint8_t kind;
  std::uint8_t status;  ///< 0, or prm::cqe_syndrome
  std::uint8_t vendor_syndrome;
  std::uint8_t reserved;
};
static_assert(sizeof(Completion) == 32 && offsetof(Completion, length) == 16 &&
              offsetof(Completion, kind) == 28);

}  // namespace chime::rdma
