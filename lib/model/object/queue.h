// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "model/object/access.h"
#include "model/object/counter.h"
#include "model/object/memory.h"
#include "model/object/object.h"

/// @file
/// Event, completion, send and receive queues. Commands fill in what software asked for; the part "of the
/// datapath" in each is its alone after creation (commands read it, and modify it only through
/// datapath/engine.h).

namespace chime::model {

struct Rq;
struct Sq;
struct Tis;

/// What rings a queue: elements of 1 << log_stride bytes, 1 << log_size of them.
struct Ring {
  Buffer buffer;
  std::uint8_t log_size = 0;
  std::uint8_t log_stride = 0;

  std::uint32_t size() const noexcept { return std::uint32_t{1} << log_size; }
  std::uint32_t mask() const noexcept { return size() - 1; }
  /// Element `i` modulo the size; nullptr when the host memory is gone.
  std::byte* at(std::uint32_t i) noexcept {
    return buffer.at(std::uint64_t{i & mask()} << log_stride, std::size_t{1} << log_stride);
  }
  /// The owner bit of element `i` of a producer that counts on and on.
  std::uint8_t owner(std::uint32_t i) const noexcept { return i >> log_size & 1; }
};

struct Eq final : Object {
  Eq() noexcept : Object(Kind::eq) {}

  enum class State : std::uint8_t { ok, write_failure };

  Ring ring;
  Ref<Uar> uar;
  std::uint64_t event_mask = 0;  ///< bit n: event type n
  std::uint32_t vector = 0;      ///< interrupt
  bool overrun_ignore = false;

  // of the datapath
  State state = State::ok;
  bool armed = false;
  std::uint32_t producer = 0;
  std::uint32_t consumer = 0;
};

/// What a mini CQE keeps; mini_cqe_res_format.
enum class CqeCompression : std::uint8_t { hash = 0, checksum = 1, checksum_stride = 3, none = 0xff };

struct Cq final : Object {
  Cq() noexcept : Object(Kind::cq) {}

  enum class State : std::uint8_t { ok, overflow, write_failure };
  enum class Arm : std::uint8_t { none, solicited, any, fired };

  Ring ring;  ///< a 128-byte element keeps its CQE in the second half
  Buffer record;
  Ref<Eq> eq;
  Ref<Uar> uar;
  bool overrun_ignore = false;
  bool collapsed = false;       ///< "cc": every CQE goes to element 0
  std::uint16_t period = 0;     ///< microseconds of moderation, 0 none
  std::uint16_t max_count = 0;  ///< CQEs of moderation, 0 none
  CqeCompression compression = CqeCompression::none;
  std::uint8_t period_mode = 0;  ///< 0 starts by event, 1 by CQE

  // of the datapath
  State state = State::ok;
  Arm arm = Arm::none;
  std::uint32_t arm_sequence = 0;
  std::uint32_t producer = 0;
  std::uint32_t consumer = 0;   ///< as last read from the record
  std::uint32_t solicited = 0;  ///< index behind the last solicited CQE
  std::uint64_t moderated_since = 0;
  std::uint32_t moderated_count = 0;
  Cq* next_pending = nullptr;  ///< list of CQs with an event to come
  bool pending = false;
};

enum class QueueState : std::uint8_t { reset = 0, ready = 1, error = 3 };
const char* name(QueueState state) noexcept;

/// A timestamp of CQEs: free-running counter, or nanoseconds.
enum class TimestampFormat : std::uint8_t { free_running, standard, real_time };

struct Sq final : Object {
  Sq() noexcept : Object(Kind::sq) {}

  Ring ring;  ///< of basic blocks
  Buffer record;
  Ref<Pd> pd;
  Ref<Uar> uar;
  Ref<Cq> cq;
  Ref<Tis> tis;
  QueueState state = QueueState::reset;
  std::uint32_t user_index = 0;
  std::uint8_t min_inline_mode = 0;  ///< 0 none, 1 L2, 2 IP, 3 TCP/UDP
  bool reserved_lkey = false;        ///< "rlky": lkey reserved_lkey reaches all of memory
  bool flush_in_error = false;       ///< on error WQEs are flushed with CQEs rather than kept for software
  bool takes_umr = false;            ///< "reg_umr"
  bool allow_multi_packet = false;   ///< enhanced multi-packet WQEs
  TimestampFormat timestamp = TimestampFormat::free_running;

  // of the datapath
  std::uint16_t posted = 0;     ///< basic blocks that were rung
  std::uint16_t fetched = 0;    ///< basic blocks that were executed
  std::uint16_t announced = 0;  ///< record that was ahead of its doorbell: one must come up to it
  bool awaits_announced = false;
  std::uint64_t dropped_too_long = 0;  ///< frames above the port's MTU
  Sq* next_busy = nullptr;             ///< list of SQs with work
  bool busy = false;
};

/// Receive WQEs of many strides: a packet takes as many as it needs, the next begins with the next.
struct Strides {
  std::uint8_t log_count = 0;  ///< strides of a WQE
  std::uint8_t log_bytes = 0;  ///< of a stride; 0: the queue has none
  bool linked = false;         ///< WQEs name their successor
  bool two_byte_shift = false;

  explicit operator bool() const noexcept { return log_bytes != 0; }
  std::uint32_t count() const noexcept { return std::uint32_t{1} << log_count; }
};

struct Rq final : Object {
  Rq() noexcept : Object(Kind::rq) {}

  Ring ring;
  Buffer record;
  Ref<Pd> pd;
  Ref<Cq> cq;
  Ref<QCounter> q_counter;
  QueueState state = QueueState::reset;
  std::uint32_t user_index = 0;
  bool reserved_lkey = false;
  bool vlan_strip = true;  ///< !vsd
  bool scatter_fcs = false;
  bool flush_in_error = false;
  bool signature = false;
  TimestampFormat timestamp = TimestampFormat::free_running;
  Strides strides;

  // of the datapath
  std::uint16_t wqe = 0;       ///< with strides: the WQE that is filled, or was filled last
  std::uint16_t stride = 0;    ///< its first free one
  bool wqe_open = false;       ///< it has free ones
  bool wqe_before = false;     ///< there was one
  std::uint16_t consumed = 0;  ///< WQEs filled
  std::uint16_t reserved = 0;  ///< WQEs that packets under way will fill; consumed when there are none
  std::uint16_t posted = 0;    ///< as last read from the record
  std::uint64_t out_of_buffer = 0;
  std::uint64_t too_long = 0;  ///< packets that no WQE had room for
};

}  // namespace chime::model
