// SPDX-License-Identifier: BSD-3-Clause
#include "rdma/post.h"

#include <rte_branch_prediction.h>
#include <rte_errno.h>

#include <algorithm>
#include <bit>
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

constexpr std::uint32_t wqe_opcode_of_plain(bool add) noexcept {
  return static_cast<std::uint32_t>(add ? prm::wqe_opcode::atomic_fa : prm::wqe_opcode::atomic_cs);
}

/// Of an atomic that is signaled and nothing else.
constexpr std::uint64_t simple_shape(Opcode opcode) noexcept {
  struct Shape {
    Opcode opcode;
    std::uint8_t flags;
    std::uint16_t reserved;
    std::uint32_t length;
  };
  return std::bit_cast<std::uint64_t>(Shape{opcode, signaled, 0, 8});
}
constexpr std::uint64_t add_to_swap = simple_shape(Opcode::fetch_add) ^ simple_shape(Opcode::compare_swap);
constexpr std::uint32_t add_to_swap_control =
    prm::host_to_be(wqe_opcode_of_plain(true) ^ wqe_opcode_of_plain(false));
constexpr std::uint64_t none_simple = 0xb7e151628aed2afe;  ///< what no operation looks like

bool is_plain(const Operation& operation) noexcept {
  return operation.length == 8 &&
         (operation.opcode == Opcode::fetch_add || operation.opcode == Opcode::compare_swap);
}

bool is_aligned(const Operation& operation) noexcept {
  return (operation.remote & 7) == 0;
}

constexpr std::uint32_t plain_ds = 4;  ///< one basic block

/// Where the original value goes if the operation has no room for it.
struct ResultRoom {
  std::uint64_t* at;
  std::uint64_t key;  ///< Qp::result_key
};

/// All of a plain atomic's request but the control segment, and the first half of its slot.
/// @param room called where it is wanted: returns a ResultRoom
template <bool add, class Room>
[[gnu::always_inline]] inline void build_plain(std::byte* wqe, SendSlot& slot, const Operation& operation,
                                               const Room& room) noexcept {
  std::uintptr_t local = operation.local;
  if (local != 0) {
    copy_data(wqe + 48, operation);
  } else {
    const ResultRoom result = room();
    local = reinterpret_cast<std::uintptr_t>(result.at);
    store(wqe + 48, result.key, prm::host_to_be(std::uint64_t{local}));
  }
  copy_target(wqe + 16, operation);
  copy_operands<add>(wqe + 32, operation);
  slot.cookie = operation.cookie;
  slot.local = local;
}

/// The operations that have the first one's shape, up to one that differs or whose target is not aligned.
/// @param most not 0
/// @return how many
template <bool add>
std::uint32_t build_run(Qp& qp, const Operation* operations, std::uint32_t most, std::uint8_t flags,
                        std::uint32_t block) noexcept {
  const std::uint64_t shape = shape_of(*operations);
  const std::uint32_t place = block & qp.mask;
  most = std::min(most, qp.mask + 1u - place);
  std::byte* wqe = qp.wqes + std::size_t{place} * prm::wqebb_size;
  SendSlot* slot = qp.slots + place;
  std::uint64_t* result = qp.results + place;
  const std::uint64_t result_key = qp.result_key;
  Controls controls(block, wqe_opcode_of_plain(add), qp.qpn_shifted | plain_ds, completion_mode(flags));
  SlotEnds slot_ends({.cookie = 0,
                      .local = 0,
                      .length = 8,
                      .limit = block + 1 + qp.mask + 1,
                      .qpn = qp.qpn(),
                      .kind = add ? Opcode::fetch_add : Opcode::compare_swap,
                      .telling = flags & make_room            ? Telling::not_told
                                 : qp.flags & qp_host_replies ? Telling::host8
                                                              : Telling::big8,
                      .reserved = 0});
  const Operation* operation = operations;
  const Operation* const end = operations + most;
  for (; operation != end; ++operation) {
    if (unlikely(shape_of(*operation) != shape || !is_aligned(*operation))) break;
    controls.write(wqe);
    build_plain<add>(wqe, *slot, *operation, [&] { return ResultRoom{result, result_key}; });
    slot_ends.write(*slot);
    wqe += prm::wqebb_size;
    ++slot;
    ++result;
  }
  return static_cast<std::uint32_t>(operation - operations);
}

