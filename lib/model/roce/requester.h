// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/datapath/umr.h"
#include "model/packet/roce.h"
#include "model/roce/qp_completions.h"
#include "model/roce/shared.h"

namespace chime::model {

/// The requester side of queue pairs: from posted requests to packets, and from what comes back to
/// completions.
///
///     doorbell -> serve() -> begin(): WQE -> SendEntry, PSNs -> transmit() -> wire
///                    ^                                            |
///         wake       |                                            v
///     receive() <- acknowledgements, responses                 other end
///     timeout() <- timers
///
/// Lost packets are sent again from the first that is missing on (go back N).
class Requester {
 public:
  Requester(RoceShared& shared, QpCompletions& completions) noexcept
      : shared_(shared), completions_(completions) {}

  /// Sends a share of what is posted. @return packets sent; 0 when it has to wait or there is nothing
  unsigned serve(Qp& qp) noexcept;
  /// A packet that answers: acknowledgement or response. @param payload behind the headers
  void receive(Qp& qp, const net::RocePacket& packet, const std::byte* payload) noexcept;
  /// QpRequester::deadline has come.
  void timeout(Qp& qp) noexcept;

 private:
  static constexpr unsigned budget = 64;  ///< packets of one QP before it is the next one's turn
  static constexpr std::uint32_t most_in_flight = 256;  ///< packets that are not acknowledged
  static constexpr std::uint32_t ack_every = 32;        ///< packets in a long message

  static SendEntry& entry(QpRequester& r, std::uint32_t i) noexcept {
    return r.window[i & (r.window.size() - 1)];
  }

  // requester.cpp
  bool begin(Qp& qp) noexcept;
  DataOutcome change_key(Qp& qp, const SendWqe& wqe) noexcept;
  bool must_wait(const Qp& qp, const SendWqe& wqe) const noexcept;
  unsigned transmit(Qp& qp, unsigned most) noexcept;
  bool send_packet(Qp& qp, const SendEntry& entry, std::uint32_t number) noexcept;
  bool send_atomic(Qp& qp, const SendEntry& entry) noexcept;
  void note_order(Qp& qp, const SendWqe& wqe) noexcept;

  // acknowledge.cpp
  void acknowledged(Qp& qp, const net::RocePacket& packet) noexcept;
  void read_response(Qp& qp, const net::RocePacket& packet, const std::byte* payload) noexcept;
  void atomic_response(Qp& qp, const net::RocePacket& packet, const std::byte* payload) noexcept;
  void response_missing(Qp& qp) noexcept;
  void not_ready(Qp& qp, std::uint8_t timer) noexcept;
  void refused(Qp& qp, const net::RocePacket& packet) noexcept;
  bool settle(Qp& qp, std::uint32_t psn, bool& missing) noexcept;
  void retire(Qp& qp) noexcept;
  void progress(Qp& qp) noexcept;
  void go_back(Qp& qp) noexcept;
  void retry(Qp& qp) noexcept;
  void restart_timer(Qp& qp) noexcept;

  RoceShared& shared_;
  QpCompletions& completions_;
  bool fresh_ = false;  ///< RoceShared::wqe is the request of the entry at the cursor
};

}  // namespace chime::model
