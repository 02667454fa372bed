// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/array.h"
#include "base/error.h"
#include "hca/device.h"
#include "hca/memory.h"
#include "prm/cqe.h"
#include "prm/doorbell.h"
#include "prm/wqe.h"

/// @file
/// Queues as RAII objects over typed commands. They own memory and objects; the datapath takes the plain
/// pointers. Numbers are logarithms where the manual has logarithms. Control path.

namespace chime::hca {

/// Completion queue. The ring is initialised with `invalid` entries owned by the card.
class CompletionQueue {
 public:
  struct Config {
    std::uint8_t log_size;   ///< entries
    std::uint32_t uar_page;  ///< the one UAR on which it can be armed
    std::uint32_t eqn;       ///< event queue of its completion vector
    int socket;              ///< NUMA node of the memory
  };
  static Result<CompletionQueue> create(Device& device, const Config& config) noexcept;

  prm::Cqe* ring() const noexcept { return reinterpret_cast<prm::Cqe*>(memory_.at(0)); }
  prm::CqRecord* record() const noexcept {
    return reinterpret_cast<prm::CqRecord*>(memory_.at(record_offset_));
  }
  const Object& object() const noexcept { return object_; }
  std::uint32_t number() const noexcept { return object_.number(); }

 private:
  QueueMemory memory_;  // outlives object_
  std::size_t record_offset_ = 0;
  Object object_;
};

enum class QueueState : std::uint8_t { reset = 0, ready = 1, error = 3 };

/// Send queue of raw Ethernet frames.
class SendQueue {
 public:
  struct Config {
    std::uint8_t log_size;  ///< basic blocks
    std::uint32_t cqn;
    std::uint32_t uar_page;
    std::uint32_t pd;
    std::uint32_t tisn;
    std::uint8_t min_inline_mode;  ///< 0 none, 1 L2, 2 IP, 3 TCP/UDP
    bool allow_multi_packet;
    int socket;
    std::uint8_t timestamp_format = 0;  ///< 0 free-running, 1 the card's default, 2 real time
  };
  static Result<SendQueue> create(Device& device, const Config& config) noexcept;  ///< in state reset
  Result<> modify(QueueState from, QueueState to) noexcept;
  Result<QueueState> state() const noexcept;

  std::byte* ring() const noexcept { return memory_.at(0); }
  prm::WqRecord* record() const noexcept {
    return reinterpret_cast<prm::WqRecord*>(memory_.at(record_offset_));
  }
  const Object& object() const noexcept { return object_; }
  std::uint32_t number() const noexcept { return object_.number(); }

 private:
  QueueMemory memory_;
  std::size_t record_offset_ = 0;
  Object object_;
};

/// Cyclic receive queue.
class ReceiveQueue {
 public:
  struct Config {
    std::uint8_t log_size;    ///< WQEs
    std::uint8_t log_stride;  ///< bytes a WQE: 4 (one segment) .. 9
    std::uint32_t cqn;
    std::uint32_t pd;
    bool vlan_strip;
    bool scatter_fcs;
    std::uint8_t counter_set_id;  ///< Q counter for packets that found no buffer
    int socket;
    std::uint8_t timestamp_format = 0;  ///< 0 free-running, 1 the card's default, 2 real time
  };
  static Result<ReceiveQueue> create(Device& device, const Config& config) noexcept;  ///< in state reset
  Result<> modify(QueueState from, QueueState to) noexcept;
  Result<> set_vlan_strip(bool on) noexcept;
  Result<QueueState> state() const noexcept;

  std::byte* ring() const noexcept { return memory_.at(0); }
  prm::WqRecord* record() const noexcept {
    return reinterpret_cast<prm::WqRecord*>(memory_.at(record_offset_));
  }
  const Object& object() const noexcept { return object_; }
  std::uint32_t number() const noexcept { return object_.number(); }

 private:
  QueueMemory memory_;
  std::size_t record_offset_ = 0;
  Object object_;
};

}  // namespace chime::hca
