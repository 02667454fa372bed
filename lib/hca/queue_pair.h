// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/error.h"
#include "hca/device.h"
#include "hca/memory.h"
#include "hca/port.h"
#include "prm/doorbell.h"

/// @file
/// Reliable-connection queue pair as an RAII object over typed commands. Control path.
///
///      ring, receive requests first, in one piece of memory
///     +------------------------------+-----------------------------+------------+
///     | receive WQEs, 16 bytes each  | send basic blocks, 64 bytes | record     |
///     +------------------------------+-----------------------------+------------+

namespace chime::hca {

using Gid = std::array<std::uint8_t, 16>;

class QueuePair {
 public:
  /// As the manual numbers them.
  enum class State : std::uint8_t { reset = 0, init = 1, rtr = 2, rts = 3, sqer = 4, err = 6, sqd = 7 };

  struct Config {
    std::uint8_t log_send_size;     ///< basic blocks
    std::uint8_t log_receive_size;  ///< receive WQEs of one segment; see has_receive
    bool has_receive;
    std::uint32_t send_cqn;
    std::uint32_t receive_cqn;
    std::uint32_t uar_page;
    std::uint32_t pd;
    int socket;  ///< NUMA node of the memory
  };
  static Result<QueuePair> create(Device& device, const Config& config) noexcept;  ///< in state reset

  /// What the other end may do.
  struct Rights {
    bool read = false;
    bool write = false;
    bool atomic = false;
    std::uint8_t atomic_mode = 0;    ///< prm::atomic_mode, where `atomic`
    bool atomic_like_write = false;  ///< writes are atomic against atomics
  };
  Result<> to_init(const Rights& rights) noexcept;

  /// The way to the other end, and what this end answers.
  struct Peer {
    std::uint32_t qpn;
    std::uint32_t receive_psn;  ///< the other end's first
    Gid gid;
    MacAddress mac;
    std::uint8_t gid_index;  ///< own address: place in the GID table
    std::uint8_t mtu;        ///< prm::qpc_mtu
    std::uint8_t hop_limit;
    std::uint8_t traffic_class;  ///< DSCP and ECN
    std::uint8_t ack_timeout;    ///< 4.096 us << n; 0: for ever
    std::uint8_t min_rnr_timer;  ///< code of the AETH's timer
    std::uint8_t log_responder_depth;
    std::uint16_t udp_source_port;
  };
  Result<> to_rtr(const Peer& peer, const Rights& rights) noexcept;

  struct Sending {
    std::uint32_t send_psn;
    std::uint8_t retry_count;  ///< 0 to 7
    std::uint8_t rnr_retry;    ///< 0 to 6, 7: for ever
    std::uint8_t ack_timeout;
    std::uint8_t log_initiator_depth;
  };
  Result<> to_rts(const Sending& sending) noexcept;
  Result<> to_error() noexcept;
  Result<> to_reset() noexcept;

  struct Status {
    State state;
    std::uint32_t send_psn;      ///< next
    std::uint32_t receive_psn;   ///< next expected
    std::uint16_t taken_blocks;  ///< send basic blocks that the card has taken
    std::uint16_t known_blocks;  ///< send basic blocks that the card knows to be posted
  };
  Result<Status> query() const noexcept;

  std::byte* send_ring() const noexcept { return memory_.at(send_offset_); }
  std::byte* receive_ring() const noexcept { return memory_.at(0); }
  prm::WqRecord* record() const noexcept {
    return reinterpret_cast<prm::WqRecord*>(memory_.at(record_offset_));
  }
  const Object& object() const noexcept { return object_; }
  std::uint32_t number() const noexcept { return object_.number(); }

 private:
  QueueMemory memory_;  // outlives object_
  std::size_t send_offset_ = 0;
  std::size_t record_offset_ = 0;
  Object object_;
};

}  // namespace chime::hca
