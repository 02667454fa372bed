// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <rte_ethdev.h>

#include <cstdint>
#include <mutex>
#include <optional>

#include "base/array.h"
#include "base/error.h"
#include "eal_memory.h"
#include "hca/queues.h"
#include "queue_context.h"
#include "tx_burst.h"
#include "txq.h"

namespace chime::net {

struct TxQueueConfig {
  std::uint16_t queue;        ///< index in the port
  std::uint16_t descriptors;  ///< basic blocks of 64 bytes, a packet takes one or more; a power of two
  int socket;
  rte_eth_txconf conf;      ///< offloads: the port's and the queue's together
  std::uint32_t max_frame;  ///< longest frame to send, bytes, with L2 header
};

/// The control side of a send queue: owns its UAR, CQ and SQ and the burst's data. Thread-safe.
class TxQueueControl {
  struct Token {};

 public:
  static constexpr std::uint16_t min_descriptors = 64;
  static constexpr std::uint16_t max_descriptors = 32768;

  /// Checks everything, makes UAR, CQ and SQ (in RST) and the plain data.
  static Result<Owned<TxQueueControl>> create(const QueueContext& context,
                                              const TxQueueConfig& config) noexcept;
  explicit TxQueueControl(Token) noexcept {}
  /// Stops. No burst may run.
  ~TxQueueControl();

  /// RST -> RDY. EALREADY when started.
  Result<> start() noexcept;
  /// RDY -> RST, all mbufs freed. No burst may run. Fine when stopped already.
  Result<> stop() noexcept;
  bool started() const noexcept { return started_; }

  /// What goes to rte_eth_dev_data::tx_queues.
  TxQueue* fast() const noexcept { return fast_.get(); }
  std::uint32_t number() const noexcept { return sq_.number(); }
  TxVariant variant() const noexcept { return tx_variant(config_.conf.offloads, fast_->inline_size); }

  /// After an MTU change; also while running.
  void set_max_frame(std::uint32_t bytes) noexcept;
  /// All of rte_eth_txq_info but queue_state.
  void info(rte_eth_txq_info& info) const noexcept;

  TxCounters counters() const noexcept { return snapshot(fast_->counters, base_); }
  void reset_counters() noexcept { base_ = snapshot(fast_->counters, TxCounters{}); }

  /// Moves recovery from an error CQE on (queue_health.h). To be polled by a control thread, about every
  /// 10 ms. @return what there is to log, once an error; or why recovery failed
  std::optional<Error> recover() noexcept;

 private:
  Result<> make_objects(const QueueContext& context, std::uint8_t log_size,
                        std::uint8_t log_cq_size) noexcept;
  Result<> to_reset() noexcept;

  TxQueueConfig config_{};
  // Users go first: SQ, then CQ, then the UAR.
  hca::Uar uar_;
  EalMemory<rte_mbuf*> mbufs_;
  EalMemory<TxQueue> fast_;
  hca::CompletionQueue cq_;
  hca::SendQueue sq_;
  TxCounters base_{};
  std::mutex mutex_;  // state changes
  bool started_ = false;
  bool recovery_fails_ = false;  // and that was reported
};

}  // namespace chime::net
