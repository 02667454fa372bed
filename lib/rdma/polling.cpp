// SPDX-License-Identifier: BSD-3-Clause
#include "rdma/polling.h"

#include <rte_branch_prediction.h>

#include <atomic>
#include <cstring>

namespace chime::rdma {
namespace {

// What decides in op_own: opcode and owner.
constexpr unsigned opcode_shift = 4;
/// An entry that poll() passes over: an opcode of queue resizing, which this driver does not do.
constexpr prm::cqe_opcode dropped = prm::cqe_opcode::resize_cq;

constexpr std::uint8_t parity(std::uint32_t consumer, unsigned log_size) noexcept {
  return static_cast<std::uint8_t>((consumer >> log_size) & 1);
}

constexpr bool is_ours(std::uint8_t op_own, std::uint8_t parity) noexcept {
  return (op_own & prm::cqe_owner) == parity && prm::cqe_opcode_of(op_own) != prm::cqe_opcode::invalid;
}

std::uint8_t load(const prm::Cqe& cqe) noexcept {
  return __atomic_load_n(&cqe.op_own, __ATOMIC_ACQUIRE);
}

/// The original value as a number; the bytes in memory are turned into host order, too.
std::uint64_t take_original(const SendSlot& slot) noexcept {
  auto* at = reinterpret_cast<std::byte*>(slot.local);
  if (slot.original == Original::big4) {
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

/// Makes room for the request of this slot and all before it.
void free_until(Qp& qp, std::uint16_t index, std::uint32_t blocks) noexcept {
  qp.completed += static_cast<std::uint16_t>(index + blocks - qp.completed);
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
  const std::uint8_t kind = slot.kind & ~silent;
  const bool sends =
      kind == static_cast<std::uint8_t>(Opcode::send) || kind == static_cast<std::uint8_t>(Opcode::send_imm);
  failure = {.remote = sends ? 0 : std::uint64_t{remote.address},
             .local = data.address,
             .rkey = sends ? 0 : std::uint32_t{remote.rkey},
             .lkey = data.lkey,
             .length = slot.length,
             .kind = kind,
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
  free_until(qp, index, slot.blocks);
  out.cookie = slot.cookie;
  out.length = slot.length;
  out.kind = slot.kind & static_cast<std::uint8_t>(~silent);
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

/// What decides how a request's completion is told: kind, original and blocks of its slot, in one word.
std::uint32_t tag_of(const SendSlot& slot) noexcept {
  std::uint32_t tag;
  std::memcpy(&tag, &slot.kind, sizeof tag);
  return tag;
}
static_assert(offsetof(SendSlot, kind) == 20 && offsetof(SendSlot, original) == 21 &&
              offsetof(SendSlot, blocks) == 22);
constexpr std::uint32_t tag_decides = 0xff00 | silent;
constexpr std::uint32_t tag_usual = static_cast<std::uint32_t>(Original::host8) << 8;

/// A request that ended well: its completion but for the original value.
inline void tell(Completion& out, const SendSlot& slot, std::uint32_t tag, std::uint32_t qpn) noexcept {
  const std::uint64_t length_imm = slot.length;
  const std::uint64_t qpn_kind = std::uint64_t{tag & 0xff} << 32 | qpn;  // status and syndromes are 0
  out.cookie = slot.cookie;
  std::memcpy(&out.length, &length_imm, sizeof length_imm);
  std::memcpy(&out.qpn, &qpn_kind, sizeof qpn_kind);
}
static_assert(offsetof(Completion, imm) == 20 && offsetof(Completion, qpn) == 24);

/// A request that asked for no completion, or whose original value is none or no number in host order.
/// @return whether it is told
[[gnu::noinline]] bool take_unusual(const SendSlot& slot, std::uint32_t qpn, Completion& out) noexcept {
  if (slot.kind & silent) return false;
  const std::uint64_t original = slot.original == Original::none ? 0
                                 : slot.original == Original::host8
                                     ? *reinterpret_cast<std::uint64_t*>(slot.local)
                                     : take_original(slot);
  tell(out, slot, tag_of(slot), qpn);
  out.original = original;
  return true;
}

/// The queue pair whose completions come one after the other.
struct Current {
  Qp* qp;
  std::uint32_t number;  ///< as CQEs have it, big-endian; above them all at first
  const SendSlot* slots;
  std::uint32_t mask;

  static Current of(Qp* qp, std::uint32_t qpn) noexcept {
    return qp != nullptr ? Current{qp, prm::host_to_be(qpn), qp->slots, qp->mask}
                         : Current{nullptr, ~0u, nullptr, 0};
  }
};

}  // namespace

std::uint16_t poll(Worker& worker, Completion* completions, std::uint16_t count) noexcept {
  const MaybeLocked locked(worker.lock, worker.locked);
  const std::uint32_t mask = worker.mask();
  const std::uint32_t number_bits = prm::host_to_be(std::uint32_t{0xffffff});
  const std::uint32_t began = worker.consumer;
  std::uint32_t consumer = began;
  std::uint8_t owner = parity(consumer, worker.log_size);
  Current current = Current::of(worker.last, worker.qpn_last);
  std::uint32_t qpn = worker.qpn_last;
  Completion* out = completions;
  Completion* const end = completions + count;
  while (out != end) {
    const prm::Cqe& cqe = worker.cqes[consumer & mask];
    const std::uint8_t op_own = load(cqe);
    // Nearly all of them: a request that ended well, opcode 0, and nothing else in the byte.
    const bool well = op_own == owner;
    if (unlikely(!well && !is_ours(op_own, owner))) break;
    ++consumer;
    if ((consumer & mask) == 0) owner ^= 1;
    const std::uint32_t number = cqe.sop_drop_qpn.raw & number_bits;
    if (unlikely(number != current.number)) {
      Qp* const found = find(worker, prm::host_to_be(number));
      if (unlikely(found == nullptr)) continue;
      qpn = worker.qpn_last = prm::host_to_be(number);
      worker.last = found;
      current = Current::of(found, qpn);
    }
    if (unlikely(!well && op_own >> opcode_shift != static_cast<unsigned>(prm::cqe_opcode::requester))) {
      out->qpn = qpn;
      out->reserved = 0;
      out += take_other(*current.qp, cqe, prm::cqe_opcode_of(op_own), *out);
      continue;
    }
    const std::uint16_t index = cqe.wqe_counter;
    const SendSlot& slot = current.slots[index & current.mask];
    const std::uint32_t tag = tag_of(slot);
    free_until(*current.qp, index, tag >> 16);
    if (unlikely((tag & tag_decides) != tag_usual)) {
      out += take_unusual(slot, qpn, *out);
      continue;
    }
    tell(*out, slot, tag, qpn);
    std::memcpy(&out->original, reinterpret_cast<const void*>(slot.local), sizeof out->original);
    ++out;
  }
  if (consumer != began) {
    worker.consumer = consumer;
    __atomic_store_n(&worker.record[0], prm::host_to_be(consumer & 0xffffff), __ATOMIC_RELEASE);
  }
  return static_cast<std::uint16_t>(out - completions);
}

std::uint32_t drop_completions(Worker& worker, std::uint32_t qpn) noexcept {
  std::uint32_t count = 0;
  for (std::uint32_t at = worker.consumer; at - worker.consumer <= worker.mask(); ++at) {
    prm::Cqe& cqe = worker.cqes[at & worker.mask()];
    const std::uint8_t op_own = load(cqe);
    if (!is_ours(op_own, parity(at, worker.log_size))) break;
    if ((cqe.sop_drop_qpn & 0xffffff) != qpn) continue;
    cqe.op_own = prm::cqe_op_own(dropped, op_own & prm::cqe_owner);
    ++count;
  }
  return count;
}

}  // namespace chime::rdma
