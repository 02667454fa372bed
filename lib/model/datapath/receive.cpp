// SPDX-License-Identifier: BSD-3-Clause
#include "model/datapath/receive.h"

#include <algorithm>
#include <cstring>

#include "model/datapath/gather.h"
#include "model/datapath/report.h"
#include "model/packet/bytes.h"
#include "model/packet/toeplitz.h"
#include "model/roce/roce.h"
#include "prm/doorbell.h"

namespace chime::model {
namespace {

/// CQE l4_l3_hdr_type without the "cv" bit.
std::uint8_t header_type(const std::byte* front, const net::Headers& h) noexcept {
  static constexpr prm::cqe_l3 l3_of[] = {prm::cqe_l3::none, prm::cqe_l3::ipv4, prm::cqe_l3::ipv6};
  const auto l3 = l3_of[static_cast<unsigned>(h.l3)];
  auto l4 = prm::cqe_l4::none;
  if (h.l4 == net::L4::udp) {
    l4 = prm::cqe_l4::udp;
  } else if (h.l4 == net::L4::tcp) {
    constexpr unsigned ack = 0x10;
    const bool acknowledges = (net::byte_at(front + h.l4_offset + 13) & ack) != 0;
    const bool data = h.ip_end > h.payload_offset;
    l4 = !acknowledges ? prm::cqe_l4::tcp_no_ack
                       : (data ? prm::cqe_l4::tcp_ack_and_data : prm::cqe_l4::tcp_ack_no_data);
  }
  return static_cast<std::uint8_t>(prm::cqe_hdr_type(l3, l4) | (h.fragment ? prm::cqe_ip_fragment : 0));
}

net::HashSelection selection_of(const Tir& tir) noexcept {
  return {.fields = tir.outer.selected,
          .l3 = tir.outer.ipv6 ? net::L3::ipv6 : net::L3::ipv4,
          .l4 = tir.outer.udp ? net::L4::udp : net::L4::tcp,
          .symmetric = tir.symmetric};
}

}  // namespace

void Receive::deliver(std::span<const Frame> frames) noexcept {
  if (!port_.up()) {
    card_.port.received_no_match += frames.size();
    return;
  }
  all_of(frames);
}

void Receive::turned_back(std::span<const Frame> frames, const Origin& origin) noexcept {
  own_ = &origin;
  all_of(frames);
  own_ = nullptr;
}

void Receive::all_of(std::span<const Frame> frames) noexcept {
  completions_.begin_burst();
  keys_.forget();
  while (!frames.empty()) {
    const std::size_t part = std::min<std::size_t>(frames.size(), burst);
    burst_of(frames.first(part));
    frames = frames.subspan(part);
  }
}

// ---- classify ----

void Receive::burst_of(std::span<const Frame> frames) noexcept {
  unsigned slot = 0;
  Port::Counter counter;
  for (const Frame& frame : frames) {
    if (!acceptable(frame)) [[unlikely]]
      continue;
    Arrival& arrival = arrivals_[slot];
    look_at(arrival, slot, frame);
    ++slot;
    counter.count(arrival.front, frame.length);
    if (!own_) port_.count_size(frame.length);
    if ((net::is_roce(arrival.front, arrival.headers) &&
         roce_.take(arrival.front, arrival.headers, frame, own_ != nullptr)) ||
        !to_steering(arrival)) {
      --slot;
      continue;
    }
    const bool matched =
        steering_.classify(arrival.front, arrival.headers, frame.length,
                           [&](Tir& tir, std::uint32_t tag) { dispatch(arrival, tir, tag); });
    if (!matched) ++card_.port.received_no_match;
  }
  port_.add_received(counter, !own_);
  serve();
}

bool Receive::acceptable(const Frame& frame) noexcept {
  if (frame.length < net::ethernet_header) {
    ++card_.port.received_too_short;
    return false;
  }
  if (frame.length > card_.port.admin_mtu) {
    ++card_.port.received_too_long;
    return false;
  }
  return true;
}

void Receive::look_at(Arrival& arrival, unsigned slot, const Frame& frame) noexcept {
  arrival.frame = &frame;
  arrival.summed = false;
  arrival.segments = {frame.segments, frame.segment_count};
  std::uint32_t here = frame.segments[0].length;
  arrival.front = frame.segments[0].data;
  if (frame.segment_count > 1 && here < net::usual_header_room) {
    here = std::min(frame.length, net::usual_header_room);
    gather(fronts_[slot].data(), arrival.segments, here);
    arrival.front = fronts_[slot].data();
    if (here == frame.length) {
      arrival.whole = {arrival.front, here};
      arrival.segments = {&arrival.whole, 1};
    }
  }
  net::parse(arrival.headers, arrival.front, here, frame.length);
  if (arrival.headers.wants_more && here < net::largest_header_room) [[unlikely]] {
    here = std::min(frame.length, net::largest_header_room);
    gather(long_fronts_[slot].data(), arrival.segments, here);
    arrival.front = long_fronts_[slot].data();
    net::parse(arrival.headers, arrival.front, here, frame.length);
  }
}

/// A queue pair's multicast turns back to members of its group alone.
bool Receive::to_steering(const Arrival& arrival) const noexcept {
  return !own_ || !own_->roce || (net::byte_at(arrival.front) & 1) == 0;
}

/// A TIR takes frames of its own transport domain's send queues if it was told to.
bool Receive::blocks(const Tir& tir) const noexcept {
  return own_ && own_->domain && own_->domain == tir.transport_domain.get() &&
         (tir.self_loopback & Tir::self_unicast) == 0;
}

void Receive::dispatch(Arrival& arrival, Tir& tir, std::uint32_t flow_tag) noexcept {
  if (blocks(tir)) [[unlikely]]
    return;
  if (delivery_count_ == max_deliveries) serve();
  std::uint32_t hash = 0;
  std::uint8_t hash_type = 0;
  Rq* rq = tir.rq.get();
  if (!rq) {
    if (tir.hash != Tir::HashFunction::none) {
      net::HashInput input;
      net::gather_hash_input(input, selection_of(tir), arrival.front, arrival.headers);
      hash_type = input.type;
      if (input.length != 0) {
        hash = tir.toeplitz ? tir.toeplitz->hash(input.bytes, input.length)
                            : net::inverted_xor8(input.bytes, input.length);
      }
    }
    if (tir.rqt && !tir.rqt->queues.empty()) {
      rq = tir.rqt->queues[hash & (tir.rqt->queues.size() - 1)].get();
    }
  }
  if (!rq || rq->state != QueueState::ready) {
    ++card_.port.received_no_match;
    return;
  }
  Delivery& delivery = deliveries_[delivery_count_++];
  delivery.arrival = &arrival;
  delivery.rq = rq;
  delivery.hash = hash;
  delivery.hash_type = hash_type;
  delivery.flow_tag = flow_tag;
}

// ---- reserve ----

void Receive::serve() noexcept {
  unsigned kept = 0;
  for (unsigned i = 0; i < delivery_count_; ++i) {
    if (!reserve(deliveries_[i])) [[unlikely]]
      continue;
    if (kept != i) deliveries_[kept] = deliveries_[i];
    ++kept;
  }
  for (unsigned i = 0; i < kept; ++i) {
    Delivery& d = deliveries_[i];
    d.buffer = d.wqe ? scatter_.locate(*d.rq, d.wqe, d.arrival->frame->length) : nullptr;
  }
  for (unsigned i = 0; i < kept; ++i) complete(deliveries_[i]);
  compressed_.flush();
  // What was reserved for a packet that was dropped after all is there for the next.
  for (unsigned i = 0; i < kept; ++i) deliveries_[i].rq->reserved = deliveries_[i].rq->consumed;
  delivery_count_ = 0;
}

bool Receive::reserve(Delivery& delivery) noexcept {
  Rq& rq = *delivery.rq;
  if (rq.strides) {  // what a packet takes is known when those before it have theirs
    delivery.wqe = nullptr;
    return true;
  }
  if (rq.reserved == rq.posted && !read_record(rq)) [[unlikely]] {
    out_of_buffer(rq);
    return false;
  }
  delivery.wqe_counter = rq.reserved++;
  delivery.wqe = rq.ring.at(delivery.wqe_counter);
  if (delivery.wqe) __builtin_prefetch(delivery.wqe);
  return true;
}

/// @return whether there are WQEs
bool Receive::read_record(Rq& rq) noexcept {
  const std::byte* record = rq.record.at(0, sizeof(prm::WqRecord));
  if (!record) {
    report(card_, Fault::record_memory, rq.number, "RQ 0x%x: the doorbell record is not host memory",
           rq.number);
    return false;
  }
  const auto* receive = reinterpret_cast<const std::uint32_t*>(record + offsetof(prm::WqRecord, receive));
  const auto posted = static_cast<std::uint16_t>(prm::host_to_be(__atomic_load_n(receive, __ATOMIC_ACQUIRE)));
  const auto waiting = static_cast<std::uint16_t>(posted - rq.reserved);
  if (waiting > rq.ring.size()) {
    report(card_, Fault::rq_record, rq.number,
           "RQ 0x%x: record %u is %u requests ahead of what was consumed, the queue has %u", rq.number,
           posted, waiting, rq.ring.size());
    return false;
  }
  rq.posted = posted;
  return waiting != 0;
}

// ---- complete ----

void Receive::complete(Delivery& delivery) noexcept {
  Rq& rq = *delivery.rq;
  if (rq.state != QueueState::ready) [[unlikely]]
    return;
  if (rq.strides) return complete_striding(delivery);
  if (delivery.wqe_counter != rq.consumed) [[unlikely]] {
    delivery.wqe_counter = rq.consumed;
    delivery.wqe = rq.ring.at(rq.consumed);
    delivery.buffer = nullptr;
  }
  if (!delivery.wqe) [[unlikely]] {
    fail(rq, delivery.wqe_counter, Fault::wqe_memory, delivery.wqe_counter);
    return;
  }
  Arrival& arrival = *delivery.arrival;
  const std::uint32_t whole = arrival.frame->length;
  const bool strip = strips(rq, arrival);
  const std::uint32_t skip = strip ? net::vlan_tag_size : 0;
  if (delivery.buffer) [[likely]] {
    Scatter::copy(delivery.buffer, arrival.segments, skip, whole - skip);
  } else if (!scatter(delivery, skip, whole - skip)) {
    return;
  }
  ++rq.consumed;
  sum_up(arrival);
  write_cqe(delivery, whole - skip, strip);
}

bool Receive::scatter(const Delivery& delivery, std::uint32_t skip, std::uint32_t length) noexcept {
  Rq& rq = *delivery.rq;
  const Scatter::Outcome outcome = scatter_.copy(rq, delivery.wqe, delivery.arrival->segments, skip, length);
  if (outcome.fault == Fault::none) return true;
  if (outcome.fault != Fault::rq_too_long) {
    fail(rq, delivery.wqe_counter, outcome.fault, outcome.detail);
    return false;
  }
  too_long(delivery, length, outcome.detail);
  return false;
}

void Receive::too_long(const Delivery& delivery, std::uint32_t length, std::uint32_t room) noexcept {
  Rq& rq = *delivery.rq;
  ++rq.too_long;
  if (worth_a_word(rq.too_long)) {
    report(card_, Fault::rq_too_long, rq.number,
           "RQ 0x%x: a packet of %u bytes was dropped, request %u has room for %u; so far: %llu", rq.number,
           length, delivery.wqe_counter, room, static_cast<unsigned long long>(rq.too_long));
  }
}

/// Software adds what a card without cqe_checksum_full leaves out: tags that stay, and padding.
std::uint16_t Receive::check_sum(const Arrival& arrival, bool stripped) const noexcept {
  const net::ChecksumStatus& seen = arrival.checksum;
  if (!checksum_full_) [[unlikely]] {
    return seen.padding == 0 ? seen.complete
                             : net::fold(net::Sum{seen.complete} + static_cast<std::uint16_t>(~seen.padding));
  }
  const std::uint32_t begin = net::ethernet_header + (stripped ? net::vlan_tag_size : 0);
  if (arrival.headers.l3_offset <= begin) [[likely]]
    return seen.complete;
  return net::fold(seen.complete + net::sum_bytes(arrival.front + begin, arrival.headers.l3_offset - begin));
}

/// All but the last 8 bytes.
inline void Receive::fill_cqe(prm::Cqe& cqe, const Delivery& delivery, std::uint32_t byte_cnt,
                              bool stripped) const noexcept {
  const Rq& rq = *delivery.rq;
  const Arrival& arrival = *delivery.arrival;
  std::memset(&cqe, 0, offsetof(prm::Cqe, sop_drop_qpn));
  if (rq.strides) cqe.wqe_id = delivery.wqe_id;
  cqe.rss_hash_result = delivery.hash;
  cqe.rss_hash_type = delivery.hash_type;
  cqe.check_sum = prm::Be16::from_raw(check_sum(arrival, stripped));
  cqe.hds_ip_ext = static_cast<std::uint8_t>(prm::cqe_l2_ok | (arrival.checksum.l3_ok ? prm::cqe_l3_ok : 0) |
                                             (arrival.checksum.l4_ok ? prm::cqe_l4_ok : 0));
  cqe.l4_l3_hdr_type = static_cast<std::uint8_t>(header_type(arrival.front, arrival.headers) |
                                                 (stripped ? prm::cqe_vlan_stripped : 0));
  if (stripped) cqe.vlan_info = arrival.headers.vlan_tci[0];
  cqe.srqn = rq.user_index;
  cqe.byte_cnt = byte_cnt;
  cqe.timestamp = completions_.timestamp(rq.timestamp);
}

void Receive::write_cqe(const Delivery& delivery, std::uint32_t byte_cnt, bool stripped) noexcept {
  Rq& rq = *delivery.rq;
  if (rq.cq->compression != CqeCompression::none) [[unlikely]] {
    prm::Cqe cqe;
    fill_cqe(cqe, delivery, byte_cnt, stripped);
    cqe.sop_drop_qpn = delivery.flow_tag;
    cqe.wqe_counter = delivery.wqe_counter;
    cqe.signature = 0;
    cqe.op_own = prm::cqe_op_own(prm::cqe_opcode::responder_send, 0);
    compressed_.add(rq, cqe);
    return;
  }
  prm::Cqe* const cqe = completions_.open(*rq.cq);
  if (!cqe) [[unlikely]] {
    rq.state = QueueState::error;
    return;
  }
  fill_cqe(*cqe, delivery, byte_cnt, stripped);
  completions_.close(*rq.cq, cqe, delivery.flow_tag, delivery.wqe_counter, prm::cqe_opcode::responder_send);
}

// ---- errors ----

void Receive::fail(Rq& rq, std::uint16_t wqe_counter, Fault fault, std::uint32_t detail) noexcept {
  report(card_, fault, rq.number, "RQ 0x%x: request %u: %s (0x%x)", rq.number, wqe_counter,
         info(fault).meaning, detail);
  rq.state = QueueState::error;
  compressed_.flush();
  completions_.write_error(*rq.cq, prm::cqe_opcode::responder_error, fault, rq.number, wqe_counter,
                           rq.user_index);
  rq.consumed = static_cast<std::uint16_t>((rq.strides ? rq.consumed : wqe_counter) + 1);
  rq.reserved = rq.consumed;
  if (rq.flush_in_error) flush(rq);
}

void Receive::flush(Rq& rq) noexcept {
  while (rq.consumed != rq.posted) {
    completions_.write_error(*rq.cq, prm::cqe_opcode::responder_error, Fault::flushed, rq.number, rq.consumed,
                             rq.user_index);
    ++rq.consumed;
  }
  rq.reserved = rq.consumed;
}

void Receive::state_changed(Rq& rq, QueueState from) noexcept {
  if (rq.state == QueueState::reset || (from == QueueState::reset && rq.state == QueueState::ready)) {
    rq.consumed = rq.reserved = rq.posted = 0;
    rq.wqe_open = rq.wqe_before = false;
  }
  if (rq.state == QueueState::error && rq.flush_in_error) {
    completions_.begin_burst();
    read_record(rq);
    flush(rq);
  }
}

}  // namespace chime::model
