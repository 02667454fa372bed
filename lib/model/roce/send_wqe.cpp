// SPDX-License-Identifier: BSD-3-Clause
#include "model/roce/send_wqe.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace chime::model {
namespace {

constexpr auto unit = static_cast<std::uint32_t>(prm::wqe_unit);
constexpr std::uint32_t longest_message = 0x80000000;

constexpr std::uint8_t opmod_extended = 0x8, opmod_size = 0x7, opmod_by_pointer = 0x7;

std::uint32_t blocks_of(std::uint32_t ds) noexcept {
  constexpr auto units = static_cast<std::uint32_t>(prm::wqebb_size / prm::wqe_unit);
  return std::max(1u, (ds + units - 1) / units);
}

/// Takes segments from the front of a request.
class Cursor {
 public:
  Cursor(const std::byte* begin, std::uint32_t units) noexcept : at_(begin), left_(units) {}
  const std::byte* take(std::uint32_t units) noexcept {
    if (units > left_) return nullptr;
    left_ -= units;
    return std::exchange(at_, at_ + std::size_t{units} * unit);
  }
  DataSegments rest() const noexcept { return {at_, left_, false}; }

 private:
  const std::byte* at_;
  std::uint32_t left_;
};

DataOutcome read_operands(const Hca::Card& card, SendWqe& wqe, std::uint8_t opmod, Cursor& cursor) noexcept {
  const bool masked =
      wqe.opcode == prm::wqe_opcode::atomic_masked_cs || wqe.opcode == prm::wqe_opcode::atomic_masked_fa;
  const bool swap =
      wqe.opcode == prm::wqe_opcode::atomic_cs || wqe.opcode == prm::wqe_opcode::atomic_masked_cs;
  wqe.atomic_kind = masked ? (swap ? AtomicKind::masked_compare_swap : AtomicKind::masked_fetch_add)
                           : (swap ? AtomicKind::compare_swap : AtomicKind::fetch_add);
  if (!masked) {
    if (opmod != 0) return {Fault::atomic_size, opmod};
    wqe.atomic_size = 8;
  } else if ((opmod & ~opmod_size) != opmod_extended) {
    return {Fault::atomic_size, opmod};
  } else if ((opmod & opmod_size) == opmod_by_pointer) {
    const std::byte* pointer = cursor.take(1);
    if (!pointer) return {Fault::atomic_operands, 0};
    wqe.operand_pointer = {pointer, 1, false};
    const std::uint32_t bytes = reinterpret_cast<const prm::WqeData*>(pointer)->byte_count;
    wqe.atomic_size = bytes / operand_count(wqe.atomic_kind);
    if (wqe.atomic_size < 4 || wqe.atomic_size > largest_atomic || !std::has_single_bit(wqe.atomic_size) ||
        bytes % operand_count(wqe.atomic_kind) != 0) {
      return {Fault::atomic_operands, bytes};
    }
  } else {
    wqe.atomic_size = 4u << (opmod & opmod_size);
  }
  if (!offers_atomic(card, wqe.atomic_kind, wqe.atomic_size)) return {Fault::atomic_size, wqe.atomic_size};
  if (wqe.operand_pointer.units == 0) {
    wqe.operands = cursor.take(operand_bytes(wqe.atomic_kind, wqe.atomic_size) / unit);
    if (!wqe.operands) return {Fault::atomic_operands, wqe.atomic_size};
  }
  return {};
}

DataOutcome read_data(const Qp& qp, SendWqe& wqe, const Cursor& cursor) noexcept {
  wqe.data = cursor.rest();
  std::uint64_t bytes = 0;
  if (const DataOutcome outcome = measure(wqe.data, bytes); outcome.fault != Fault::none) return outcome;
  if (wqe.atomic) {
    if (bytes < wqe.atomic_size) return {Fault::atomic_result_room, static_cast<std::uint32_t>(bytes)};
    wqe.length = wqe.atomic_size;
    return {};
  }
  const std::uint64_t most = is_datagram(qp.service) ? qp.attributes.mtu()
                             : qp.attributes.log_max_message != 0
                                 ? std::uint64_t{1} << qp.attributes.log_max_message
                                 : longest_message;
  if (bytes > std::min<std::uint64_t>(most, longest_message)) {
    return {Fault::qp_message_length,
            static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, ~std::uint32_t{0}))};
  }
  wqe.length = static_cast<std::uint32_t>(bytes);
  return {};
}

