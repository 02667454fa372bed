// SPDX-License-Identifier: BSD-3-Clause
#include "model/datapath/transmit.h"

#include <algorithm>
#include <cstring>

#include "model/datapath/report.h"
#include "model/datapath/send_doorbell.h"
#include "prm/doorbell.h"
#include "prm/wqe.h"

namespace chime::model {
namespace {

constexpr unsigned prefetch_blocks = 8;  ///< basic blocks ahead of the one that is executed

constexpr std::uint32_t blocks_of(std::uint32_t ds) noexcept {
  constexpr auto units = static_cast<std::uint32_t>(prm::wqebb_size / prm::wqe_unit);
  return std::max(1u, (ds + units - 1) / units);
}

const prm::WqeCtrl& ctrl_of(const std::byte* wqe) noexcept {
  return *reinterpret_cast<const prm::WqeCtrl*>(wqe);
}

}  // namespace

// ---- doorbells ----

void Transmit::ring(Uar& uar, std::uint64_t value) noexcept {
  const std::uint64_t words = prm::host_to_be(value);
  const std::uint32_t number = static_cast<std::uint32_t>(words) >> 8;
  const std::uint32_t ds = words & prm::max_ds;
  const auto index = static_cast<std::uint16_t>(words >> 40);
  Sq* const sq = card_.sqs.find(number);
  if (!sq) {
    report(card_, Fault::doorbell_unknown_queue, number,
           "UAR 0x%x: doorbell for SQ 0x%x, which does not exist", uar.number, number);
    return;
  }
  if (sq->uar.get() != &uar) {
    report(card_, Fault::doorbell_foreign_uar, number,
           "SQ 0x%x: doorbell on UAR 0x%x is ignored, the queue was created with 0x%x", number, uar.number,
           sq->uar ? sq->uar->number : 0);
    return;
  }
  if (sq->state == QueueState::reset) {
    report(card_, Fault::doorbell_queue_state, number, "SQ 0x%x: doorbell %u, but the queue is in reset",
           number, index);
    return;
  }
  std::uint16_t recorded = 0;
  const DoorbellOwner owner{"SQ", number};
  if (!read_send_record(card_, owner, sq->record, recorded)) return;
  compare_with_record(card_, owner, *sq, static_cast<std::uint16_t>(index + blocks_of(ds)), recorded);
  post(*sq, recorded);
}

void Transmit::post(Sq& sq, std::uint16_t posted) noexcept {
  const auto waiting = static_cast<std::uint16_t>(posted - sq.fetched);
  if (waiting > sq.ring.size()) {
    report(card_, Fault::doorbell_overrun, sq.number,
           "SQ 0x%x: record %u is %u blocks ahead of what was executed, the queue has %u", sq.number, posted,
           waiting, sq.ring.size());
    if (sq.state == QueueState::error) return;
    sq.state = QueueState::error;
    EventData data{};
    data[5] = 2u << 24;  // an SQ
    data[prm::eqe_number] = sq.number;
    events_.raise(prm::event_type::wq_catastrophic_error, 0, data);
    return;
  }
  sq.posted = posted;
  if (sq.posted == sq.fetched || (sq.state == QueueState::error && !sq.flush_in_error)) return;
  if (!sq.busy) append(sq);
}

void Transmit::replay(Sq& sq) noexcept {
  std::uint16_t recorded = 0;
  if (sq.state == QueueState::reset || !read_send_record(card_, {"SQ", sq.number}, sq.record, recorded))
    return;
  sq.awaits_announced = false;
  post(sq, recorded);
}

// ---- the list of queues with work ----

void Transmit::append(Sq& sq) noexcept {
  sq.busy = true;
  sq.next_busy = nullptr;
  (last_busy_ ? last_busy_->next_busy : first_busy_) = &sq;
  last_busy_ = &sq;
}

void Transmit::remove(Sq& sq) noexcept {
  if (!sq.busy) return;
  Sq* before = nullptr;
  for (Sq* at = first_busy_; at != &sq; at = at->next_busy) before = at;
  (before ? before->next_busy : first_busy_) = sq.next_busy;
  if (last_busy_ == &sq) last_busy_ = before;
  sq.next_busy = nullptr;
  sq.busy = false;
}

unsigned Transmit::run() noexcept {
  if (!first_busy_) return 0;
  completions_.begin_burst();
  keys_.forget();
  unsigned executed = 0;
  const Sq* const last = last_busy_;
  for (bool more = true; more && first_busy_;) {
    Sq& sq = *first_busy_;
    more = &sq != last;
    remove(sq);
    executed += serve(sq);
    if (sq.posted != sq.fetched && sq.state == QueueState::ready) append(sq);
  }
  return executed;
}

// ---- requests ----

unsigned Transmit::serve(Sq& sq) noexcept {
  if (sq.state == QueueState::error) {
    flush(sq);
    return 1;
  }
  std::byte* const ring = sq.ring.buffer.at(0, std::uint64_t{sq.ring.size()} << sq.ring.log_stride);
  if (ring) {
    for (unsigned i = 0; i < prefetch_blocks; ++i) {
      __builtin_prefetch(ring + ((sq.fetched + i) & sq.ring.mask()) * prm::wqebb_size);
    }
  }
  unsigned executed = 0;
  while (executed < budget && sq.fetched != sq.posted && sq.state == QueueState::ready) {
    batch_.clear();
    SendOutcome outcome;
    while (executed < budget && sq.fetched != sq.posted && !batch_.full()) {
      outcome = execute(sq, ring);
      if (outcome.fault != Fault::none) [[unlikely]]
        break;
      ++executed;
    }
    complete_batch(sq);
    if (outcome.fault != Fault::none) fail(sq, outcome);
  }
  return executed;
}

SendOutcome Transmit::execute(Sq& sq, std::byte* ring) noexcept {
  const std::uint16_t index = sq.fetched;
  const std::byte* wqe = ring ? ring + (index & sq.ring.mask()) * prm::wqebb_size : sq.ring.at(index);
  if (!wqe) [[unlikely]]
    return {Fault::wqe_memory, index};
  if (ring) __builtin_prefetch(ring + ((index + prefetch_blocks) & sq.ring.mask()) * prm::wqebb_size);

  const prm::WqeCtrl& ctrl = ctrl_of(wqe);
  const std::uint32_t word = ctrl.opmod_idx_opcode;
  const std::uint32_t qpn_ds = ctrl.qpn_ds;
  const std::uint8_t mode = ctrl.fm_ce_se;
  const auto opcode = static_cast<prm::wqe_opcode>(word & 0xff);
  const std::uint32_t ds = qpn_ds & prm::max_ds;
  const std::uint32_t blocks = blocks_of(ds);
  if ((word >> 8 & 0xffff) != index) [[unlikely]]
    return {Fault::wqe_index, word >> 8 & 0xffff};
  if (qpn_ds >> 8 != sq.number) [[unlikely]]
    return {Fault::wqe_queue_number, qpn_ds >> 8};
  if (blocks > static_cast<std::uint16_t>(sq.posted - index)) [[unlikely]] {
    return {Fault::wqe_beyond_posted, ds};
  }

  switch (opcode) {
    case prm::wqe_opcode::send: {
      constexpr std::uint32_t least = (sizeof(prm::WqeCtrl) + sizeof(prm::WqeEth)) / prm::wqe_unit;
      if (ds < least) return {Fault::wqe_size, ds};
      if (!sq.tis) [[unlikely]]
        return {Fault::wqe_no_tis, ds};
      if (blocks > 1) {
        wqe = in_one_piece(sq, ring, wqe, blocks);
        if (!wqe) return {Fault::wqe_memory, index};
      }
      if (const SendOutcome outcome = send(sq, wqe, ds); outcome.fault != Fault::none) return outcome;
      break;
    }
    case prm::wqe_opcode::nop:
      if (ds == 0) return {Fault::wqe_size, ds};
      break;
    case prm::wqe_opcode::lso: {
      const SendOutcome outcome = word >> 24 == prm::lso_multi_packet
                                      ? multi_packet_send(sq, ring, wqe, ds, true)
                                      : large_send(sq, ring, wqe, ds);
      if (outcome.fault != Fault::none) return outcome;
      break;
    }
    case prm::wqe_opcode::umr:
      if (const SendOutcome outcome = change_key(sq, ring, wqe, ds); outcome.fault != Fault::none)
        return outcome;
      break;
    case prm::wqe_opcode::enhanced_mpsw:
      if (const SendOutcome outcome = multi_packet_send(sq, ring, wqe, ds, false);
          outcome.fault != Fault::none) {
        return outcome;
      }
      break;
    default:
      return {Fault::wqe_opcode, word & 0xff};
  }

  constexpr auto asks = static_cast<std::uint8_t>(prm::wqe_ce::always);
  constexpr auto asks_for_event = static_cast<std::uint8_t>(prm::wqe_ce::always_and_eqe);
  if ((mode & asks) != 0) {
    batch_.completions[batch_.completion_count++] = {index, static_cast<std::uint8_t>(opcode),
                                                     (mode & asks_for_event) == asks_for_event,
                                                     static_cast<std::uint16_t>(batch_.frame_count)};
  }
  sq.fetched = static_cast<std::uint16_t>(index + blocks);
  return {};
}

SendOutcome Transmit::send(Sq& sq, const std::byte* wqe, std::uint32_t ds) noexcept {
  const SendOutcome outcome = request_.execute(sq, wqe, ds);
  if (outcome.fault != Fault::none) [[unlikely]]
    return outcome;
  short_enough(sq);
  return {};
}

SendOutcome Transmit::large_send(Sq& sq, std::byte* ring, const std::byte* wqe, std::uint32_t ds) noexcept {
  constexpr std::uint32_t least = (sizeof(prm::WqeCtrl) + sizeof(prm::WqeEth)) / prm::wqe_unit;
  if (ds < least) return {Fault::wqe_size, ds};
  if (!sq.tis) return {Fault::wqe_no_tis, ds};
  // Its frames may fill several batches.
  complete_batch(sq);
  const std::byte* const whole = in_one_piece(sq, ring, wqe, blocks_of(ds));
  if (!whole) return {Fault::wqe_memory, sq.fetched};
  if (const SendOutcome outcome = request_.begin_large(sq, whole, ds, large_); outcome.fault != Fault::none) {
    return outcome;
  }
  if (card_.around.wire.cuts() && !egress_.turns_back(large_.destination()) && large_.whole(batch_))
    short_enough(sq);
  while (large_.next(batch_)) {
    if (!short_enough(sq)) break;
    if (batch_.full()) complete_batch(sq);
  }
  batch_.hold(whole);
  return {};
}

SendOutcome Transmit::multi_packet_send(Sq& sq, std::byte* ring, const std::byte* wqe, std::uint32_t ds,
                                        bool equal) noexcept {
  constexpr std::uint32_t least = (sizeof(prm::WqeCtrl) + sizeof(prm::WqeEth)) / prm::wqe_unit;
  // Linux sends these from queues made without allow_multi_pkt_send_wqe: the capability alone decides.
  using Offloads = prm::per_protocol_networking_offload_caps;
  const auto offloads =
      card_.capabilities.view<Offloads>(static_cast<unsigned>(prm::hca_cap_type::ethernet_offloads));
  if (!(equal ? offloads.get(Offloads::multi_pkt_send_wqe)
              : offloads.get(Offloads::enhanced_multi_pkt_send_wqe))) {
    return {Fault::wqe_multi_packet, ds};
  }
  if (!sq.tis) return {Fault::wqe_no_tis, ds};
  if (ds <= least) return {Fault::wqe_size, ds};
  const std::byte* const whole = in_one_piece(sq, ring, wqe, blocks_of(ds));
  if (!whole) return {Fault::wqe_memory, sq.fetched};
  const std::uint32_t end = ds * static_cast<std::uint32_t>(prm::wqe_unit);
  for (PacketPlace place; place.at < end;) {
    const SendOutcome outcome = equal ? request_.next_equal_packet(sq, whole, place, end)
                                      : request_.next_packet(sq, whole, place, end);
    if (outcome.fault != Fault::none) return outcome;
    short_enough(sq);
    if (batch_.full()) complete_batch(sq);
  }
  batch_.hold(whole);
  return {};
}

SendOutcome Transmit::change_key(Sq& sq, std::byte* ring, const std::byte* wqe, std::uint32_t ds) noexcept {
  if (!sq.takes_umr) return {Fault::umr_queue, ds};
  // Frames of this batch may lie in what the key reaches now.
  complete_batch(sq);
  const std::uint32_t blocks = blocks_of(ds);
  if (blocks > 1 && !(wqe = in_one_piece(sq, ring, wqe, blocks))) return {Fault::wqe_memory, sq.fetched};
  const UmrQueue queue{.pd = sq.pd.get(), .reserved_lkey = sq.reserved_lkey, .every_domain = false};
  const UmrOutcome outcome = execute_umr(card_, keys_, queue, wqe, ds);
  return {outcome.fault, outcome.detail};
}

bool Transmit::short_enough(Sq& sq) noexcept {
  const Frame& frame = batch_.frames[batch_.frame_count - 1];
  const std::uint32_t length = longest_piece(frame);
  if (length <= card_.port.admin_mtu) [[likely]]
    return true;
  --batch_.frame_count;
  ++card_.port.transmit_discarded;
  if (worth_a_word(++sq.dropped_too_long)) {
    report(card_, Fault::frame_too_long, sq.number,
           "SQ 0x%x: a frame of %u bytes was dropped, the port's MTU is %u; frames dropped so far: %llu",
           sq.number, length, card_.port.admin_mtu, static_cast<unsigned long long>(sq.dropped_too_long));
  }
  return false;
}

const std::byte* Transmit::in_one_piece(Sq& sq, std::byte* ring, const std::byte* first,
                                        std::uint32_t blocks) noexcept {
  if (ring && (sq.fetched & sq.ring.mask()) + blocks <= sq.ring.size()) return first;
  // The scratch still belongs to a frame of this batch: that one goes first.
  if (batch_.request_used) complete_batch(sq);
  for (std::uint32_t i = 0; i < blocks; ++i) {
    const std::byte* block = sq.ring.at(sq.fetched + i);
    if (!block) return nullptr;
    std::memcpy(batch_.request.data() + i * prm::wqebb_size, block, prm::wqebb_size);
  }
  batch_.request_used = true;
  return batch_.request.data();
}

void Transmit::complete_batch(Sq& sq) noexcept {
  if (batch_.frame_count != 0) {
    if (port_.up()) {
      // Frames without a TIS were refused before they came here.
      egress_.send({batch_.frames.data(), batch_.frame_count}, {.domain = sq.tis->transport_domain.get()});
    } else {
      card_.port.transmit_discarded += batch_.frame_count;
      dropped_link_down_ += batch_.frame_count;
      if (worth_a_word(dropped_link_down_)) {
        report(card_, Fault::port_down, sq.number, "SQ 0x%x: frames were dropped, the link is down",
               sq.number);
      }
    }
  }
  for (unsigned i = 0; i < batch_.completion_count; ++i) {
    const SendBatch::Completion& done = batch_.completions[i];
    prm::Cqe* const cqe = completions_.open(*sq.cq);
    if (!cqe) [[unlikely]] {
      sq.state = QueueState::error;
      break;
    }
    std::memset(cqe, 0, offsetof(prm::Cqe, sop_drop_qpn));
    cqe->srqn = sq.user_index;
    cqe->timestamp = completions_.timestamp(sq.timestamp);
    completions_.close(*sq.cq, cqe, std::uint32_t{done.opcode} << 24 | sq.number, done.index,
                       prm::cqe_opcode::requester, done.solicited);
  }
  batch_.clear();
}

// ---- errors ----

void Transmit::fail(Sq& sq, const SendOutcome& outcome) noexcept {
  if (sq.state != QueueState::ready) return;
  const std::byte* wqe = sq.ring.at(sq.fetched);
  const std::uint32_t opcode = wqe ? ctrl_of(wqe).opmod_idx_opcode & 0xff : 0;
  const FaultInfo& fault = info(outcome.fault);
  report(card_, outcome.fault, sq.number, "SQ 0x%x: request %u (opcode 0x%02x): %s (0x%x)", sq.number,
         sq.fetched, opcode, fault.meaning, outcome.detail);
  sq.state = QueueState::error;
  completions_.write_error(*sq.cq, prm::cqe_opcode::requester_error, outcome.fault, opcode << 24 | sq.number,
                           sq.fetched, sq.user_index);
  const std::uint32_t blocks = wqe ? blocks_of(ctrl_of(wqe).qpn_ds & prm::max_ds) : 1;
  const std::uint32_t left = static_cast<std::uint16_t>(sq.posted - sq.fetched);
  sq.fetched = static_cast<std::uint16_t>(sq.fetched + std::min(blocks, left));
  if (sq.flush_in_error) flush(sq);
}

void Transmit::flush(Sq& sq) noexcept {
  while (sq.fetched != sq.posted) {
    const std::byte* wqe = sq.ring.at(sq.fetched);
    if (!wqe) {
      sq.fetched = sq.posted;
      return;
    }
    const prm::WqeCtrl& ctrl = ctrl_of(wqe);
    const std::uint32_t opcode = ctrl.opmod_idx_opcode & 0xff;
    const std::uint32_t left = static_cast<std::uint16_t>(sq.posted - sq.fetched);
    const std::uint32_t blocks = std::min(blocks_of(ctrl.qpn_ds & prm::max_ds), left);
    // "On first error": the first was reported.
    constexpr auto always_and_eqe = static_cast<std::uint8_t>(prm::wqe_ce::always_and_eqe);
    const bool silent =
        (ctrl.fm_ce_se & always_and_eqe) == static_cast<std::uint8_t>(prm::wqe_ce::on_first_error);
    if (!silent) {
      completions_.write_error(*sq.cq, prm::cqe_opcode::requester_error, Fault::flushed,
                               opcode << 24 | sq.number, sq.fetched, sq.user_index);
    }
    sq.fetched = static_cast<std::uint16_t>(sq.fetched + blocks);
  }
}

void Transmit::state_changed(Sq& sq, QueueState from) noexcept {
  if (sq.state == QueueState::reset || (from == QueueState::reset && sq.state == QueueState::ready)) {
    remove(sq);
    sq.posted = sq.fetched = 0;
    sq.awaits_announced = false;
  }
  if (sq.state == QueueState::error) {
    remove(sq);
    completions_.begin_burst();
    if (sq.flush_in_error) flush(sq);
  }
}

void Transmit::forget(Sq& sq) noexcept {
  remove(sq);
}

}  // namespace chime::model
