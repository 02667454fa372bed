// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "model/card.h"
#include "model/datapath/completions.h"
#include "model/datapath/egress.h"
#include "model/datapath/keys.h"
#include "model/datapath/port.h"
#include "model/datapath/send_batch.h"
#include "model/datapath/send_request.h"
#include "model/datapath/umr.h"

namespace chime::model {

/// Send queues: what a doorbell starts.
class Transmit {
 public:
  Transmit(Hca::Card& card, Events& events, Completions& completions, Keys& keys, Port& port, Egress& egress,
           SendBatch& batch) noexcept
      : card_(card),
        events_(events),
        completions_(completions),
        keys_(keys),
        port_(port),
        egress_(egress),
        batch_(batch),
        request_(keys, card.port.vxlan_ports, batch) {}

  /// A store to the BlueFlame register: the first 8 bytes of a control segment.
  void ring(Uar& uar, std::uint64_t value) noexcept;
  /// Takes what is posted from the queue's record.
  void replay(Sq& sq) noexcept;
  /// Executes a share of what each rung queue has posted. @return requests executed
  unsigned run() noexcept;

  void state_changed(Sq& sq, QueueState from) noexcept;
  void forget(Sq& sq) noexcept;

 private:
  /// Requests of one queue before it is the next one's turn.
  static constexpr unsigned budget = 2 * SendBatch::max_frames;

  void post(Sq& sq, std::uint16_t posted) noexcept;

  unsigned serve(Sq& sq) noexcept;
  /// One request, which begins at block `sq.fetched`.
  SendOutcome execute(Sq& sq, std::byte* ring) noexcept;
  SendOutcome send(Sq& sq, const std::byte* wqe, std::uint32_t ds) noexcept;
  SendOutcome large_send(Sq& sq, std::byte* ring, const std::byte* wqe, std::uint32_t ds) noexcept;
  /// @param equal of the first form: all packets have one length
  SendOutcome multi_packet_send(Sq& sq, std::byte* ring, const std::byte* wqe, std::uint32_t ds,
                                bool equal) noexcept;
  SendOutcome change_key(Sq& sq, std::byte* ring, const std::byte* wqe, std::uint32_t ds) noexcept;
  /// False, and the last frame of the batch dropped, when it is longer than the port's MTU.
  bool short_enough(Sq& sq) noexcept;
  const std::byte* in_one_piece(Sq& sq, std::byte* ring, const std::byte* first,
                                std::uint32_t blocks) noexcept;
  void complete_batch(Sq& sq) noexcept;
  void fail(Sq& sq, const SendOutcome& outcome) noexcept;
  void flush(Sq& sq) noexcept;

  void append(Sq& sq) noexcept;
  void remove(Sq& sq) noexcept;

  Hca::Card& card_;
  Events& events_;
  Completions& completions_;
  Keys& keys_;
  Port& port_;
  Egress& egress_;
  SendBatch& batch_;
  SendRequest request_;
  LargeSend large_;

  Sq* first_busy_ = nullptr;
  Sq* last_busy_ = nullptr;
  std::uint64_t dropped_link_down_ = 0;
};

}  // namespace chime::model
