// SPDX-License-Identifier: BSD-3-Clause
#include "model/datapath/receive.h"
#include "prm/wqe.h"

/// @file
/// Receive queues whose WQEs have strides. A packet begins with a stride and takes as many as it needs; what
/// is left of a WQE that has too few for it is told of by a filler CQE.
///
///     WQE of 4 strides     |0    |1    |2    |3    |
///     packets              |a|   |bbbbbbbbb| |     |   CQEs: a: wqe_counter 0, 1 stride
///                                                            b: wqe_counter 1, 2 strides
///                                                            filler: wqe_counter 3, 1 stride

namespace chime::model {
namespace {

constexpr std::uint32_t shift_of(const Strides& strides) noexcept {
  return strides.two_byte_shift ? 2 : 0;
}

}  // namespace

bool Receive::open_wqe(Rq& rq) noexcept {
  if (rq.consumed == rq.posted && !read_record(rq)) return false;
  rq.reserved = rq.consumed;
  if (!rq.strides.linked) {
    rq.wqe = static_cast<std::uint16_t>(rq.consumed & rq.ring.mask());
  } else if (!rq.wqe_before) {
    rq.wqe = 0;
  } else {
    // Only now: software links a WQE to the list's end when it posts it.
    const std::byte* before = rq.ring.at(rq.wqe);
    if (!before) {
      fail(rq, rq.wqe, Fault::wqe_memory, rq.wqe);
      return false;
    }
    const std::uint16_t next = reinterpret_cast<const prm::WqeNext*>(before)->next_wqe_index;
    rq.wqe = static_cast<std::uint16_t>(next & rq.ring.mask());
  }
  rq.wqe_open = rq.wqe_before = true;
  rq.stride = 0;
  return true;
}

void Receive::take_strides(Rq& rq, std::uint32_t count) noexcept {
  rq.stride = static_cast<std::uint16_t>(rq.stride + count);
  if (rq.stride != static_cast<std::uint16_t>(rq.strides.count())) return;
  rq.wqe_open = false;
  rq.reserved = ++rq.consumed;
}

void Receive::fill_up(Delivery& delivery) noexcept {
  Rq& rq = *delivery.rq;
  const std::uint32_t left = rq.strides.count() - rq.stride;
  delivery.wqe_id = rq.wqe;
  delivery.wqe_counter = rq.stride;
  write_cqe(delivery, prm::cqe_filler | left << prm::cqe_strides_shift, false);
  take_strides(rq, left);
}

void Receive::complete_striding(Delivery& delivery) noexcept {
  Rq& rq = *delivery.rq;
  Arrival& arrival = *delivery.arrival;
  const bool strip = strips(rq, arrival);
  const std::uint32_t skip = strip ? net::vlan_tag_size : 0;
  const std::uint32_t length = arrival.frame->length - skip;
  const std::uint32_t shift = shift_of(rq.strides);
  const std::uint32_t needed = (shift + length + (1u << rq.strides.log_bytes) - 1) >> rq.strides.log_bytes;
  if (needed > rq.strides.count()) {
    too_long(delivery, length, rq.strides.count() << rq.strides.log_bytes);
    return;
  }
  sum_up(arrival);
  if (rq.wqe_open && rq.stride + needed > rq.strides.count()) fill_up(delivery);
  if (rq.state != QueueState::ready) return;
  if (!rq.wqe_open && !open_wqe(rq)) {
    out_of_buffer(rq);
    return;
  }
  const std::byte* wqe = rq.ring.at(rq.wqe);
  if (!wqe) {
    fail(rq, rq.wqe, Fault::wqe_memory, rq.wqe);
    return;
  }
  const auto& data = *reinterpret_cast<const prm::WqeData*>(wqe + sizeof(prm::WqeNext));
  const std::uint64_t address = data.address + (std::uint64_t{rq.stride} << rq.strides.log_bytes) + shift;
  const Scatter::Outcome outcome = scatter_.copy_to(rq, data.lkey, address, arrival.segments, skip, length);
  if (outcome.fault != Fault::none) {
    fail(rq, rq.wqe, outcome.fault, outcome.detail);
    return;
  }
  delivery.wqe_id = rq.wqe;
  delivery.wqe_counter = rq.stride;
  write_cqe(delivery, length | needed << prm::cqe_strides_shift, strip);
  take_strides(rq, needed);
}

}  // namespace chime::model