/// @param doorbell  first 8 bytes of the last request
void ring(Qp& qp, std::uint64_t doorbell, std::uint32_t produced) noexcept {
  qp.produced = produced;
  qp.worker->doorbell.ring(qp.send_record, prm::host_to_be(produced & 0xffff), doorbell);
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
  const std::uint32_t limit = qp.limit;  // a closed one is full
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
  if (likely(taken != 0)) {
    std::uint64_t doorbell;
    std::memcpy(&doorbell, qp.wqes + std::size_t{last & qp.mask} * prm::wqebb_size, sizeof doorbell);
    ring(qp, doorbell, block);
  }
  return static_cast<std::uint16_t>(taken);
}

/// A simple operation where there is room for it.
template <bool add>
[[gnu::always_inline]] inline void post_simple(Qp& qp, const Operation& operation) noexcept {
  const std::uint32_t block = qp.produced;
  const std::uint32_t mask = qp.mask;
  const std::uint32_t place = block & mask;
  std::byte* const wqe = qp.wqes + std::size_t{place} * prm::wqebb_size;
  SendSlot& slot = qp.slots[place];
  // The record counts what was posted: it has the index of this request, in its byte order.
  const std::uint64_t index = *qp.send_record >> 8;
  const std::uint64_t control = (add ? qp.add_control : qp.add_control ^ add_to_swap_control) | index;
  store(wqe, control, std::uint64_t{completion_mode(signaled)} << 24);
  build_plain<add>(wqe, slot, operation, [&] { return ResultRoom{qp.results + place, qp.result_key}; });
  slot.length = 8;
  slot.limit = block + 1 + mask + 1;
  slot.kind = add ? Opcode::fetch_add : Opcode::compare_swap;
  slot.telling = Telling::host8;
  slot.reserved = 0;
  ring(qp, control, block + 1);
}

/// post() when it is no simple fetch-and-add.
[[gnu::noinline]] std::uint16_t post_any(Qp& qp, const Operation* operations, std::uint16_t count) noexcept {
  if (count == 1 && is_aligned(*operations) && shape_of(*operations) == (qp.simple_shape ^ add_to_swap) &&
      qp.produced != qp.limit) {
    post_simple<false>(qp, *operations);
    return 1;
  }
  return post_burst(qp, operations, count);
}

}  // namespace

void prepare_posting(Qp& qp) noexcept {
  constexpr unsigned wanted = qp_plain_atomics | qp_host_replies;
  const bool simple = (qp.flags & (wanted | qp_locked | qp_checked)) == wanted;
  qp.simple_shape = simple ? simple_shape(Opcode::fetch_add) : none_simple;
  qp.add_control = std::uint64_t{prm::host_to_be(qp.qpn_shifted | plain_ds)} << 32 |
                   prm::host_to_be(wqe_opcode_of_plain(true));
  for (std::uint32_t i = 0; i <= qp.mask; ++i) qp.slots[i].qpn = qp.qpn();
}

std::uint16_t post(Qp& qp, const Operation* operations, std::uint16_t count) noexcept {
  // Setting up a burst costs more than one request. What is wrong with an operation is for the burst to say.
  // The shape is looked at first: a queue pair with a lock has none, and the cursors are read under the lock.
  if (unlikely(hidden(count) != 1 || !is_aligned(*operations) || shape_of(*operations) != qp.simple_shape ||
               qp.produced == qp.limit)) {
    return post_any(qp, operations, count);
  }
  post_simple<true>(qp, *operations);
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
