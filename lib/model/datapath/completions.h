// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "model/card.h"
#include "model/datapath/events.h"
#include "model/datapath/faults.h"
#include "prm/cqe.h"

namespace chime::model {

/// Completion queues: writes CQEs, keeps to the consumer's pace, tells when software asked to be told.
class Completions {
 public:
  Completions(Hca::Card& card, Events& events) noexcept;

  /// Takes the time for the CQEs of one burst.
  void begin_burst() noexcept;
  /// The burst's time, nanoseconds of the clock.
  std::uint64_t now() const noexcept { return now_; }
  /// The burst's time, as a CQE of the queue has it.
  std::uint64_t timestamp(TimestampFormat format) const noexcept;

  /// The place of the next CQE, which the caller fills in but for its last 8 bytes; nullptr when the CQ is in
  /// error: the work queue that reports to it goes to error too.
  prm::Cqe* open(Cq& cq) noexcept {
    if (cq.state != Cq::State::ok || !has_room(cq)) [[unlikely]]
      return nullptr;
    return reinterpret_cast<prm::Cqe*>(place(cq));
  }
  /// Gives the CQE of open() to software: writes its last 8 bytes.
  /// @param format of data in the CQE: 0, prm::cqe_inline_32, _64 or cqe_compressed
  /// @param slots that the CQE takes; more than 1 for a compressed block
  void close(Cq& cq, prm::Cqe* at, std::uint32_t sop_drop_qpn, std::uint16_t wqe_counter,
             prm::cqe_opcode opcode, bool solicited = false, std::uint8_t format = 0,
             std::uint32_t slots = 1) noexcept {
    const std::uint64_t last = std::uint64_t{sop_drop_qpn} << 32 | std::uint64_t{wqe_counter} << 16 | format |
                               prm::cqe_op_own(opcode, cq.ring.owner(cq.producer));
    __atomic_store_n(reinterpret_cast<std::uint64_t*>(&at->sop_drop_qpn), prm::host_to_be(last),
                     __ATOMIC_RELEASE);
    cq.producer += slots;
    if (solicited) cq.solicited = cq.producer;
    if (cq.arm == Cq::Arm::any || (solicited && cq.arm == Cq::Arm::solicited)) event_due(cq);
  }
  /// Slot `i` behind the one of open(); nullptr as there.
  prm::Cqe* slot(Cq& cq, std::uint32_t i) noexcept {
    std::byte* at = cq.ring.at(cq.producer + i);
    return reinterpret_cast<prm::Cqe*>(at ? at : memory_gone(cq));
  }
  /// Whether `count` CQEs have room.
  bool has_room(Cq& cq, std::uint32_t count) noexcept {
    const auto fit = [&] { return ((cq.producer + count - cq.consumer) & index_mask) <= cq.ring.size(); };
    if (cq.overrun_ignore || fit()) return true;
    read_consumer(cq);
    return fit();
  }
  /// An error CQE, always solicited.
  /// @param opcode requester_error or responder_error
  bool write_error(Cq& cq, prm::cqe_opcode opcode, Fault fault, std::uint32_t wqe_opcode_qpn,
                   std::uint16_t wqe_counter, std::uint32_t user_index) noexcept;

  /// A store to the CQ doorbell.
  void ring(Uar& uar, std::uint64_t value) noexcept;
  /// Takes the arm from the CQ's record, as if its doorbell had been rung.
  void replay(Cq& cq) noexcept;
  /// Goes on in another ring. The last CQE in the old one says so; software copies what it has not consumed.
  /// @return false, and nothing changed, when the old ring has no room for it
  bool resize(Cq& cq, Ring next) noexcept;
  /// Moderation's parameters may have changed.
  void changed(Cq& cq) noexcept;
  void forget(Cq& cq) noexcept;
  /// Raises the events whose time has come. @return events raised
  unsigned run() noexcept;

 private:
  static constexpr std::uint32_t index_mask = 0xffffff;  ///< consumer indices have 24 bits

  bool has_room(Cq& cq) noexcept {
    return ((cq.producer - cq.consumer) & index_mask) < cq.ring.size() || make_room(cq);
  }
  bool make_room(Cq& cq) noexcept;
  std::byte* place(Cq& cq) noexcept {
    std::byte* at = cq.ring.at(cq.collapsed ? 0 : cq.producer);
    if (!at) [[unlikely]]
      return memory_gone(cq);
    return cq.ring.log_stride > 6 ? at + prm::cqe_size : at;
  }
  std::byte* memory_gone(Cq& cq) noexcept;

  void read_consumer(Cq& cq) noexcept;
  void fail(Cq& cq, Cq::State state, std::uint32_t syndrome) noexcept;
  void arm(Cq& cq, std::uint32_t word) noexcept;
  void event_due(Cq& cq) noexcept;
  void fire(Cq& cq) noexcept;
  void unlink(Cq& cq) noexcept;

  Hca::Card& card_;
  Events& events_;
  std::uint64_t now_ = 0;      ///< nanoseconds
  std::uint64_t counter_ = 0;  ///< the same, of the free-running counter
  std::uint32_t khz_;
  Cq* pending_ = nullptr;
};

}  // namespace chime::model
