// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <rte_spinlock.h>

#include <cstddef>
#include <cstdint>

#include "hca/doorbell.h"
#include "prm/cqe.h"
#include "prm/doorbell.h"
#include "prm/wqe.h"
#include "rdma/operation.h"

/// @file
/// What posting and polling touch: plain data in EAL memory, made by the control side (worker.h,
/// queue_pair.h), used by one lcore at a time.
///
///     written or read for a request     cache lines
///     Operation                         72 bytes, streaming
///     Qp: cursors, rings, worker        1 (2 for room of the queue pair's own)
///     Worker: doorbell                  1
///     WQE                               1 (2 for masked compare-and-swap of 8 bytes, more above)
///     SendSlot                          1/2
///     doorbell record, UAR cell         2 a burst
///
///     ... for its completion
///     Worker, Qp                        1 + 1
///     CQE                               1
///     SendSlot, original value          1/2 + 8 bytes

namespace chime::rdma {

struct Worker;

/// How a completion is told: nearly always as `host8`, 0.
enum class Telling : std::uint8_t {
  host8,  ///< an original value of 8 bytes in host order
  none,   ///< no original value
  big8,   ///< big-endian ones
  big4,
  big_words,  ///< more than 8 bytes
  not_told,   ///< nobody asked for this completion: it makes room
};

/// What posting remembers of a work request, by its first basic block. The second half is that of its
/// Completion, but for `limit` where `imm` is, and `telling`.
struct SendSlot {
  std::uint64_t cookie;
  std::uintptr_t local;
  std::uint32_t length;
  std::uint32_t limit;  ///< Qp::limit when the request is done
  std::uint32_t qpn;    ///< the same in all slots
  Opcode kind;
  Telling telling;
  std::uint16_t reserved;  ///< 0
};
static_assert(sizeof(SendSlot) == 32);
static_assert(offsetof(SendSlot, length) == offsetof(Completion, length) &&
              offsetof(SendSlot, limit) == offsetof(Completion, imm) &&
              offsetof(SendSlot, qpn) == offsetof(Completion, qpn) &&
              offsetof(SendSlot, kind) == offsetof(Completion, kind) &&
              offsetof(SendSlot, telling) == offsetof(Completion, status));

/// Why posting stopped before the end of a burst.
enum class Refusal : std::uint8_t {
  none,
  full,           ///< no room in the ring: poll, and post the rest again
  opcode,         ///< none of Opcode
  size,           ///< an atomic of a size that is none
  not_offered,    ///< the card does not offer this atomic at this size
  misaligned,     ///< remote address of an atomic
  too_long,       ///< message, or inline data
  no_result,      ///< an atomic of more than 8 bytes without room for the original value
  not_wide,       ///< operands too long for a request, and the queue pair has no room beside it
  no_operand,     ///< an operand of more than 8 bytes that is not there
  stale_key,      ///< a checked worker knows no such lkey for this memory
  not_connected,  ///< the queue pair is not ready to send
  gone,           ///< the port was closed
};

/// The first error of a queue pair, as it was when its completion came.
struct Failure {
  std::uint64_t remote;
  std::uint64_t local;
  std::uint32_t rkey;
  std::uint32_t lkey;
  std::uint32_t length;
  std::uint8_t kind;
  std::uint8_t status;  ///< 0: none yet
  std::uint8_t vendor_syndrome;
  std::uint8_t reserved;
};

/// Bytes of the longest operands: four of 256.
inline constexpr std::size_t wide_operands = 1024;

/// Qp::flags.
inline constexpr std::uint8_t qp_signal_all = 0x01;     ///< as if every operation were signaled
inline constexpr std::uint8_t qp_plain_atomics = 0x02;  ///< there are plain atomics of 8 bytes
inline constexpr std::uint8_t qp_locked = 0x04;         ///< posting and polling take the worker's lock
inline constexpr std::uint8_t qp_checked = 0x08;        ///< lkeys are looked up before posting
inline constexpr std::uint8_t qp_host_replies = 0x10;   ///< 8-byte originals come in host order

/// A queue pair's rings. Indices run freely; `& mask` makes a place. A send ring has up to 2^15 basic blocks
/// (capabilities.h), so a request's 16-bit index goes round at a ring's end only.
struct alignas(64) Qp {
  // Posting, and making room.
  std::byte* wqes;
  SendSlot* slots;
  std::uint32_t* send_record;
  Worker* worker;
  std::uint64_t add_control;   ///< first 8 bytes of a plain fetch-and-add's request, but for its index
  std::uint64_t simple_shape;  ///< shape_of() a fetch-and-add that needs no thought here; none_simple
  std::uint32_t produced;      ///< basic blocks
  std::uint32_t limit;         ///< `produced` when the ring is full
  std::uint32_t mask;          ///< basic blocks - 1
  std::uint8_t flags;
  std::uint8_t max_ds;  ///< of a request
  Refusal refusal;      ///< of the last burst that stopped
  Refusal closed;       ///< not `none`: nothing is posted, and why
  // --- 64 bytes
  std::uint64_t* results;    ///< 8 bytes a basic block, for operations without `local`
  std::uint64_t result_key;  ///< 8 bytes there: first half of a data segment, as it lies in memory
  /// `produced` behind the last request with a completion that a burst posted: behind it, simple ones have
  /// theirs, too.
  std::uint32_t signaled_at;
  std::uint32_t qpn_shifted;  ///< qpn << 8
  std::uint32_t most_inline;  ///< bytes
  // Receiving.
  prm::WqeData* receive_wqes;
  Receive* receives;  ///< cookie and memory by place
  std::uint32_t* receive_record;
  std::uint32_t receive_mask;
  std::uint32_t receive_produced;
  std::uint32_t receive_completed;
  std::uint32_t receive_size;  ///< 0: none
  // --- 128 bytes, errors, control, and the longest atomics
  std::byte* operands;          ///< wide_operands bytes a basic block for what no request holds, or nullptr
  std::uint32_t operands_lkey;  ///< big-endian
  Failure failure;
  void* handle;  ///< of the session

