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
#include "rx_burst.h"
#include "rxq.h"

namespace chime::net {

struct RxQueueConfig {
  std::uint16_t queue;        ///< index in the port
  std::uint16_t descriptors;  ///< mbufs to post; a power of two
  int socket;
  rte_mempool* pool;
  rte_eth_rxconf conf;      ///< offloads: the port's and the queue's together
  std::uint32_t max_frame;  ///< longest frame to take, bytes, with L2 header (and FCS if kept)
  std::uint32_t uar_page;   ///< for a CQ that is never armed; may be shared
  bool interrupt;           ///< the queue gets a UAR of its own, and rx_interrupt_arm works
  std::uint32_t vector;     ///< completion vector
};

/// The control side of a receive queue: owns its CQ and RQ and the burst's data. Thread-safe.
class RxQueueControl {
  struct Token {};

 public:
  static constexpr std::uint16_t min_descriptors = 64;
  static constexpr std::uint16_t max_descriptors = 32768;

  /// Checks everything, makes CQ and RQ (in RST) and the plain data.
  /// @return EINVAL for a data room that is too small, a size that is not a power of two, ...; what the HCA
  /// said
  static Result<Owned<RxQueueControl>> create(const QueueContext& context,
                                              const RxQueueConfig& config) noexcept;
  explicit RxQueueControl(Token) noexcept {}
  /// Stops. No burst may run.
  ~RxQueueControl();

  /// Posts mbufs, RST -> RDY. EALREADY when started.
  Result<> start() noexcept;
  /// RDY -> RST, all mbufs back to their pool. No burst may run. Fine when stopped already.
  Result<> stop() noexcept;
  bool started() const noexcept { return started_; }

  /// What goes to rte_eth_dev_data::rx_queues.
  RxQueue* fast() const noexcept { return fast_.get(); }
  /// RQ number, for TIRs and RQTs.
  std::uint32_t number() const noexcept { return rq_.number(); }
  /// For completion events (when made with `interrupt`).
  const hca::Object& cq() const noexcept { return cq_.object(); }
  RxVariant variant() const noexcept { return rx_variant(*fast_); }

  Result<> set_vlan_strip(bool on) noexcept;
  /// All of rte_eth_rxq_info but queue_state.
  void info(rte_eth_rxq_info& info) const noexcept;

  RxCounters counters() const noexcept { return snapshot(fast_->counters, base_); }
  void reset_counters() noexcept { base_ = snapshot(fast_->counters, RxCounters{}); }

  /// Moves recovery from an error CQE on (queue_health.h). To be polled by a control thread, about every
  /// 10 ms. @return what there is to log, once an error; or why recovery failed
  std::optional<Error> recover() noexcept;

 private:
  Result<> make_objects(const QueueContext& context, std::uint8_t log_size, std::uint8_t log_slots) noexcept;
  Result<> to_reset() noexcept;

  RxQueueConfig config_{};
  // Users go first: RQ, then CQ, then the UAR.
  hca::Uar uar_;
  EalMemory<rte_mbuf*> mbufs_;
  EalMemory<RxQueue> fast_;
  hca::CompletionQueue cq_;
  hca::ReceiveQueue rq_;
  RxCounters base_{};
  std::mutex mutex_;  // state changes
  bool started_ = false;
  bool recovery_fails_ = false;  // and that was reported
};

}  // namespace chime::net
