// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/array.h"
#include "model/datapath/faults.h"
#include "model/packet/roce.h"
#include "prm/wqe.h"

/// @file
/// The part of a queue pair that is the datapath's alone: where its transport stands. PSNs have 24 bits,
/// indices of rings 16; both go round.

namespace chime::model {

struct Qp;

/// A send request that was begun and is not completed.
struct SendEntry {
  std::uint16_t index;  ///< its first basic block: wqe_counter
  std::uint8_t blocks;  ///< basic blocks
  prm::wqe_opcode opcode;
  std::uint8_t mode;  ///< fm_ce_se
  Fault fault;        ///< why it can't be executed
  bool responds;      ///< read or atomic: the other end sends something back
  std::uint32_t first_psn;
  std::uint32_t packets;  ///< PSNs that it takes
  std::uint32_t done;     ///< of them acknowledged, or responses that came
  std::uint32_t length;   ///< bytes of the message, or of the result
  std::uint32_t detail;   ///< of `fault`
};

/// What the requester side of a QP remembers.
///
///      window   head            cursor        tail
///     ----------+---------------+-------------+----------------+------------
///     completed | sent, not     | to be sent  | not yet begun: | posted up to
///               | acknowledged  | (again)     | WQE `fetched`  | `posted`
struct QpRequester {
  std::uint16_t posted = 0;     ///< basic blocks that were rung
  std::uint16_t fetched = 0;    ///< basic blocks that were begun
  std::uint16_t announced = 0;  ///< record that was ahead of its doorbell: one must come up to it
  bool awaits_announced = false;

  bool waits_for_timer = false;  ///< RNR: nothing is sent before the timer ends
  bool gap_seen = false;         ///< sent again for a response that was missing; once until there is progress
  bool drain_due = false;        ///< SQD: an event when all that was begun is completed
  bool order_noted = false;      ///< an operand of suspicious byte order was spoken of
  std::uint8_t retries_left = 0;
  std::uint8_t rnr_retries_left = 0;

  Array<SendEntry> window;  ///< a power of two
  std::uint32_t head = 0;
  std::uint32_t cursor = 0;
  std::uint32_t tail = 0;
  std::uint32_t cursor_packet = 0;  ///< of the entry at `cursor`, the next to be sent
  std::uint32_t in_flight = 0;      ///< packets sent and not acknowledged, without reads and atomics
  std::uint32_t responding = 0;     ///< reads and atomics between head and tail
  std::uint32_t next_psn = 0;       ///< of the next request that is begun
  std::uint32_t sent_psn = 0;       ///< behind the last PSN that was ever sent
  std::uint64_t deadline = 0;       ///< nanoseconds: ack timeout, or end of the RNR wait; 0 none
};

/// A read or atomic of the other end, remembered so that it can be answered again.
struct ResponderResource {
  std::uint32_t psn = 0;
  std::uint32_t packets = 0;  ///< 0: not used
  net::RoceKind kind = net::RoceKind::unknown;
  std::uint8_t log_size = 0;  ///< atomics
  bool waits = false;         ///< the answer is not sent yet
};

/// An answer to be sent.
struct PendingResponse {
  std::uint32_t resource = 0;
  std::uint32_t psn = 0;
  std::uint32_t msn = 0;
  std::uint32_t packets = 0;  ///< of the whole answer
  std::uint32_t sent = 0;
  std::uint32_t length = 0;  ///< bytes of a read
  std::uint32_t rkey = 0;
  std::uint32_t srqn = 0;  ///< XRC: whose PD counts
  std::uint64_t address = 0;
};

/// What the responder side of a QP remembers.
struct QpResponder {
  enum class Message : std::uint8_t { none, send, write };

  std::uint16_t consumed = 0;  ///< receive WQEs taken
  std::uint16_t posted = 0;    ///< as last read from the record

  bool holds = false;            ///< a request of a shared receive queue, for the message that has begun
  std::uint16_t held_index = 0;  ///< that request
  std::uint32_t held_srqn = 0;   ///< and its queue

  Message message = Message::none;  ///< that has begun and not ended
  bool message_lost = false;        ///< UC: its rest is dropped
  bool established = false;         ///< a packet came since RTR
  std::uint32_t offset = 0;         ///< bytes of the message that came
  std::uint32_t length = 0;         ///< write: bytes of the message
  std::uint32_t rkey = 0;           ///< write
  std::uint64_t address = 0;        ///< write

  std::uint32_t expected_psn = 0;
  std::uint32_t msn = 0;

  bool ack_due = false;
  bool nak_due = false;
  bool nak_sent = false;  ///< and what should come did not come yet
  std::uint8_t nak_syndrome = 0;
  std::uint32_t ack_psn = 0;
  std::uint32_t dropped_psn = 0;  ///< the furthest that came too early

  Array<ResponderResource> resources;  ///< 1 << log_rra_max
  Array<std::byte> results;            ///< of atomics, big-endian, result_room each
  std::uint32_t result_room = 0;
  std::uint32_t next_resource = 0;
  Array<PendingResponse> pending;  ///< twice as many
  std::uint32_t pending_head = 0;
  std::uint32_t pending_tail = 0;
};

/// A place in a list that goes both ways.
struct QpLink {
  Qp* next = nullptr;
  Qp* previous = nullptr;
};

/// Where a queue pair's transport stands, for QUERY_QP.
struct QpProgress {
  std::uint32_t next_send_psn = 0;
  std::uint32_t last_acked_psn = 0;
  std::uint32_t next_receive_psn = 0;
  std::uint32_t send_sequence = 0;     ///< "ssn": requests that were begun
  std::uint32_t receive_sequence = 0;  ///< "rmsn"
  std::uint16_t send_taken = 0;        ///< basic blocks that were begun
  std::uint16_t send_posted = 0;       ///< basic blocks that were rung
  std::uint32_t receive_taken = 0;     ///< receive WQEs that were filled
  std::uint32_t receive_posted = 0;    ///< receive WQEs, as last read from the record
};

struct QpTransport {
  QpRequester requester;
  QpResponder responder;

  QpProgress progress() const noexcept {
    const QpRequester& r = requester;
    const bool outstanding = r.head != r.tail;
    const SendEntry* const oldest = outstanding ? &r.window[r.head & (r.window.size() - 1)] : nullptr;
    const std::uint32_t unacknowledged = oldest ? net::psn_add(oldest->first_psn, oldest->done) : r.next_psn;
    return {.next_send_psn = r.next_psn,
            .last_acked_psn = net::psn_add(unacknowledged, net::psn_mask),  // the one before
            .next_receive_psn = responder.expected_psn,
            .send_sequence = r.tail & net::psn_mask,
            .receive_sequence = responder.msn & net::psn_mask,
            .send_taken = r.fetched,
            .send_posted = r.posted,
            .receive_taken = responder.consumed,
            .receive_posted = responder.posted};
  }

  net::RouteHeader route{};  ///< RC and UC: as the attributes have it
  bool route_ok = false;     ///< the attributes give one

  bool busy = false;  ///< in the list of QPs with something to do
  QpLink busy_link;
  bool timed = false;            ///< in the wheel of timers
  std::uint64_t timer_tick = 0;  ///< its place there
  QpLink timer_link;

  std::uint64_t dropped = 0;  ///< packets that were not for this state, or out of sequence
};

}  // namespace chime::model
