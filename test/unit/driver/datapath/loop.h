// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "drivers/net/chime/queue_context.h"
#include "drivers/net/chime/rx_queue.h"
#include "drivers/net/chime/tx_queue.h"
#include "hca/memory.h"
#include "hca/receive_path.h"
#include "hca/runtime.h"
#include "hca/steering.h"
#include "rings.h"

namespace chime::net {

/// An embedded HCA with its wire looped, stepped by the test, and what queues need of a port. Everything that
/// comes in goes to the queue that was led to.
class Loop {
 public:
  explicit Loop(const char* wire = "loop");

  QueueContext context();
  hca::Device& device() { return *device_; }
  /// What leads the port's packets to a queue; ends before the queue.
  struct Lead {
    hca::Object tir, rule;  // the rule goes first
  };
  [[nodiscard]] Lead lead_to(const RxQueueControl& queue);
  /// Lets the card work until it has nothing to do.
  void run();
  /// Live objects on the card.
  std::uint32_t objects();

  RxQueueConfig rx_config(const Pool& pool) const;
  TxQueueConfig tx_config() const;

 private:
  Owned<hca::Runtime> runtime_;
  Owned<hca::Device> device_;
  hca::Object pd_, td_, tis_, q_counter_;
  Owned<hca::MemoryMap> memory_;
  hca::Uar uar_;
};

/// Bursts of what a control object made, by its own variant.
std::vector<rte_mbuf*> receive(RxQueueControl& queue, std::uint16_t most = 64);
std::uint16_t send(TxQueueControl& queue, std::span<rte_mbuf*> packets);

/// The value of a result that a test cannot go on without.
template <class T>
T must(Result<T>&& result) {
  if (!result) throw std::runtime_error(result.error().text);
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

}  // namespace chime::net
