// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "prm/doorbell.h"
#include "rdma/keys.h"
#include "rdma/polling.h"
#include "rdma/post.h"

/// @file
/// Rings without a card: a test looks at what was posted, and writes completions by hand.

namespace chime::rdma::test {

inline std::string hex(std::span<const std::byte> bytes) {
  static const char digits[] = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i != 0 && i % 16 == 0) text += '\n';
    text += digits[std::to_integer<unsigned>(bytes[i]) >> 4];
    text += digits[std::to_integer<unsigned>(bytes[i]) & 15];
  }
  return text;
}

struct alignas(64) Line {
  std::byte bytes[64];
};

/// One queue pair on a worker of its own.
class Ring {
 public:
  static constexpr std::uint32_t qpn = 0x800123;

  explicit Ring(std::uint32_t blocks = 16, std::uint8_t flags = qp_plain_atomics | qp_host_replies,
                unsigned log_cq = 6)
      : wqes(blocks),
        slots(blocks),
        results(blocks),
        receive_wqes(8),
        receives(8),
        cqes(1u << log_cq),
        table(16) {
    worker.doorbell = {.base = reinterpret_cast<std::byte*>(&uar), .position = 0, .step = 0, .mask = 0};
    rte_spinlock_init(&worker.lock);
    for (auto& sizes : worker.atomics.sizes) sizes = 0x1fc;
    worker.record = &cq_record.consumer.raw;
    start_polling(worker, reinterpret_cast<prm::Cqe*>(cqes.data()), 1u << log_cq);
    worker.table = table.data();
    worker.table_mask = 15;
    worker.keys = &keys;
    for (Line& line : cqes)
      reinterpret_cast<prm::Cqe&>(line).op_own = prm::cqe_op_own(prm::cqe_opcode::invalid, prm::cqe_owner);
    qp.wqes = reinterpret_cast<std::byte*>(wqes.data());
    qp.slots = slots.data();
    qp.send_record = &record.send.raw;
    qp.worker = &worker;
    qp.qpn_shifted = qpn << 8;
    qp.mask = blocks - 1;
    qp.results = results.data();
    qp.result_key = prm::host_to_be(std::uint64_t{8} << 32 | 0x7777);
    qp.limit = blocks;
    qp.flags = flags;
    prepare_posting(qp);
    qp.most_inline = 512;
    qp.max_ds = prm::max_ds;
    qp.receive_wqes = receive_wqes.data();
    qp.receives = receives.data();
    qp.receive_record = &record.receive.raw;
    qp.receive_mask = 7;
    qp.receive_size = 8;
    table[qpn & 15] = &qp;
  }

  bool post(const Operation& operation) { return rdma::post(qp, &operation, 1) == 1; }

  /// Basic blocks that are not free again.
  std::uint32_t outstanding() const { return qp.mask + 1 - (qp.limit - qp.produced); }

  /// `count` bytes of the ring from a basic block on, over its end.
  std::vector<std::byte> posted(std::uint32_t block, std::size_t count) const {
    std::vector<std::byte> bytes(count);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t at = (std::size_t{block} * 64 + i) % (wqes.size() * 64);
      bytes[i] = wqes[at / 64].bytes[at % 64];
    }
    return bytes;
  }

  prm::Cqe& cqe(std::uint32_t n) { return reinterpret_cast<prm::Cqe&>(cqes[n & worker.mask]); }
  std::uint8_t owner(std::uint32_t n) const {
    return static_cast<std::uint8_t>((n & (worker.mask + 1)) != 0);
  }

  /// The request from basic block `index` on is done.
  void complete(std::uint16_t index, std::uint32_t number = qpn) {
    prm::Cqe& entry = cqe(written);
    entry.sop_drop_qpn = 0x12u << 24 | number;
    entry.wqe_counter = index;
    entry.op_own = prm::cqe_op_own(prm::cqe_opcode::requester, owner(written));
    ++written;
  }
  void fail(std::uint16_t index, std::uint8_t syndrome, std::uint8_t vendor = 0x99,
            prm::cqe_opcode opcode = prm::cqe_opcode::requester_error) {
    auto& entry = reinterpret_cast<prm::ErrorCqe&>(cqe(written));
    entry.s_wqe_opcode_qpn = 0x12u << 24 | qpn;
    entry.wqe_counter = index;
    entry.syndrome = syndrome;
    entry.vendor_err_synd = vendor;
    entry.op_own = prm::cqe_op_own(opcode, owner(written));
    ++written;
  }
  std::vector<Completion> poll(std::uint16_t count = 64) {
    std::vector<Completion> completions(count);
    completions.resize(rdma::poll(worker, completions.data(), count));
    return completions;
  }

  std::uint64_t uar = 0;
  prm::WqRecord record{};
  prm::CqRecord cq_record{};
  KeyBook keys;
  std::vector<Line> wqes;
  std::vector<SendSlot> slots;
  std::vector<std::uint64_t> results;
  std::vector<prm::WqeData> receive_wqes;
  std::vector<Receive> receives;
  std::vector<Line> cqes;
  std::vector<Qp*> table;
  Worker worker{};
  Qp qp{};
  std::uint32_t written = 0;
};

/// An atomic on 0x123456789abc0 with room for the original value.
inline Operation atomic(Opcode opcode, std::uint32_t bytes) {
  Operation operation{};
  operation.cookie = 0xc0ffee;
  operation.opcode = opcode;
  operation.flags = signaled;
  operation.length = bytes;
  operation.local = 0x7f0011223344;
  operation.lkey = 0xaabbccdd;
  operation.rkey = 0x11223344;
  operation.remote = 0x0000123456789a00;
  return operation;
}

}  // namespace chime::rdma::test
