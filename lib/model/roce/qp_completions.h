// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "model/roce/shared.h"

namespace chime::model {

/// CQEs of queue pairs, good and bad; and what an error does to a QP.
class QpCompletions {
 public:
  explicit QpCompletions(RoceShared& shared) noexcept : shared_(shared) {}

  /// The entry at the window's head is done: its CQE, if it asked for one.
  /// @param scattered what a response brought for the CQE rather than for memory ("cs_req"), or empty
  void send_done(Qp& qp, const SendEntry& entry, std::span<const std::byte> scattered = {}) noexcept;
  /// Where a receive's data go to the CQE rather than to memory: whether `length` bytes would.
  static bool scatters_receive(const Qp& qp, std::uint32_t length) noexcept;
  static bool scatters_response(const Qp& qp, const SendEntry& entry) noexcept;

  struct Received {
    prm::cqe_opcode opcode;
    std::uint32_t length;
    std::uint32_t immediate;
    std::uint32_t source_qpn;
    bool solicited;
    std::uint32_t network_header;  ///< UD: of flags_rqpn, says what precedes the data
  };
  /// The receive request that is next in turn was filled.
  void receive_done(Qp& qp, const Received& received, std::span<const std::byte> scattered = {}) noexcept;

  /// The entry at the window's head failed: its error CQE; the QP goes to error (UC, UD: its send queue), and
  /// what else is posted is flushed.
  void send_failed(Qp& qp, Fault fault, std::uint32_t detail) noexcept;
  /// The receive request in turn failed; the QP goes to error.
  void receive_failed(Qp& qp, Fault fault, std::uint32_t detail) noexcept;
  /// The QP goes to error for what the other end did, with an event.
  void refused(Qp& qp, prm::event_type event) noexcept;
  void go_to_error(Qp& qp) noexcept;
  /// Completes with an error whatever is posted to a QP in error; again after every doorbell.
  void flush(Qp& qp) noexcept;

  void event(const Qp& qp, prm::event_type type) noexcept;
  void event(prm::event_type type, std::uint32_t number) noexcept;

  /// Reads how many receive requests are posted. @return whether there is one that is not consumed; of a
  /// shared receive queue (RoceShared::srq) it is taken for the QP
  bool has_receive(Qp& qp) noexcept;

 private:
  void flush_send(Qp& qp) noexcept;
  void flush_receive(Qp& qp) noexcept;
  void send_error(Qp& qp, std::uint16_t index, std::uint32_t opcode, Fault fault) noexcept;
  void receive_error(Qp& qp, Srq* srq, Fault fault) noexcept;
  bool has_own_receive(Qp& qp) noexcept;
  bool take_shared(Qp& qp, Srq& srq) noexcept;
  void read_shared_record(Srq& srq) noexcept;
  static std::uint16_t take_index(Qp& qp, const Srq* srq) noexcept;
  std::uint8_t put_inline(const Cq& cq, prm::Cqe* cqe, std::span<const std::byte> data) noexcept;

  RoceShared& shared_;
};

}  // namespace chime::model
