// SPDX-License-Identifier: BSD-3-Clause
#include "model/command/handlers.h"

namespace chime::model {

void alloc_q_counter(Command& c, In<prm::alloc_q_counter>, Out<prm::alloc_q_counter> out) noexcept {
  auto counter = c.make<QCounter>();
  if (!counter) return;
  if (auto* made = c.publish(c.card.q_counters, std::move(counter))) {
    out.set(prm::alloc_q_counter_out::counter_set_id, made->number);
  }
}

void query_q_counter(Command& c, In<prm::query_q_counter> in, Out<prm::query_q_counter> out) noexcept {
  using O = prm::query_q_counter_out;
  QCounter* counter = c.find(c.card.q_counters, in.get(prm::query_q_counter_in::counter_set_id));
  if (!counter) return;
  // 32-bit counters of the manual: they wrap.
  auto put = [&](auto field, std::uint64_t QCounter::*from) {
    out.set(field, static_cast<std::uint32_t>(counter->*from));
    if (in.get(prm::query_q_counter_in::clear)) counter->*from = 0;
  };
  put(O::rx_write_requests, &QCounter::rx_write_requests);
  put(O::rx_read_requests, &QCounter::rx_read_requests);
  put(O::rx_atomic_requests, &QCounter::rx_atomic_requests);
  put(O::out_of_buffer, &QCounter::out_of_buffer);
  put(O::out_of_sequence, &QCounter::out_of_sequence);
  put(O::duplicate_request, &QCounter::duplicate_request);
  put(O::rnr_nak_retry_err, &QCounter::rnr_nak_retry_err);
  put(O::packet_seq_err, &QCounter::packet_seq_err);
  put(O::implied_nak_seq_err, &QCounter::implied_nak_seq_err);
  put(O::local_ack_timeout_err, &QCounter::local_ack_timeout_err);
  put(O::resp_local_length_error, &QCounter::resp_local_length_error);
  put(O::resp_cqe_error, &QCounter::resp_cqe_error);
  put(O::resp_cqe_flush_error, &QCounter::resp_cqe_flush_error);
  put(O::resp_remote_access_errors, &QCounter::resp_remote_access_errors);
  put(O::req_cqe_error, &QCounter::req_cqe_error);
  put(O::req_cqe_flush_error, &QCounter::req_cqe_flush_error);
  put(O::req_remote_access_errors, &QCounter::req_remote_access_errors);
  put(O::req_remote_invalid_request, &QCounter::req_remote_invalid_request);
}

void dealloc_q_counter(Command& c, In<prm::dealloc_q_counter> in, Out<prm::dealloc_q_counter>) noexcept {
  if (auto* counter = c.find(c.card.q_counters, in.get(prm::dealloc_q_counter_in::counter_set_id))) {
    c.retire(c.card.q_counters, *counter);
  }
}

}  // namespace chime::model
