// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "model/packet/roce.h"
#include "model/roce/qp_completions.h"
#include "model/roce/shared.h"

namespace chime::model {

/// The responder side of queue pairs. A request is executed when its packet comes; what it is answered with
/// is kept, and sent at the next step (serve()), so that one acknowledgement stands for a burst.
///
///     receive() -> sequence -> send, write -> memory, receive CQE -> acknowledgement due
///                           -> read        -> PendingResponse          (memory is read when it is sent)
///                           -> atomic      -> memory, ResponderResource -> PendingResponse
///
/// A read or atomic that comes again is answered again from its ResponderResource: an atomic is executed
/// once.
class Responder {
 public:
  Responder(RoceShared& shared, QpCompletions& completions) noexcept
      : shared_(shared), completions_(completions) {}

  /// A request's packet.
  /// @param payload behind its headers, in one piece
  /// @param l3      UD: the network header as a receive request gets it, 40 bytes
  void receive(Qp& qp, const net::RocePacket& packet, const std::byte* payload, const std::byte* l3,
               std::uint32_t network_header) noexcept;

  /// Sends what is due. @return packets sent
  unsigned serve(Qp& qp) noexcept;

 private:
  static constexpr unsigned budget = 64;
  static constexpr std::uint32_t grh = 40;  ///< bytes before a datagram

  // responder.cpp
  bool find_shared(Qp& qp, const net::RocePacket& packet) noexcept;
  bool in_sequence(Qp& qp, const net::RocePacket& packet) noexcept;
  void duplicate(Qp& qp, const net::RocePacket& packet) noexcept;
  bool well_formed(Qp& qp, const net::RocePacket& packet) noexcept;
  void accept(Qp& qp, std::uint32_t packets, bool acknowledge) noexcept;
  void not_ready(Qp& qp) noexcept;
  void refuse(Qp& qp, net::Nak nak, Fault fault, std::uint64_t detail) noexcept;
  void refuse_key(Qp& qp, const DataOutcome& outcome, const net::RocePacket& packet) noexcept;
  void nak(Qp& qp, std::uint8_t syndrome) noexcept;

  // execute.cpp
  void send(Qp& qp, const net::RocePacket& packet, const std::byte* payload) noexcept;
  void datagram(Qp& qp, const net::RocePacket& packet, const std::byte* payload, const std::byte* l3,
                std::uint32_t network_header) noexcept;
  void write(Qp& qp, const net::RocePacket& packet, const std::byte* payload) noexcept;
  void read(Qp& qp, const net::RocePacket& packet) noexcept;
  void atomic(Qp& qp, const net::RocePacket& packet, const std::byte* payload) noexcept;
  bool invalidate(Qp& qp, const net::RocePacket& packet) noexcept;
  const Pd* receive_pd(const Qp& qp) const noexcept;
  bool read_shared_wqe(Srq& srq, std::uint16_t index, DataSegments& list) noexcept;
  bool read_receive_wqe(Qp& qp, DataSegments& list) noexcept;
  void receive_fault(Qp& qp, const DataOutcome& outcome) noexcept;
  ResponderResource* new_resource(Qp& qp, const net::RocePacket& packet, std::uint32_t packets) noexcept;
  bool remember(Qp& qp, const PendingResponse& response) noexcept;

  // respond.cpp
  unsigned send_read(Qp& qp, PendingResponse& response, unsigned most) noexcept;
  void send_atomic(Qp& qp, const PendingResponse& response) noexcept;
  void send_acknowledgement(Qp& qp) noexcept;

  RoceShared& shared_;
  QpCompletions& completions_;
  alignas(64) std::array<std::byte, 2048> receive_wqe_;  ///< the longest stride
};

}  // namespace chime::model
