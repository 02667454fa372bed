// SPDX-License-Identifier: BSD-3-Clause
#include "rdma/post.h"

#include <rte_branch_prediction.h>
#include <rte_errno.h>

#include <cerrno>

#include "rdma/keys.h"
#include "rdma/request.h"

namespace chime::rdma {
namespace {

/// The 8-byte fetch-and-add and compare-and-swap: one basic block, in eight stores.
inline void build_plain(Qp& qp, const Operation& operation, std::uint8_t flags,
                        std::uint32_t block) noexcept {
  const std::uint32_t place = block & qp.mask;
  std::uintptr_t local = operation.local;
  std::uint32_t lkey = prm::host_to_be(operation.lkey);
  if (local == 0) {
    local = reinterpret_cast<std::uintptr_t>(qp.results + place);
    lkey = qp.result_lkey;
  }
  const bool add = operation.opcode == Opcode::fetch_add;
  const auto opcode =
      static_cast<std::uint32_t>(add ? prm::wqe_opcode::atomic_fa : prm::wqe_opcode::atomic_cs);
  auto* word = reinterpret_cast<std::uint64_t*>(qp.wqes + std::size_t{place} * prm::wqebb_size);
  word[0] = std::uint64_t{prm::host_to_be(qp.qpn_shifted | 4)} << 32 |
            prm::host_to_be((block & 0xffff) << 8 | opcode);
  word[1] = std::uint64_t{completion_mode(flags)} << 24;
  word[2] = prm::host_to_be(operation.remote);
  word[3] = prm::host_to_be(operation.rkey);
  word[4] = prm::host_to_be(operation.operand[0].value);
  word[5] = add ? 0 : prm::host_to_be(operation.operand[1].value);
  word[6] = std::uint64_t{lkey} << 32 | prm::host_to_be(std::uint32_t{8});
  word[7] = prm::host_to_be(std::uint64_t{local});

  SendSlot& slot = qp.slots[place];
  slot.cookie = operation.cookie;
  slot.local = local;
  slot.length = 8;
  slot.kind = static_cast<std::uint8_t>(static_cast<std::uint8_t>(operation.opcode) | (flags & make_room));
  slot.original = qp.flags & qp_host_replies ? Original::host8 : Original::big8;
  slot.blocks = 1;
}

[[gnu::cold, gnu::noinline]] void refuse(Qp& qp, Refusal why) noexcept {
  qp.refusal = why;
  rte_errno = errno_of(why);
}

/// A closed queue pair looks full.
Refusal full_because(const Qp& qp) noexcept {
  return qp.closed != Refusal::none ? qp.closed : Refusal::full;
}

}  // namespace

std::uint16_t post(Qp& qp, const Operation* operations, std::uint16_t count) noexcept {
  const MaybeLocked locked(qp.worker->lock, qp.flags & qp_locked);
  const std::uint32_t limit = qp.completed + qp.mask + 1;  // a closed one is full
  const std::uint32_t half = (qp.mask + 1) / 2;
  const bool plain = (qp.flags & (qp_plain_atomics | qp_checked)) == qp_plain_atomics;
  std::uint32_t block = qp.produced;
  std::uint32_t last = block;
  std::uint16_t taken = 0;
  for (; taken < count; ++taken) {
    const Operation& operation = operations[taken];
    std::uint8_t flags = static_cast<std::uint8_t>(operation.flags | (qp.flags & qp_signal_all));
    // Without a completion now and then there would never be room again.
    if (!(flags & signaled) && block - qp.signaled_at >= half) flags |= signaled | make_room;
    std::uint32_t blocks = 1;
    if (plain && operation.length == 8 &&
        (operation.opcode == Opcode::fetch_add || operation.opcode == Opcode::compare_swap)) {
      if (unlikely(block == limit)) {
        refuse(qp, full_because(qp));
        break;
      }
      if (unlikely(operation.remote & 7)) {
        refuse(qp, Refusal::misaligned);
        break;
      }
      build_plain(qp, operation, flags, block);
    } else {
      const Built built = build(qp, operation, flags, block, limit - block);
      if (unlikely(built.blocks == 0)) {
        refuse(qp, built.refusal == Refusal::full ? full_because(qp) : built.refusal);
        break;
      }
      blocks = built.blocks;
    }
    last = block;
    block += blocks;
    if (flags & signaled) qp.signaled_at = block;
  }
  if (likely(taken != 0)) {
    qp.produced = block;
    const auto* control =
        reinterpret_cast<const std::uint64_t*>(qp.wqes + std::size_t{last & qp.mask} * prm::wqebb_size);
    qp.worker->doorbell.ring(qp.send_record, prm::host_to_be(block & 0xffff), *control);
  }
  return taken;
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
