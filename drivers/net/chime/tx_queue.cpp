// SPDX-License-Identifier: BSD-3-Clause
#include "tx_queue.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace chime::net {
namespace {

/// Blocks after which a completion is asked for: often enough to refill a quarter of the ring, seldom
/// enough to be cheap.
std::uint16_t request_interval(const TxQueueConfig& config) noexcept {
  const unsigned wanted = config.conf.tx_rs_thresh == 0 ? 32 : config.conf.tx_rs_thresh;
  return static_cast<std::uint16_t>(std::clamp(wanted, 1u, config.descriptors / 4u));
}

/// CQEs that can be outstanding: one an interval, one of a queue that was idle, one of an error; doubled.
std::uint8_t log_cq_size(const TxQueueConfig& config) noexcept {
  const unsigned requests = config.descriptors / request_interval(config) + 2;
  return static_cast<std::uint8_t>(std::bit_width(requests) + 1);
}

std::uint16_t inline_size(const QueueContext& context, const TxQueueConfig& config) noexcept {
  const bool tags = (config.conf.offloads & RTE_ETH_TX_OFFLOAD_VLAN_INSERT) != 0 && !context.vlan_insert;
  return tx_inline_size(std::max<std::uint8_t>(context.min_inline_mode, tags ? 1 : 0));
}

}  // namespace

Result<Owned<TxQueueControl>> TxQueueControl::create(const QueueContext& context,
                                                     const TxQueueConfig& config) noexcept {
  if (!std::has_single_bit(config.descriptors) || config.descriptors < min_descriptors ||
      config.descriptors > max_descriptors) {
    return fail(EINVAL, "%u descriptors; a power of two from %u to %u is possible", config.descriptors,
                min_descriptors, max_descriptors);
  }
  Result<Owned<TxQueueControl>> made = make_owned<TxQueueControl>("a send queue", Token{});
  if (!made) return made;
  TxQueueControl& control = **made;
  control.config_ = config;
  const auto log_size = static_cast<std::uint8_t>(std::countr_zero(config.descriptors));
  if (Result<> done = control.make_objects(context, log_size, log_cq_size(config)); !done)
    return fail(done.error());

  Result<EalMemory<rte_mbuf*>> slots =
      EalMemory<rte_mbuf*>::make(config.descriptors, config.socket, "chime_tx_mbufs");
  if (!slots) return fail(slots.error());
  Result<EalMemory<TxQueue>> fast = EalMemory<TxQueue>::make(1, config.socket, "chime_tx_queue");
  if (!fast) return fail(fast.error());
  control.mbufs_ = std::move(*slots);
  control.fast_ = std::move(*fast);

  TxQueue& q = *control.fast_;
  q.wqes = control.sq_.ring();
  q.mbufs = control.mbufs_.get();
  q.cqes = control.cq_.ring();
  q.sq_record = control.sq_.record();
  q.cq_record = control.cq_.record();
  q.keys = &context.memory.shared();
  q.max_frame = config.max_frame;
  q.request_interval = request_interval(config);
  q.log_size = log_size;
  q.log_cq_size = log_cq_size(config);
  q.sqn_shifted = prm::wqe_qpn_ds(control.sq_.number(), 0);
  q.max_ds = static_cast<std::uint16_t>(std::min(context.max_ds, prm::max_ds));
  q.inline_size = inline_size(context, config);
  q.max_large_send = context.max_large_send;
  q.tunnels = context.tunnels;
  q.doorbell = control.uar_.send;
  q.port_id = context.port_id;
  q.queue_id = config.queue;
  return made;
}

