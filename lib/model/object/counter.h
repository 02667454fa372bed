// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "model/object/object.h"

namespace chime::model {

/// Software adds; queries read, and clear when asked to.
struct QCounter final : Object {
  QCounter() noexcept : Object(Kind::q_counter) {}

  std::uint64_t rx_write_requests = 0;
  std::uint64_t rx_read_requests = 0;
  std::uint64_t rx_atomic_requests = 0;
  std::uint64_t out_of_buffer = 0;
  std::uint64_t out_of_sequence = 0;
  std::uint64_t duplicate_request = 0;
  std::uint64_t rnr_nak_retry_err = 0;
  std::uint64_t packet_seq_err = 0;
  std::uint64_t implied_nak_seq_err = 0;
  std::uint64_t local_ack_timeout_err = 0;
  std::uint64_t resp_local_length_error = 0;
  std::uint64_t resp_cqe_error = 0;
  std::uint64_t resp_cqe_flush_error = 0;
  std::uint64_t resp_remote_access_errors = 0;
  std::uint64_t req_cqe_error = 0;
  std::uint64_t req_cqe_flush_error = 0;
  std::uint64_t req_remote_access_errors = 0;
  std::uint64_t req_remote_invalid_request = 0;
};

struct FlowCounter final : Object {
  FlowCounter() noexcept : Object(Kind::flow_counter) {}

  std::uint64_t packets = 0;
  std::uint64_t octets = 0;
};

}  // namespace chime::model
