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
///     bytes written or read a request               lines
///     Operation read                                 72 B, streaming
///     Qp: cursors, ring, worker                      1
///     Worker: doorbell                               1
///     WQE                                            1 (2 for masked compare-and-swap of 8 bytes, more
///     above) SendSlot                                       24 B: 8 in 3 lines doorbell record, UAR cell 1 +
///     1 a burst poll: CQE 1, Worker 1, Qp 1, SendSlot, original value 8 B

namespace chime::rdma {

struct Worker;

/// How the original value lies in memory when its completion comes.
enum class Original : std::uint8_t { none, host8, big8, big4, big_words };

/// What posting remembers of a work request, by its first basic block.
struct SendSlot {
  std::uint64_t cookie;
  std::uintptr_t local;
  std::uint32_t length;
  std::uint8_t kind;  ///< Opcode; bit 7: a completion that only makes room
  Original original;
  std::uint16_t blocks;
};
static_assert(sizeof(SendSlot) == 24);
inline constexpr std::uint8_t silent = 0x80;

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
inline constexpr std::uint8_t qp_signal_all = 0x01;  ///< as if every operation were signaled
inline constexpr std::uint8_t qp_plain_atomics =
    0x02;                                         ///< 8-byte compare-and-swap and fetch-and-add are there
inline constexpr std::uint8_t qp_locked = 0x04;   ///< posting and polling take the worker's lock
inline constexpr std::uint8_t qp_checked = 0x08;  ///< lkeys are looked up before posting
inline constexpr std::uint8_t qp_host_replies = 0x10;  ///< 8-byte originals come in host order

/// A queue pair's rings. Indices run freely; `& mask` makes a place.
struct alignas(64) Qp {
  // Posting, and making room.
  std::byte* wqes;
  SendSlot* slots;
  std::uint32_t* send_record;
  Worker* worker;
  std::uint32_t qpn_shifted;  ///< qpn << 8
  std::uint32_t mask;         ///< basic blocks - 1
  std::uint32_t produced;     ///< basic blocks
  std::uint32_t completed;    ///< basic blocks that are free again
  std::uint32_t signaled_at;  ///< `produced` behind the last request with a completion
  std::uint32_t result_lkey;  ///< as the WQE wants it (big-endian)
  std::uint64_t* results;     ///< 8 bytes a basic block, for operations without `local`
  // --- 64 bytes
  std::uint8_t flags;
  Refusal refusal;            ///< of the last burst that stopped
  Refusal closed;             ///< not `none`: nothing is posted, and why
  std::uint8_t max_ds;        ///< of a request
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
static_assert(offsetof(Qp, results) == 56 && offsetof(Qp, flags) == 64);

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
  std::uint32_t reserved0;
  AtomicSizes atomics;
  // --- polling
  alignas(64) prm::Cqe* cqes;
  std::uint32_t* record;
  std::uint32_t consumer;
  std::uint8_t log_size;
  bool locked;
  std::uint16_t reserved1;
  std::uint32_t qpn_last;  ///< of the last completion
  std::uint32_t table_mask;
  Qp* last;
  Qp** table;  ///< by number, open addressing
  // --- seldom
  const KeyBook* keys;
  void* handle;  ///< of the session

  std::uint32_t mask() const noexcept { return (1u << log_size) - 1; }
};

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
