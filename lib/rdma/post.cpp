// SPDX-License-Identifier: BSD-3-Clause
#include "rdma/post.h"

#include <rte_branch_prediction.h>
#include <rte_errno.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "rdma/atomic_wqe.h"
#include "rdma/keys.h"
#include "rdma/request.h"

namespace chime::rdma {
namespace {

/// Opcode, flags and length of an operation in one word: what decides how its request is built.
std::uint64_t shape_of(const Operation& operation) noexcept {
  std::uint64_t shape;
  std::memcpy(&shape, &operation.opcode, sizeof shape);
  return shape;
}
static_assert(offsetof(Operation, opcode) == 8 && offsetof(Operation, local) == 16);

/// The last word of a slot.
std::uint64_t slot_word(Opcode opcode, std::uint8_t flags, Original original) noexcept {
  const SendSlot slot{
      .cookie = 0,
      .local = 0,
      .length = 8,
      .kind = static_cast<std::uint8_t>(static_cast<std::uint8_t>(opcode) | (flags & make_room)),
      .original = original,
      .blocks = 1};
  std::uint64_t word;
  std::memcpy(&word, &slot.length, sizeof word);
  return word;
}
static_assert(offsetof(SendSlot, length) == 16);

/// What the plain requests of one shape share: 8-byte fetch-and-add or compare-and-swap, one basic block
/// each.
template <bool add>
struct PlainAtomic {
  static constexpr Opcode kind = add ? Opcode::fetch_add : Opcode::compare_swap;
  static constexpr auto opcode =
      static_cast<std::uint32_t>(add ? prm::wqe_opcode::atomic_fa : prm::wqe_opcode::atomic_cs);
  static constexpr std::uint32_t units = 4;

  std::uint64_t qpn_ds;      ///< high half of the control segment's first word
  std::uint64_t mode;        ///< its second word
  std::uint64_t result_key;  ///< first word of a data segment in the ring's own room
  std::uint64_t slot_end;    ///< last word of the slot

  PlainAtomic(const Qp& qp, std::uint8_t flags) noexcept
      : qpn_ds(std::uint64_t{prm::host_to_be(qp.qpn_shifted | units)} << 32),
        mode(std::uint64_t{completion_mode(flags)} << 24),
        result_key(std::uint64_t{qp.result_lkey} << 32 | prm::host_to_be(std::uint32_t{8})),
        slot_end(slot_word(kind, flags, qp.flags & qp_host_replies ? Original::host8 : Original::big8)) {}

