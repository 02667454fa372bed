// SPDX-License-Identifier: BSD-3-Clause
#include "model/command/work_queue.h"

#include "model/command/pages.h"

namespace chime::model {
namespace {

using W = prm::wq;

bool known(std::uint32_t state) noexcept {
  return state == static_cast<std::uint32_t>(QueueState::reset) ||
         state == static_cast<std::uint32_t>(QueueState::ready) ||
         state == static_cast<std::uint32_t>(QueueState::error);
}

/// RST to RDY and ERR; RDY to ERR and RST; ERR to RST. A state to itself changes other things.
bool possible(QueueState from, QueueState to) noexcept {
  return from == to || from != QueueState::error || to == QueueState::reset;
}

}  // namespace

bool read_work_queue(Command& c, prm::ConstView<W> wq, WorkQueueLimits limits, Ring& ring,
                     Buffer& record) noexcept {
  const std::uint32_t log_size = wq.get(W::log_wq_sz);
  const std::uint32_t log_stride = wq.get(W::log_wq_stride);
  const std::uint32_t largest = c.card.capabilities.general().get(prm::cmd_hca_cap::log_max_wq_sz);
  const prm::wq_type type = wq.get(W::wq_type);
  const bool strides =
      type == prm::wq_type::linked_list_striding_rq || type == prm::wq_type::cyclic_striding_rq;
  if (type != limits.type && !(strides && limits.strides)) {
    c.refuse(Rule::wq_type, 0, "wq_type %u; there are %s here", static_cast<unsigned>(type),
             limits.type == prm::wq_type::linked_list ? "linked lists (0)"
             : limits.strides ? "1 (cyclic), 2 (striding linked list) and 3 (striding cyclic)"
                              : "cyclic queues (1)");
    return false;
  }
  if (log_size > largest) {
    c.refuse(Rule::wq_size, 0, "2^%u entries; the card allows 2^%u (log_max_wq_sz)", log_size, largest);
    return false;
  }
  if (log_stride < limits.min_log_stride || log_stride > limits.max_log_stride) {
    c.refuse(Rule::wq_stride, 0, "a stride of 2^%u bytes; the card allows 2^%u to 2^%u", log_stride,
             limits.min_log_stride, limits.max_log_stride);
    return false;
  }
  if (!c.absent(wq.get(W::wq_signature), Rule::wq_feature, "wq_signature") ||
      !c.absent(wq.get(W::cd_slave), Rule::wq_feature, "cd_slave") ||
      !c.absent(wq.get(W::shampo_enable), Rule::wq_feature, "shampo_enable") ||
      (!strides && !c.absent(wq.get(W::two_byte_shift_en), Rule::wq_feature, "two_byte_shift_en"))) {
    return false;
  }
  const QueueIn place{
      .umem_valid = wq.get(W::wq_umem_valid) != 0,
      .umem_id = wq.get(W::wq_umem_id),
      .umem_offset = wq.get(W::wq_umem_offset),
      .pages = page_list(wq.bytes().subspan(W::size), wq.get(W::log_wq_pg_sz), wq.get(W::page_offset)),
      .length = std::uint64_t{1} << (log_size + log_stride),
      .alignment = std::uint64_t{1} << log_stride};
  if (!place_queue(c, place, ring.buffer)) return false;
  ring.log_size = static_cast<std::uint8_t>(log_size);
  ring.log_stride = static_cast<std::uint8_t>(log_stride);
  return place_record(c, wq.get(W::dbr_umem_valid) != 0, wq.get(W::dbr_umem_id), wq.get(W::dbr_addr), record);
}

bool read_timestamp_format(Command& c, prm::timestamp_format wanted, std::uint32_t offered,
                           TimestampFormat& format) noexcept {
  const bool free_running = offered != 1;
  const bool real_time = offered != 0;
  switch (wanted) {
    case prm::timestamp_format::free_running:
      format = TimestampFormat::free_running;
      if (free_running) return true;
      break;
    case prm::timestamp_format::default_:
      format = free_running ? TimestampFormat::standard : TimestampFormat::real_time;
      return true;
    case prm::timestamp_format::real_time:
      format = TimestampFormat::real_time;
      if (real_time) return true;
      break;
  }
  c.refuse(Rule::timestamp_format, 0, "ts_format %u; this card has %s", static_cast<unsigned>(wanted),
           offered == 0 ? "0 (free running)" : "2 (real time)");
  return false;
}

bool read_transition(Command& c, const Object& queue, QueueState now, std::uint32_t believed,
                     std::uint32_t wanted) noexcept {
  if (believed != static_cast<std::uint32_t>(now)) {
    c.refuse(Rule::state_mismatch, queue.number, "%s %#x is in state %s (%u), the command believes in %u",
             name(queue.kind), queue.number, name(now), static_cast<unsigned>(now), believed);
    return false;
  }
  if (!known(wanted) || !possible(now, static_cast<QueueState>(wanted))) {
    c.refuse(Rule::state_transition, queue.number, "%s %#x can't go from %s to state %u%s", name(queue.kind),
             queue.number, name(now), wanted, now == QueueState::error ? "; RST (0) comes first" : "");
    return false;
  }
  return true;
}

}  // namespace chime::model