/// The segments behind the control segment.
DataOutcome read_segments(const Hca::Card& card, const Qp& qp, SendWqe& wqe, std::uint8_t opmod,
                          Cursor cursor) noexcept {
  using prm::wqe_opcode;
  bool remote = false;
  switch (wqe.opcode) {
    case wqe_opcode::nop:
      return {};
    case wqe_opcode::umr:
      if (is_datagram(qp.service)) return {Fault::qp_operation, static_cast<std::uint32_t>(wqe.opcode)};
      return {};
    case wqe_opcode::send_inval:
      if (!is_reliable(qp.service)) return {Fault::qp_operation, static_cast<std::uint32_t>(wqe.opcode)};
      break;
    case wqe_opcode::send:
    case wqe_opcode::send_imm:
      break;
    case wqe_opcode::rdma_write:
    case wqe_opcode::rdma_write_imm:
      if (is_datagram(qp.service)) return {Fault::qp_operation, static_cast<std::uint32_t>(wqe.opcode)};
      remote = true;
      break;
    case wqe_opcode::atomic_cs:
    case wqe_opcode::atomic_fa:
    case wqe_opcode::atomic_masked_cs:
    case wqe_opcode::atomic_masked_fa:
      wqe.atomic = true;
      [[fallthrough]];
    case wqe_opcode::rdma_read:
      if (!is_reliable(qp.service)) return {Fault::qp_operation, static_cast<std::uint32_t>(wqe.opcode)};
      wqe.responds = true;
      remote = true;
      break;
    default:
      return {Fault::wqe_opcode, static_cast<std::uint32_t>(wqe.opcode)};
  }
  if (qp.service == QpService::umr) return {Fault::qp_operation, static_cast<std::uint32_t>(wqe.opcode)};
  if (qp.service == QpService::xrc) {
    const std::byte* const segment = cursor.take(1);
    if (!segment) return {Fault::wqe_size, 0};
    wqe.srqn = *reinterpret_cast<const prm::Be32*>(segment) & net::psn_mask;
  }
  if (is_datagram(qp.service)) {
    wqe.vector = reinterpret_cast<const WqeAddressVector*>(cursor.take(sizeof(WqeAddressVector) / unit));
    if (!wqe.vector) return {Fault::wqe_size, 0};
  }
  if (remote) {
    const auto* raddr = reinterpret_cast<const prm::WqeRaddr*>(cursor.take(1));
    if (!raddr) return {Fault::wqe_size, 0};
    wqe.address = raddr->address;
    wqe.rkey = raddr->rkey;
  }
  if (wqe.atomic) {
    if (const DataOutcome outcome = read_operands(card, wqe, opmod, cursor); outcome.fault != Fault::none) {
      return outcome;
    }
  }
  return read_data(qp, wqe, cursor);
}

}  // namespace

DataOutcome read_send_wqe(Hca::Card& card, Qp& qp, std::uint16_t index, SendWqe& wqe) noexcept {
  wqe.opcode = prm::wqe_opcode::nop;
  wqe.mode = 0;
  wqe.blocks = 1;
  wqe.responds = wqe.atomic = false;
  wqe.operands = nullptr;
  wqe.operand_pointer = {};
  wqe.vector = nullptr;
  wqe.length = 0;

  const std::byte* block = qp.send.at(index);
  if (!block) return {Fault::wqe_memory, index};
  std::memcpy(wqe.bytes.data(), block, prm::wqebb_size);
  const auto& ctrl = *reinterpret_cast<const prm::WqeCtrl*>(wqe.bytes.data());
  const std::uint32_t word = ctrl.opmod_idx_opcode;
  const std::uint32_t qpn = ctrl.qpn_ds >> 8;
  const std::uint32_t ds = ctrl.qpn_ds & prm::max_ds;
  wqe.opcode = static_cast<prm::wqe_opcode>(word & 0xff);
  wqe.mode = ctrl.fm_ce_se;
  wqe.immediate = ctrl.imm;
  const std::uint32_t blocks = blocks_of(ds);
  const std::uint32_t posted = static_cast<std::uint16_t>(qp.transport.requester.posted - index);
  wqe.blocks = static_cast<std::uint8_t>(std::clamp(posted, 1u, blocks));
  wqe.units = static_cast<std::uint8_t>(ds);
  if ((word >> 8 & 0xffff) != index) return {Fault::wqe_index, word >> 8 & 0xffff};
  if (qpn != qp.number) return {Fault::wqe_queue_number, qpn};
  if (ds == 0) return {Fault::wqe_size, ds};
  if (blocks > posted) return {Fault::wqe_beyond_posted, ds};
  for (std::uint32_t i = 1; i < blocks; ++i) {
    block = qp.send.at(index + i);
    if (!block) return {Fault::wqe_memory, index};
    std::memcpy(wqe.bytes.data() + i * prm::wqebb_size, block, prm::wqebb_size);
  }
  constexpr std::uint32_t control = sizeof(prm::WqeCtrl) / unit;
  return read_segments(card, qp, wqe, static_cast<std::uint8_t>(word >> 24),
                       Cursor(wqe.bytes.data() + sizeof(prm::WqeCtrl), ds - control));
}

bool atomic_mode_1(const Hca::Card& card) noexcept {
  using A = prm::atomic_caps;
  const auto caps = card.capabilities.view<A>(static_cast<unsigned>(prm::hca_cap_type::atomic));
  return caps.get(A::atomic_req_8B_endianness_mode) == 1;
}

bool offers_atomic(const Hca::Card& card, AtomicKind kind, std::uint32_t size) noexcept {
  using A = prm::atomic_caps;
  const auto caps = card.capabilities.view<A>(static_cast<unsigned>(prm::hca_cap_type::atomic));
  const auto operations = static_cast<std::uint32_t>(caps.get(A::atomic_operations));
  const auto sizes = static_cast<std::uint32_t>(caps.get(A::atomic_size_qp));
  return (operations >> static_cast<unsigned>(kind) & 1) != 0 && (sizes & size) != 0;
}

}  // namespace chime::model