  /// The request, in four stores of 16 bytes, and its slot.
  [[gnu::always_inline]] void build(std::byte* wqes, SendSlot* slots, std::uint64_t* results,
                                    std::uint32_t mask, const Operation& operation,
                                    std::uint32_t block) const noexcept {
    const std::uint32_t place = block & mask;
    std::byte* const wqe = wqes + std::size_t{place} * prm::wqebb_size;
    store(wqe, qpn_ds | prm::host_to_be((block & 0xffff) << 8 | opcode), mode);
    copy_target(wqe + 16, operation);
    copy_operands<add>(wqe + 32, operation);
    std::uintptr_t local = operation.local;
    if (local != 0) {
      copy_data(wqe + 48, operation);
    } else {
      local = reinterpret_cast<std::uintptr_t>(results + place);
      store(wqe + 48, result_key, prm::host_to_be(std::uint64_t{local}));
    }
    SendSlot& slot = slots[place];
    slot.cookie = operation.cookie;
    slot.local = local;
    std::memcpy(&slot.length, &slot_end, sizeof slot_end);
  }
};

bool is_plain(const Operation& operation) noexcept {
  return operation.length == 8 &&
         (operation.opcode == Opcode::fetch_add || operation.opcode == Opcode::compare_swap);
}

/// The operations that have the first one's shape, up to one that differs or whose target is not aligned.
/// @param most not 0
/// @return how many
template <bool add>
std::uint32_t build_run(Qp& qp, const Operation* operations, std::uint32_t most, std::uint8_t flags,
                        std::uint32_t block) noexcept {
  const std::uint64_t shape = shape_of(*operations);
  const PlainAtomic<add> atomic(qp, flags);
  const std::uint32_t mask = qp.mask;
  std::byte* const wqes = qp.wqes;
  SendSlot* const slots = qp.slots;
  std::uint64_t* const results = qp.results;
  std::uint32_t n = 0;
  for (; n < most; ++n, ++block) {
    const Operation& operation = operations[n];
    if (unlikely(shape_of(operation) != shape || (operation.remote & 7) != 0)) break;
    atomic.build(wqes, slots, results, mask, operation, block);
  }
  return n;
}

void ring(Qp& qp, std::uint32_t last, std::uint32_t produced) noexcept {
  qp.produced = produced;
  const auto* control =
      reinterpret_cast<const std::uint64_t*>(qp.wqes + std::size_t{last & qp.mask} * prm::wqebb_size);
  qp.worker->doorbell.ring(qp.send_record, prm::host_to_be(produced & 0xffff), *control);
}

[[gnu::cold, gnu::noinline]] void refuse(Qp& qp, Refusal why) noexcept {
  qp.refusal = why;
  rte_errno = errno_of(why);
}

/// A closed queue pair looks full.
Refusal full_because(const Qp& qp) noexcept {
  return qp.closed != Refusal::none ? qp.closed : Refusal::full;
}

[[gnu::noinline]] std::uint16_t post_burst(Qp& qp, const Operation* operations,
                                           std::uint16_t count) noexcept {
  const MaybeLocked locked(qp.worker->lock, qp.flags & qp_locked);
  const std::uint32_t limit = qp.completed + qp.mask + 1;  // a closed one is full
  const std::uint32_t half = (qp.mask + 1) / 2;
  const bool plain = (qp.flags & (qp_plain_atomics | qp_checked)) == qp_plain_atomics;
  const std::uint8_t all = qp.flags & qp_signal_all;
  std::uint32_t block = qp.produced;
  std::uint32_t last = block;
  std::uint32_t taken = 0;
  while (taken < count) {
    const Operation& operation = operations[taken];
    std::uint8_t flags = static_cast<std::uint8_t>(operation.flags | all);
    // Without a completion now and then there would never be room again.
    std::uint32_t until_signal = ~0u;
    if (!(flags & signaled)) {
      until_signal = half - std::min(half, block - qp.signaled_at);
      if (until_signal == 0) flags |= signaled | make_room;
    }
    std::uint32_t blocks = 0;
    std::uint32_t requests = 0;
    if (likely(plain && is_plain(operation))) {
      if (unlikely(block == limit)) {
        refuse(qp, full_because(qp));
        break;
      }
      std::uint32_t most = std::min(count - taken, limit - block);
      most = std::min(most, std::max(until_signal, 1u));
      blocks = requests = operation.opcode == Opcode::fetch_add
                              ? build_run<true>(qp, &operation, most, flags, block)
                              : build_run<false>(qp, &operation, most, flags, block);
      if (unlikely(requests == 0)) {
        refuse(qp, Refusal::misaligned);
        break;
      }
      last = block + blocks - 1;
    } else {
      const Built built = build(qp, operation, flags, block, limit - block);
      if (unlikely(built.blocks == 0)) {
        refuse(qp, built.refusal == Refusal::full ? full_because(qp) : built.refusal);
        break;
      }
      blocks = built.blocks;
      requests = 1;
      last = block;
    }
    block += blocks;
    taken += requests;
    if (flags & signaled) qp.signaled_at = block;
  }
  if (likely(taken != 0)) ring(qp, last, block);
  return static_cast<std::uint16_t>(taken);
}

template <bool add>
void post_one(Qp& qp, const Operation& operation) noexcept {
  const std::uint32_t block = qp.produced;
  PlainAtomic<add>(qp, static_cast<std::uint8_t>(operation.flags | signaled))
      .build(qp.wqes, qp.slots, qp.results, qp.mask, operation, block);
  qp.signaled_at = block + 1;
  ring(qp, block, block + 1);
}

/// A signaled plain atomic that nothing is wrong with; what is wrong with others, post_burst() says.
bool is_simple(const Qp& qp, const Operation& operation) noexcept {
  static_assert(qp_signal_all == signaled);
  return (qp.flags & (qp_plain_atomics | qp_checked | qp_locked)) == qp_plain_atomics &&
         ((operation.flags | qp.flags) & signaled) != 0 && is_plain(operation) &&
         (operation.remote & 7) == 0 && qp.produced - qp.completed <= qp.mask;
}

}  // namespace

std::uint16_t post(Qp& qp, const Operation* operations, std::uint16_t count) noexcept {
  // Setting up a run costs more than one request.
  if (count != 1 || !is_simple(qp, *operations)) return post_burst(qp, operations, count);
  if (operations->opcode == Opcode::fetch_add) {
    post_one<true>(qp, *operations);
  } else {
    post_one<false>(qp, *operations);
  }
  return 1;
}

std::uint16_t post_receives(Qp& qp, const Receive* receives, std::uint16_t count) noexcept {
  const MaybeLocked locked(qp.worker->lock, qp.flags & qp_locked);
  std::uint16_t taken = 0;
  for (; taken < count; ++taken) {
    const Receive& receive = receives[taken];
    if (unlikely(qp.receive_produced - qp.receive_completed >= qp.receive_size)) {
      refuse(qp, qp.closed == Refusal::gone ? Refusal::gone : Refusal::full);
      break;
    }
    if (unlikely(receive.length > 1u << 30)) {
      refuse(qp, Refusal::too_long);
      break;
    }
    if (unlikely(qp.flags & qp_checked && receive.length != 0 &&
                 !holds_for_card(*qp.worker->keys, receive.lkey, receive.local, receive.length, true))) {
      refuse(qp, Refusal::stale_key);
      break;
    }
    const std::uint32_t place = qp.receive_produced & qp.receive_mask;
    prm::WqeData& wqe = qp.receive_wqes[place];
    wqe.byte_count = receive.length;
    wqe.lkey = receive.length != 0 ? receive.lkey : prm::invalid_lkey;
    wqe.address = receive.local;
    qp.receives[place] = receive;
    ++qp.receive_produced;
  }
  if (likely(taken != 0)) {
    std::atomic_ref(*qp.receive_record)
        .store(prm::host_to_be(qp.receive_produced & 0xffff), std::memory_order_release);
  }
  return taken;
}

int errno_of(Refusal refusal) noexcept {
  switch (refusal) {
    case Refusal::none:
      return 0;
    case Refusal::full:
      return EAGAIN;
    case Refusal::not_offered:
      return ENOTSUP;
    case Refusal::too_long:
      return EMSGSIZE;
    case Refusal::stale_key:
      return EKEYEXPIRED;
    case Refusal::not_connected:
      return ENOTCONN;
    case Refusal::gone:
      return ENODEV;
    default:
      return EINVAL;
  }
}

const char* text_of(Refusal refusal) noexcept {
  switch (refusal) {
    case Refusal::none:
      return "nothing was refused";
    case Refusal::full:
      return "the ring is full: poll for completions, then post the rest again";
    case Refusal::opcode:
      return "this is no operation: take one of enum rte_pmd_chime_opcode";
    case Refusal::size:
      return "an atomic works on 4, 8, 16, 32, 64, 128 or 256 bytes: set `length` to one of them; narrower "
             "fields are masked parts of 4 bytes";
    case Refusal::not_offered:
      return "this card does not offer the operation at this size: see rte_pmd_chime_rdma_capa_get()";
    case Refusal::misaligned:
      return "the remote address of an atomic is no multiple of its size: the card at the other end would "
             "answer with remote invalid request; align the target";
    case Refusal::too_long:
      return "too many bytes: at most 2^30 in a message, and what the queue pair was made with in line";
    case Refusal::no_result:
      return "no room for the result: an atomic of more than 8 bytes needs `local` and its lkey";
    case Refusal::not_wide:
      return "operands that are too long for a request: make the queue pair with RTE_PMD_CHIME_QP_WIDE";
    case Refusal::no_operand:
      return "an operand of more than 8 bytes is given by pointer, and one is NULL";
    case Refusal::stale_key:
      return "no live registration has this lkey for these bytes (with local write, where the card writes): "
             "the memory was unregistered, or the key is another one's";
    case Refusal::not_connected:
      return "the queue pair is not connected: rte_pmd_chime_qp_connect() first, after an error "
             "rte_pmd_chime_qp_reset()";
    case Refusal::gone:
      return "the port was closed: only freeing is left";
  }
  return "?";
}

}  // namespace chime::rdma