  std::uint32_t qpn() const noexcept { return qpn_shifted >> 8; }
};
static_assert(offsetof(Qp, results) == 64);

/// Which atomics there are: bit n of sizes[opcode] is 2^n bytes.
struct AtomicSizes {
  std::uint16_t sizes[opcodes];
};

class KeyBook;

/// A UAR and a completion queue that one lcore owns.
struct alignas(64) Worker {
  // Posting.
  hca::Doorbell doorbell;
  rte_spinlock_t lock;
  AtomicSizes atomics;
  // --- polling
  alignas(64) prm::Cqe* next;
  prm::Cqe* cqes;
  prm::Cqe* cqes_end;
  std::uint64_t expected;  ///< what decides in the next CQE if it is the usual one, see polling.cpp
  Qp* last;                ///< whose completions are expected, or nullptr
  std::uint32_t* record;
  std::uint32_t consumer;  ///< runs freely
  std::uint32_t mask;      ///< CQEs - 1
  std::uint16_t most;      ///< a burst that poll() takes without the lock is of 1 to that many
  bool locked;
  std::uint8_t reserved1;
  std::uint32_t table_mask;
  // --- 64 bytes, seldom
  Qp** table;  ///< by number, open addressing
  const KeyBook* keys;
  void* handle;  ///< of the session
};
static_assert(offsetof(Worker, next) == 64 && offsetof(Worker, table) == 128);

/// The same value, of which the compiler knows nothing: it would carry a 16-bit argument in a register of its
/// own through a function just to return it.
template <class T>
[[gnu::always_inline]] inline T hidden(T value) noexcept {
  __asm__("" : "+r"(value));
  return value;
}

/// Takes a worker's lock where it was made thread-safe.
class MaybeLocked {
 public:
  MaybeLocked(rte_spinlock_t& lock, bool wanted) noexcept : lock_(wanted ? &lock : nullptr) {
    if (lock_ != nullptr) rte_spinlock_lock(lock_);
  }
  ~MaybeLocked() {
    if (lock_ != nullptr) rte_spinlock_unlock(lock_);
  }
  MaybeLocked(const MaybeLocked&) = delete;
  MaybeLocked& operator=(const MaybeLocked&) = delete;

 private:
  rte_spinlock_t* lock_;
};

}  // namespace chime::rdma
