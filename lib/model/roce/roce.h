// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "model/roce/qp_completions.h"
#include "model/roce/requester.h"
#include "model/roce/responder.h"
#include "model/roce/shared.h"

namespace chime::model {

/// Queue pairs: doorbells in, packets out and in. What comes is executed at once, what is to be sent waits
/// for run(): so a wire may deliver while it is given frames.
class Roce {
 public:
  Roce(Hca::Card& card, Events& events, Completions& completions, Keys& keys, Port& port,
       Egress& egress) noexcept
      : shared_(card, events, completions, keys, port, egress),
        completions_(shared_),
        requester_(shared_, completions_),
        responder_(shared_, completions_) {}

  /// A store to the BlueFlame register that names a QP.
  void ring(Uar& uar, Qp& qp, std::uint16_t index, std::uint32_t ds) noexcept;
  /// Takes what is posted from the QP's record.
  void replay(Qp& qp) noexcept;
  /// Timers, and a share of what each QP has to send. @return units of work done
  unsigned run() noexcept;

  /// A received frame, before the port's steering sees it. Completions and Keys have begun their burst.
  /// @param own it was sent by this card, and did not leave it
  /// @return whether it was for a QP or a RoCE address of this card; it is dealt with then
  bool take(const std::byte* front, const net::Headers& headers, const Frame& frame, bool own) noexcept;

  // Commands; see Engine.
  Result<> prepare(Qp& qp, QpState to, const QpAttributes& next) noexcept;
  void state_changed(Qp& qp, QpState from) noexcept;
  void forget(Qp& qp) noexcept;

 private:
  static constexpr std::uint32_t largest_packet = 8192;

  // doorbell.cpp
  void post(Qp& qp, std::uint16_t posted) noexcept;

  // roce.cpp
  unsigned serve(Qp& qp) noexcept;

  // arrival.cpp
  enum class Address : std::uint8_t { other, own, wrong };
  Address address_of(const Qp* qp, const std::byte* front, const net::Headers& headers) noexcept;
  void dispatch(Qp& qp, const net::RocePacket& packet, const std::byte* frame,
                const net::Headers& headers) noexcept;
  void drop(Fault fault, std::uint32_t number, std::uint64_t detail) noexcept;

  // states.cpp
  void reset(Qp& qp) noexcept;

  RoceShared shared_;
  QpCompletions completions_;
  Requester requester_;
  Responder responder_;
  std::uint64_t dropped_ = 0;
  std::array<std::byte, largest_packet> packet_;  ///< one that came in several pieces
};

}  // namespace chime::model