Result<> TxQueueControl::make_objects(const QueueContext& context, std::uint8_t log_size,
                                      std::uint8_t log_cq_size) noexcept {
  Result<hca::Uar> uar = context.device.alloc_uar();
  if (!uar) return fail(uar.error());
  uar_ = std::move(*uar);
  Result<std::uint32_t> eqn = context.device.query_eqn(0);
  if (!eqn) return fail(eqn.error());
  Result<hca::CompletionQueue> cq = hca::CompletionQueue::create(
      context.device,
      {.log_size = log_cq_size, .uar_page = uar_.page_id(), .eqn = *eqn, .socket = config_.socket});
  if (!cq) return fail(cq.error());
  cq_ = std::move(*cq);
  Result<hca::SendQueue> sq =
      hca::SendQueue::create(context.device, {.log_size = log_size,
                                              .cqn = cq_.number(),
                                              .uar_page = uar_.page_id(),
                                              .pd = context.pd.number(),
                                              .tisn = context.tis.number(),
                                              .min_inline_mode = context.min_inline_mode,
                                              .allow_multi_packet = false,
                                              .socket = config_.socket});
  if (!sq) return fail(sq.error());
  sq_ = std::move(*sq);
  return {};
}

TxQueueControl::~TxQueueControl() {
  if (!started_ || stop()) return;
  // The card would not let go: ending the object makes it.
  { const hca::SendQueue ended = std::move(sq_); }
  tx_free_mbufs(*fast_);
}

Result<> TxQueueControl::start() noexcept {
  const std::scoped_lock lock(mutex_);
  if (started_) return fail(EALREADY, "send queue %u is started already", config_.queue);
  tx_release(*fast_);
  fast_->health.stage.store(Health::good, std::memory_order_release);
  if (Result<> done = sq_.modify(hca::QueueState::reset, hca::QueueState::ready); !done)
    return fail(done.error().within("start of send queue %u", config_.queue));
  started_ = true;
  return {};
}

Result<> TxQueueControl::stop() noexcept {
  const std::scoped_lock lock(mutex_);
  if (!started_) return {};
  if (Result<> done = to_reset(); !done)
    return fail(done.error().within("stop of send queue %u", config_.queue));
  tx_release(*fast_);
  fast_->health.stage.store(Health::good, std::memory_order_release);
  started_ = false;
  return {};
}

/// From whatever state the card has it in.
Result<> TxQueueControl::to_reset() noexcept {
  const Result<hca::QueueState> now = sq_.state();
  if (!now) return fail(now.error());
  if (*now == hca::QueueState::reset) return {};
  return sq_.modify(*now, hca::QueueState::reset);
}

void TxQueueControl::set_max_frame(std::uint32_t bytes) noexcept {
  config_.max_frame = bytes;
  std::atomic_ref(fast_->max_frame).store(bytes, std::memory_order_relaxed);
}

void TxQueueControl::info(rte_eth_txq_info& info) const noexcept {
  info.conf = config_.conf;
  info.conf.tx_rs_thresh = fast_->request_interval;
  info.nb_desc = config_.descriptors;
}

std::optional<Error> TxQueueControl::recover() noexcept {
  const Health stage = fast_->health.stage.load(std::memory_order_acquire);
  if (stage != Health::failed && stage != Health::rewound) return std::nullopt;
  const std::scoped_lock lock(mutex_);
  // A stop may have come between.
  if (!started_ || fast_->health.stage.load(std::memory_order_acquire) != stage) return std::nullopt;
  const Result<> done =
      stage == Health::failed ? to_reset() : sq_.modify(hca::QueueState::reset, hca::QueueState::ready);
  if (!done) {
    if (std::exchange(recovery_fails_, true)) return std::nullopt;
    return done.error().within("recovery of port %u Tx queue %u, will be tried again", fast_->port_id,
                               fast_->queue_id);
  }
  recovery_fails_ = false;
  std::optional<Error> what;
  if (stage == Health::failed) what = describe(fast_->health.error, fast_->port_id, "Tx", fast_->queue_id);
  fast_->health.stage.store(stage == Health::failed ? Health::quiesced : Health::good,
                            std::memory_order_release);
  return what;
}

}  // namespace chime::net
