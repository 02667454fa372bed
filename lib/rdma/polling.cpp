// SPDX-License-Identifier: BSD-3-Clause
#include "rdma/polling.h"

#include <rte_branch_prediction.h>

#include <atomic>
#include <cstring>

namespace chime::rdma {
namespace {

// The last word of a CQE, which a card writes last, as it lies in memory:
//
//     | send opcode | qpn (3 bytes) | wqe_counter (2) | signature | op_own |
//
// The usual one, of a request that ended well (opcode 0, and nothing else in op_own but the owner), differs
// from the one before it in the counter only.
constexpr std::uint64_t decides = prm::host_to_be(std::uint64_t{0x00ffffff'000000ff});
constexpr std::uint64_t owner_bit = prm::host_to_be(std::uint64_t{prm::cqe_owner});
constexpr std::uint64_t nothing = ~decides;  ///< what `decides` lets through of no CQE
constexpr unsigned counter_shift = 16;

/// An entry that poll() passes over: an opcode of queue resizing, which this driver does not do.
constexpr prm::cqe_opcode dropped = prm::cqe_opcode::resize_cq;

/// The owner that software's CQEs have at this place.
constexpr std::uint8_t owner_at(std::uint32_t consumer, std::uint32_t mask) noexcept {
  return (consumer & (mask + 1)) != 0 ? prm::cqe_owner : 0;
}

constexpr bool is_ours(std::uint8_t op_own, std::uint8_t owner) noexcept {
  return (op_own & prm::cqe_owner) == owner && prm::cqe_opcode_of(op_own) != prm::cqe_opcode::invalid;
}

std::uint64_t load_last_word(const prm::Cqe& cqe) noexcept {
  return __atomic_load_n(reinterpret_cast<const std::uint64_t*>(&cqe.sop_drop_qpn), __ATOMIC_ACQUIRE);
}
static_assert(offsetof(prm::Cqe, sop_drop_qpn) == 56 && offsetof(prm::Cqe, op_own) == 63);

std::uint8_t load_op_own(const prm::Cqe& cqe) noexcept {
  return static_cast<std::uint8_t>(prm::host_to_be(load_last_word(cqe)));
}

/// The original value as a number; the bytes in memory are turned into host order, too.
std::uint64_t take_original(const SendSlot& slot) noexcept {
  auto* at = reinterpret_cast<std::byte*>(slot.local);
  if (slot.telling == Telling::big4) {
    std::uint32_t raw;
    std::memcpy(&raw, at, sizeof raw);
    raw = prm::host_to_be(raw);
    std::memcpy(at, &raw, sizeof raw);
    return raw;
  }
  const std::size_t words = slot.length / 8;
  std::uint64_t first = 0;
  for (std::size_t i = 0; i < words; ++i) {
    std::uint64_t raw;
    std::memcpy(&raw, at + 8 * i, sizeof raw);
    raw = prm::host_to_be(raw);
    std::memcpy(at + 8 * i, &raw, sizeof raw);
    if (i == 0) first = raw;
  }
  return words == 1 ? first : 0;
}

/// What the failed request was: its WQE is still in the ring.
[[gnu::cold]] void record_failure(Qp& qp, std::uint16_t index, const SendSlot& slot,
                                  const prm::ErrorCqe& error) noexcept {
  Failure& failure = qp.failure;
  const std::uint32_t units = (qp.mask << 2) | 3;
  const auto unit = [&](std::uint32_t n) {
    return qp.wqes + std::size_t{((std::uint32_t{index} << 2) + n) & units} * prm::wqe_unit;
  };
  const auto& control = *reinterpret_cast<const prm::WqeCtrl*>(unit(0));
  const std::uint32_t ds = control.qpn_ds & prm::max_ds;
  const auto& remote = *reinterpret_cast<const prm::WqeRaddr*>(unit(1));
  const auto& data = *reinterpret_cast<const prm::WqeData*>(unit(ds - 1));
  const bool sends = slot.kind == Opcode::send || slot.kind == Opcode::send_imm;
  failure = {.remote = sends ? 0 : std::uint64_t{remote.address},
             .local = data.address,
             .rkey = sends ? 0 : std::uint32_t{remote.rkey},
             .lkey = data.lkey,
             .length = slot.length,
             .kind = static_cast<std::uint8_t>(slot.kind),
             .status = error.syndrome,
             .vendor_syndrome = error.vendor_err_synd,
             .reserved = 0};
}

/// @return whether there is something to tell
[[gnu::cold, gnu::noinline]] bool take_error(Qp& qp, const prm::Cqe& cqe, Completion& out) noexcept {
  const auto& error = reinterpret_cast<const prm::ErrorCqe&>(cqe);
  out.cookie = 0;
  out.original = 0;
  out.imm = 0;
  out.status = error.syndrome;
  out.vendor_syndrome = error.vendor_err_synd;
  const std::uint16_t index = error.wqe_counter;
  if (prm::cqe_opcode_of(cqe.op_own) == prm::cqe_opcode::responder_error) {
    const Receive& receive = qp.receives[index & qp.receive_mask];
    if (qp.receive_size == 0) return false;
    ++qp.receive_completed;
    out.cookie = receive.cookie;
    out.length = receive.length;
    out.kind = receive_send;
    if (qp.failure.status == 0 && error.syndrome != static_cast<std::uint8_t>(prm::cqe_syndrome::flushed))
      qp.failure = {.remote = 0,
                    .local = receive.local,
                    .rkey = 0,
                    .lkey = receive.lkey,
                    .length = receive.length,
                    .kind = receive_send,
                    .status = error.syndrome,
                    .vendor_syndrome = error.vendor_err_synd,
                    .reserved = 0};
    return true;
  }
  const SendSlot& slot = qp.slots[index & qp.mask];
  if (qp.failure.status == 0 && error.syndrome != static_cast<std::uint8_t>(prm::cqe_syndrome::flushed))
    record_failure(qp, index, slot, error);
  qp.limit = slot.limit;
  out.cookie = slot.cookie;
  out.length = slot.length;
  out.kind = static_cast<std::uint8_t>(slot.kind);
  return true;
}

bool take_receive(Qp& qp, const prm::Cqe& cqe, prm::cqe_opcode opcode, Completion& out) noexcept {
  if (unlikely(qp.receive_size == 0)) return false;
  const Receive& receive = qp.receives[std::uint16_t{cqe.wqe_counter} & qp.receive_mask];
  ++qp.receive_completed;
  out.cookie = receive.cookie;
  out.original = 0;
  out.length = cqe.byte_cnt;
  out.imm = opcode == prm::cqe_opcode::responder_send ? 0 : std::uint32_t{cqe.imm_inval_pkey};
  out.kind = opcode == prm::cqe_opcode::responder_rdma_write_imm ? receive_write_imm
             : opcode == prm::cqe_opcode::responder_send_imm     ? receive_send_imm
                                                                 : receive_send;
  out.status = 0;
  out.vendor_syndrome = 0;
  return true;
}

/// Everything but a request that ended well. @return whether there is something to tell
[[gnu::noinline]] bool take_other(Qp& qp, const prm::Cqe& cqe, prm::cqe_opcode opcode,
                                  Completion& out) noexcept {
  switch (opcode) {
    case prm::cqe_opcode::responder_rdma_write_imm:
    case prm::cqe_opcode::responder_send:
    case prm::cqe_opcode::responder_send_imm:
    case prm::cqe_opcode::responder_send_inval:
      return take_receive(qp, cqe, opcode, out);
    case prm::cqe_opcode::requester_error:
    case prm::cqe_opcode::responder_error:
      return take_error(qp, cqe, out);
    default:
      return false;
  }
}

/// A request that ended well: its completion but for the original value.
[[gnu::always_inline]] inline void tell(Completion& out, const SendSlot& slot) noexcept {
  out.cookie = slot.cookie;
  std::memcpy(&out.length, &slot.length, sizeof out - offsetof(Completion, length));
  out.imm = 0;  // where the slot has its limit
}

std::uint64_t load_original(const SendSlot& slot) noexcept {
  std::uint64_t original;
  std::memcpy(&original, reinterpret_cast<const void*>(slot.local), sizeof original);
  return original;
}

/// A request that ended well. @return whether it is told
bool take_request(Qp& qp, const prm::Cqe& cqe, Completion& out) noexcept {
  const SendSlot& slot = qp.slots[std::uint16_t{cqe.wqe_counter} & qp.mask];
  qp.limit = slot.limit;
  if (slot.telling == Telling::not_told) return false;
  const std::uint64_t original = slot.telling == Telling::none    ? 0
                                 : slot.telling == Telling::host8 ? load_original(slot)
                                                                  : take_original(slot);
  tell(out, slot);
  out.status = 0;  // where the slot has how to tell it
  out.original = original;
  return true;
}

void publish(Worker& worker, std::uint32_t taken) noexcept {
  worker.consumer += taken;
  __atomic_store_n(worker.record, prm::host_to_be(worker.consumer & 0xffffff), __ATOMIC_RELEASE);
}

/// The completions from the next one on that are the usual ones of the queue pair whose completions are
/// expected, until one differs or there is no more room. Not published.
/// @param out  moves behind the last one
/// @param left room there, not 0
/// @return room that is left
[[gnu::always_inline]] inline std::uint32_t take_run(Worker& worker, Completion*& out,
                                                     std::uint32_t left) noexcept {
  prm::Cqe* cqe = worker.next;
  Qp* const qp = worker.last;
  do {
    const std::uint64_t word = load_last_word(*cqe);
    if ((word & decides) != worker.expected) break;
    const SendSlot& slot = qp->slots[(prm::host_to_be(word) >> counter_shift) & qp->mask];
    if (unlikely(slot.telling != Telling::host8)) break;
    tell(*out, slot);
    out->original = load_original(slot);
    qp->limit = slot.limit;
    ++out;
    if (unlikely(++cqe == worker.cqes_end)) {
      cqe = worker.cqes;
      worker.expected ^= owner_bit;
    }
  } while (--left != 0);
  worker.next = cqe;
  return left;
}

/// The next completion, whatever it is. One that is usual but for its queue pair is left for take_run().
/// @return whether there is one; `out` moves if it is told
bool take_one(Worker& worker, Completion*& out) noexcept {
  const prm::Cqe& cqe = *worker.next;
  const std::uint8_t op_own = load_op_own(cqe);
  if (!is_ours(op_own, owner_at(worker.consumer, worker.mask))) return false;
  const std::uint32_t qpn = cqe.sop_drop_qpn & 0xffffff;
  bool told = false;
  if (Qp* qp = find(worker, qpn); qp != nullptr) {
    const prm::cqe_opcode opcode = prm::cqe_opcode_of(op_own);
    if (qp != worker.last) {
      expect(worker, qp);
      if (op_own >> 1 == 0) return true;
    }
    out->qpn = qpn;
    out->reserved = 0;
    told = opcode == prm::cqe_opcode::requester ? take_request(*qp, cqe, *out)
                                                : take_other(*qp, cqe, opcode, *out);
  }
  if (++worker.next == worker.cqes_end) {
    worker.next = worker.cqes;
    worker.expected ^= owner_bit;
  }
  publish(worker, 1);
  if (told) ++out;
  return true;
}

/// poll() when there is not only the usual.
/// @param out   behind what was taken and is not published yet
/// @param left  room there, of `count` in all
[[gnu::noinline]] std::uint16_t poll_any(Worker& worker, Completion* out, std::uint32_t left,
                                         std::uint32_t count) noexcept {
  Completion* const completions = out - (count - left);
  Completion* const end = out + left;
  const Completion* published = completions;
  for (;;) {
    if (out != published) publish(worker, static_cast<std::uint32_t>(out - published));
    if (out == end || !take_one(worker, out)) break;
    published = out;
    if (out != end) take_run(worker, out, static_cast<std::uint32_t>(end - out));
  }
  return static_cast<std::uint16_t>(out - completions);
}

/// poll() when the worker has a lock, or of nothing.
[[gnu::noinline]] std::uint16_t poll_locked(Worker& worker, Completion* completions,
                                            std::uint32_t count) noexcept {
  if (count == 0) return 0;
  const MaybeLocked locked(worker.lock, worker.locked);
  return poll_any(worker, completions, count, count);
}

}  // namespace

std::uint16_t poll(Worker& worker, Completion* completions, std::uint16_t count) noexcept {
  const std::uint32_t most = hidden<std::uint32_t>(count);
  if (unlikely(static_cast<std::uint16_t>(count - 1) >= worker.most))
    return poll_locked(worker, completions, most);
  const std::uint32_t left = take_run(worker, completions, most);
  if (left != 0) return poll_any(worker, completions, left, most);
  publish(worker, most);
  return static_cast<std::uint16_t>(most);
}

void start_polling(Worker& worker, prm::Cqe* ring, std::uint32_t size) noexcept {
  worker.next = worker.cqes = ring;
  worker.cqes_end = ring + size;
  worker.consumer = 0;
  worker.mask = size - 1;
  worker.most = worker.locked ? 0 : 0xffff;
  expect(worker, nullptr);
}

void expect(Worker& worker, Qp* qp) noexcept {
  worker.last = qp;
  worker.expected = nothing;
  if (qp != nullptr)
    worker.expected =
        prm::host_to_be(std::uint64_t{qp->qpn()} << 32 | owner_at(worker.consumer, worker.mask));
}

std::uint32_t drop_completions(Worker& worker, std::uint32_t qpn) noexcept {
  std::uint32_t count = 0;
  prm::Cqe* cqe = worker.next;
  for (std::uint32_t at = worker.consumer; at - worker.consumer <= worker.mask; ++at) {
    const std::uint8_t op_own = load_op_own(*cqe);
    if (!is_ours(op_own, owner_at(at, worker.mask))) break;
    if ((cqe->sop_drop_qpn & 0xffffff) == qpn) {
      cqe->op_own = prm::cqe_op_own(dropped, op_own & prm::cqe_owner);
      ++count;
    }
    if (++cqe == worker.cqes_end) cqe = worker.cqes;
  }
  return count;
}

}  // namespace chime::rdma
