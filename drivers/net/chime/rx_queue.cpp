// SPDX-License-Identifier: BSD-3-Clause
#include "rx_queue.h"

#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "packet_info.h"
#include "rx_pool.h"

namespace chime::net {
namespace {

/// The WQE of a packet of `max_frame` bytes.
struct Shape {
  std::uint16_t segments;
  std::uint8_t log_slots;
  std::uint8_t log_size;
};

Result<Shape> shape_of(const RxQueueConfig& config, const PoolLayout& layout) noexcept {
  if (!std::has_single_bit(config.descriptors) || config.descriptors < RxQueueControl::min_descriptors ||
      config.descriptors > RxQueueControl::max_descriptors) {
    return fail(EINVAL, "%u descriptors; a power of two from %u to %u is possible", config.descriptors,
                RxQueueControl::min_descriptors, RxQueueControl::max_descriptors);
  }
  const std::uint32_t segments = (config.max_frame + layout.buffer_size - 1) / layout.buffer_size;
  if (segments > 1 && (config.conf.offloads & RTE_ETH_RX_OFFLOAD_SCATTER) == 0) {
    return fail(EINVAL,
                "mempool %s has room for %u bytes a packet, frames may have %u: a data room of %u bytes or "
                "RTE_ETH_RX_OFFLOAD_SCATTER would do",
                config.pool->name, layout.buffer_size, config.max_frame,
                config.max_frame + RTE_PKTMBUF_HEADROOM);
  }
  if (segments > max_rx_segments) {
    return fail(EINVAL,
                "mempool %s has room for %u bytes an mbuf, so a frame of %u bytes needs %u; %u are possible",
                config.pool->name, layout.buffer_size, config.max_frame, segments, max_rx_segments);
  }
  Shape shape{};
  shape.segments = static_cast<std::uint16_t>(segments);
  shape.log_slots = static_cast<std::uint8_t>(std::bit_width(segments - 1));
  const int log_size = std::countr_zero(config.descriptors) - shape.log_slots;
  if (log_size < 3) {
    return fail(EINVAL, "%u descriptors are too few for packets of %u mbufs; %u would do", config.descriptors,
                segments, 8u << shape.log_slots);
  }
  shape.log_size = static_cast<std::uint8_t>(log_size);
  return shape;
}

/// WQEs posted at once: what the application asks for, as far as it divides the ring and leaves most of it
/// posted.
std::uint16_t refill_threshold(const RxQueueConfig& config, unsigned log_size) noexcept {
  const unsigned wanted = config.conf.rx_free_thresh == 0 ? 32 : config.conf.rx_free_thresh;
  const unsigned most = std::min((1u << log_size) / 4, max_refill_batch);
  return static_cast<std::uint16_t>(std::bit_floor(std::clamp(wanted, 2u, most)));
}

std::uint32_t flag_mask(std::uint64_t offloads) noexcept {
  std::uint64_t flags = packet_info_vlan;
  if (offloads & RTE_ETH_RX_OFFLOAD_RSS_HASH) flags |= RTE_MBUF_F_RX_RSS_HASH;
  if (offloads & RTE_ETH_RX_OFFLOAD_IPV4_CKSUM) flags |= RTE_MBUF_F_RX_IP_CKSUM_MASK;
  if (offloads & (RTE_ETH_RX_OFFLOAD_TCP_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM))
    flags |= RTE_MBUF_F_RX_L4_CKSUM_MASK;
  return static_cast<std::uint32_t>(flags);
}

}  // namespace

Result<Owned<RxQueueControl>> RxQueueControl::create(const QueueContext& context,
                                                     const RxQueueConfig& config) noexcept {
  if (Result<> done = context.memory.add(*config.pool); !done) return fail(done.error());
  Result<PoolLayout> layout = layout_of(*config.pool, context.memory.shared());
  if (!layout) return fail(layout.error());
  Result<Shape> shape = shape_of(config, *layout);
  if (!shape) return fail(shape.error());

  Result<Owned<RxQueueControl>> made = make_owned<RxQueueControl>("a receive queue", Token{});
  if (!made) return made;
  RxQueueControl& control = **made;
  control.config_ = config;
  if (Result<> done = control.make_objects(context, shape->log_size, shape->log_slots); !done)
    return fail(done.error());

  const std::size_t mbufs = std::size_t{1} << (shape->log_size + shape->log_slots);
  Result<EalMemory<rte_mbuf*>> slots = EalMemory<rte_mbuf*>::make(mbufs, config.socket, "chime_rx_mbufs");
  if (!slots) return fail(slots.error());
  Result<EalMemory<RxQueue>> fast = EalMemory<RxQueue>::make(1, config.socket, "chime_rx_queue");
  if (!fast) return fail(fast.error());
  control.mbufs_ = std::move(*slots);
  control.fast_ = std::move(*fast);

  RxQueue& q = *control.fast_;
  q.cqes = control.cq_.ring();
  q.wqes = control.rq_.ring();
  q.mbufs = control.mbufs_.get();
  q.pool = config.pool;
  q.cq_record = control.cq_.record();
  q.rq_record = control.rq_.record();
  q.rearm = rx_rearm_data(context.port_id);
  q.flag_mask = flag_mask(config.conf.offloads);
  q.buffer_step = layout->buffer_step;
  q.refill_threshold = refill_threshold(config, shape->log_size);
  q.log_size = shape->log_size;
  q.log_slots = shape->log_slots;
  q.keys = &context.memory.shared();
  q.buffer_size = layout->buffer_size;
  q.segments = shape->segments;
  q.port_id = context.port_id;
  q.queue_id = config.queue;
  q.read_buf_addr = layout->read_buf_addr;
  q.many_keys = layout->many_keys;
  q.lkey = layout->lkey_be;
  q.cqn = control.cq_.number();
  if (config.conf.offloads & RTE_ETH_RX_OFFLOAD_TIMESTAMP) {
    if (rte_mbuf_dyn_rx_timestamp_register(&q.timestamp_offset, &q.timestamp_flag) != 0)
      return fail(rte_errno, "no room for a timestamp in mbufs (error %d)", rte_errno);
  }
  if (config.interrupt) {
    Result<hca::Doorbell> arm = context.device.arm_doorbell(control.uar_, control.cq_.object());
    if (!arm) return fail(arm.error());
    q.arm = *arm;
  }
  return made;
}

Result<> RxQueueControl::make_objects(const QueueContext& context, std::uint8_t log_size,
                                      std::uint8_t log_slots) noexcept {
  std::uint32_t uar_page = config_.uar_page;
  if (config_.interrupt) {
    Result<hca::Uar> uar = context.device.alloc_uar();
    if (!uar) return fail(uar.error());
    uar_ = std::move(*uar);
    uar_page = uar_.page_id();
  }
  Result<std::uint32_t> eqn = context.device.query_eqn(config_.vector);
  if (!eqn) return fail(eqn.error());
  Result<hca::CompletionQueue> cq = hca::CompletionQueue::create(
      context.device, {.log_size = log_size, .uar_page = uar_page, .eqn = *eqn, .socket = config_.socket});
  if (!cq) return fail(cq.error());
  cq_ = std::move(*cq);
  Result<hca::ReceiveQueue> rq = hca::ReceiveQueue::create(
      context.device, {.log_size = log_size,
                       .log_stride = static_cast<std::uint8_t>(4 + log_slots),
                       .cqn = cq_.number(),
                       .pd = context.pd.number(),
                       .vlan_strip = (config_.conf.offloads & RTE_ETH_RX_OFFLOAD_VLAN_STRIP) != 0,
                       .scatter_fcs = (config_.conf.offloads & RTE_ETH_RX_OFFLOAD_KEEP_CRC) != 0,
                       .counter_set_id = static_cast<std::uint8_t>(context.q_counter.number()),
                       .socket = config_.socket});
  if (!rq) return fail(rq.error());
  rq_ = std::move(*rq);
  return {};
}

RxQueueControl::~RxQueueControl() {
  if (!started_ || stop()) return;
  // The card would not let go: ending the object makes it.
  { const hca::ReceiveQueue ended = std::move(rq_); }
  rx_free_mbufs(*fast_);
}

Result<> RxQueueControl::start() noexcept {
  const std::scoped_lock lock(mutex_);
  if (started_) return fail(EALREADY, "receive queue %u is started already", config_.queue);
  const int error = -rx_fill(*fast_);
  if (error == ENOMEM) {
    return fail(ENOMEM, "mempool %s has too few mbufs left to fill receive queue %u (%u free, %u wanted)",
                config_.pool->name, config_.queue, rte_mempool_avail_count(config_.pool),
                fast_->size() * fast_->segments);
  }
  if (error != 0) {
    return fail(error, "mempool %s: some of its memory is not registered with the device",
                config_.pool->name);
  }
  fast_->health.stage.store(Health::good, std::memory_order_release);
  if (Result<> done = rq_.modify(hca::QueueState::reset, hca::QueueState::ready); !done) {
    rx_release(*fast_);
    return fail(done.error().within("start of receive queue %u", config_.queue));
  }
  started_ = true;
  return {};
}

Result<> RxQueueControl::stop() noexcept {
  const std::scoped_lock lock(mutex_);
  if (!started_) return {};
  if (Result<> done = to_reset(); !done)
    return fail(done.error().within("stop of receive queue %u", config_.queue));
  rx_release(*fast_);
  fast_->health.stage.store(Health::good, std::memory_order_release);
  started_ = false;
  return {};
}

/// From whatever state the card has it in.
Result<> RxQueueControl::to_reset() noexcept {
  const Result<hca::QueueState> now = rq_.state();
  if (!now) return fail(now.error());
  if (*now == hca::QueueState::reset) return {};
  return rq_.modify(*now, hca::QueueState::reset);
}

Result<> RxQueueControl::set_vlan_strip(bool on) noexcept {
  const std::scoped_lock lock(mutex_);
  if (Result<> done = rq_.set_vlan_strip(on); !done) return done;
  if (on)
    config_.conf.offloads |= RTE_ETH_RX_OFFLOAD_VLAN_STRIP;
  else
    config_.conf.offloads &= ~RTE_ETH_RX_OFFLOAD_VLAN_STRIP;
  return {};
}

void RxQueueControl::info(rte_eth_rxq_info& info) const noexcept {
  info.mp = config_.pool;
  info.conf = config_.conf;
  info.conf.rx_free_thresh = fast_->refill_threshold;
  info.scattered_rx = fast_->segments > 1;
  info.nb_desc = config_.descriptors;
  info.rx_buf_size = static_cast<std::uint16_t>(std::min(fast_->buffer_size, std::uint32_t{UINT16_MAX}));
}

std::optional<Error> RxQueueControl::recover() noexcept {
  const Health stage = fast_->health.stage.load(std::memory_order_acquire);
  if (stage != Health::failed && stage != Health::rewound) return std::nullopt;
  const std::scoped_lock lock(mutex_);
  // A stop may have come between.
  if (!started_ || fast_->health.stage.load(std::memory_order_acquire) != stage) return std::nullopt;
  const Result<> done =
      stage == Health::failed ? to_reset() : rq_.modify(hca::QueueState::reset, hca::QueueState::ready);
  if (!done) {
    if (std::exchange(recovery_fails_, true)) return std::nullopt;
    return done.error().within("recovery of port %u Rx queue %u, will be tried again", fast_->port_id,
                               fast_->queue_id);
  }
  recovery_fails_ = false;
  std::optional<Error> what;
  if (stage == Health::failed) what = describe(fast_->health.error, fast_->port_id, "Rx", fast_->queue_id);
  fast_->health.stage.store(stage == Health::failed ? Health::quiesced : Health::good,
                            std::memory_order_release);
  return what;
}

}  // namespace chime::net
