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
void free_until(Qp& qp, std::uint16_t index, const SendSlot& slot) noexcept {
  qp.completed += static_cast<std::uint16_t>(index + slot.blocks - qp.completed);
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
  free_until(qp, index, slot);
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

}  // namespace

namespace {

/// The last word of a SendSlot.
struct SlotEnd {
  std::uint64_t word;

  explicit SlotEnd(const SendSlot& slot) noexcept { std::memcpy(&word, &slot.length, sizeof word); }
  std::uint32_t length() const noexcept { return static_cast<std::uint32_t>(word); }
  std::uint8_t kind() const noexcept { return static_cast<std::uint8_t>(word >> 32); }
  std::uint16_t blocks() const noexcept { return static_cast<std::uint16_t>(word >> 48); }
  /// A request whose completion is told, and whose original value is a number in host order.
  bool usual() const noexcept {
    constexpr std::uint64_t decides = 0xff80ull << 32;
    return (word & decides) == std::uint64_t{static_cast<std::uint8_t>(Original::host8)} << 40;
  }
};
static_assert(offsetof(SendSlot, length) == 16 && offsetof(SendSlot, original) == 21);

/// Whatever is not usual(). @return whether it is told
[[gnu::noinline]] bool take_unusual(const SendSlot& slot, std::uint64_t& original) noexcept {
  if (slot.kind & silent) return false;
  if (slot.original != Original::none) original = take_original(slot);
  return true;
}

[[gnu::always_inline]] inline std::uint16_t poll_burst(Worker& worker, Completion* completions,
                                                       std::uint16_t count) noexcept {
  const std::uint32_t mask = worker.mask();
  const unsigned log_size = worker.log_size;
  const prm::Cqe* const cqes = worker.cqes;
  const std::uint32_t began = worker.consumer;
  std::uint32_t consumer = began;
  std::uint32_t last_qpn = worker.qpn_last;
  Qp* qp = worker.last;
  std::uint16_t told = 0;
  while (told < count) {
    const prm::Cqe& cqe = cqes[consumer & mask];
    const std::uint8_t op_own = load(cqe);
    if (!is_ours(op_own, parity(consumer, log_size))) break;
    ++consumer;
    const std::uint32_t qpn = cqe.sop_drop_qpn & 0xffffff;
    if (unlikely(qpn != last_qpn)) {
      Qp* const found = find(worker, qpn);
      if (unlikely(found == nullptr)) continue;
      worker.qpn_last = last_qpn = qpn;
      worker.last = qp = found;
    }
    Completion& out = completions[told];
    if (unlikely(op_own >> opcode_shift != static_cast<unsigned>(prm::cqe_opcode::requester))) {
      out.qpn = qpn;
      out.reserved = 0;
      told = static_cast<std::uint16_t>(told + take_other(*qp, cqe, prm::cqe_opcode_of(op_own), out));
      continue;
    }
    const std::uint16_t index = cqe.wqe_counter;
    const SendSlot& slot = qp->slots[index & qp->mask];
    const SlotEnd end(slot);
    qp->completed += static_cast<std::uint16_t>(index + end.blocks() - qp->completed);
    std::uint64_t original = 0;
    if (likely(end.usual())) {
      std::memcpy(&original, reinterpret_cast<const void*>(slot.local), sizeof original);
    } else if (!take_unusual(slot, original)) {
      continue;
    }
    out.cookie = slot.cookie;
    out.original = original;
    const std::uint64_t length_imm = end.length();
    const std::uint64_t qpn_kind = std::uint64_t{end.kind()} << 32 | qpn;  // status and syndromes 0
    std::memcpy(&out.length, &length_imm, sizeof length_imm);
    std::memcpy(&out.qpn, &qpn_kind, sizeof qpn_kind);
    ++told;
  }
  if (consumer != began) {
    worker.consumer = consumer;
    __atomic_store_n(&worker.record[0], prm::host_to_be(consumer & 0xffffff), __ATOMIC_RELEASE);
  }
  return told;
}
static_assert(offsetof(Completion, imm) == 20 && offsetof(Completion, qpn) == 24);

[[gnu::noinline]] std::uint16_t poll_locked(Worker& worker, Completion* completions,
                                            std::uint16_t count) noexcept {
  const MaybeLocked locked(worker.lock, true);
  return poll_burst(worker, completions, count);
}

}  // namespace

std::uint16_t poll(Worker& worker, Completion* completions, std::uint16_t count) noexcept {
  if (unlikely(worker.locked)) return poll_locked(worker, completions, count);
  return poll_burst(worker, completions, count);
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
