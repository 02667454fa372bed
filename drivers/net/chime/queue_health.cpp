// SPDX-License-Identifier: BSD-3-Clause
#include "queue_health.h"

namespace chime::net {

const char* syndrome_text(std::uint8_t syndrome) noexcept {
  using prm::cqe_syndrome;
  switch (static_cast<cqe_syndrome>(syndrome)) {
    case cqe_syndrome::local_length:
      return "local length error: a packet and the buffers of its WQE do not fit each other";
    case cqe_syndrome::local_qp_operation:
      return "local queue operation error: the WQE is malformed";
    case cqe_syndrome::local_protection:
      return "local protection error: a segment's lkey does not allow its address";
    case cqe_syndrome::flushed:
      return "flushed: the queue was in error already";
    case cqe_syndrome::memory_window_bind:
      return "memory window bind error";
    case cqe_syndrome::bad_response:
      return "bad response error";
    case cqe_syndrome::local_access:
      return "local access error: a buffer's key does not allow writing";
    case cqe_syndrome::remote_invalid_request:
      return "remote invalid request error";
    case cqe_syndrome::remote_access:
      return "remote access error";
    case cqe_syndrome::remote_operation:
      return "remote operation error";
    case cqe_syndrome::transport_retry_exceeded:
      return "transport retries exceeded";
    case cqe_syndrome::rnr_retry_exceeded:
      return "receiver-not-ready retries exceeded";
    case cqe_syndrome::remote_aborted:
      return "aborted by the remote side";
  }
  return "unknown syndrome";
}

Error describe(const QueueError& error, std::uint16_t port_id, const char* direction,
               std::uint16_t queue) noexcept {
  const bool from_card =
      error.opcode == prm::cqe_opcode::requester_error || error.opcode == prm::cqe_opcode::responder_error;
  if (!from_card) {
    return Error::make(EIO, "port %u %s queue %u: CQE with opcode 0x%x, which no packet queue gets", port_id,
                       direction, queue, static_cast<unsigned>(error.opcode));
  }
  return Error::make(EIO, "port %u %s queue %u: error CQE of WQE %u, syndrome 0x%02x (vendor 0x%02x): %s",
                     port_id, direction, queue, error.wqe_counter, error.syndrome, error.vendor_syndrome,
                     syndrome_text(error.syndrome));
}

}  // namespace chime::net
