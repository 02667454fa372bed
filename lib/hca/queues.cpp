// SPDX-License-Identifier: BSD-3-Clause
#include "hca/queues.h"

#include <algorithm>
#include <span>

#include "hca/command.h"

namespace chime::hca {
namespace {

// A record has a cache line of its own behind the ring.
constexpr std::size_t record_room = 64;

std::uint32_t entries(std::uint8_t log_size) noexcept {
  return std::uint32_t{1} << log_size;
}

/// The limits of the layout's fields; what the card can do it says itself.
Result<> check_log_size(std::uint8_t log_size, std::uint8_t most, const char* what) noexcept {
  if (log_size <= most) return {};
  return fail(EINVAL, "%s of 2^%u entries; at most 2^%u are possible", what, log_size, most);
}

void set_ring(prm::View<prm::wq> wq, const QueueMemory& memory, std::size_t record_offset,
              std::uint8_t log_size, std::uint8_t log_stride, std::uint32_t pd) noexcept {
  wq.set(prm::wq::wq_type, prm::wq_type::cyclic)
      .set(prm::wq::pd, pd)
      .set(prm::wq::log_wq_sz, log_size)
      .set(prm::wq::log_wq_stride, log_stride)
      .set(prm::wq::wq_umem_id, memory.umem_id())
      .set(prm::wq::dbr_umem_id, memory.umem_id())
      .set(prm::wq::dbr_addr, record_offset);
}

}  // namespace

Result<CompletionQueue> CompletionQueue::create(Device& device, const Config& config) noexcept {
  if (auto size = check_log_size(config.log_size, 22, "completion queue"); !size) return fail(size.error());
  CompletionQueue cq;
  cq.record_offset_ = prm::cqe_size << config.log_size;
  auto memory = QueueMemory::make(device, cq.record_offset_ + record_room, config.socket, "chime_cq");
  if (!memory) return fail(memory.error());
  cq.memory_ = std::move(*memory);
  for (prm::Cqe& cqe : std::span(cq.ring(), entries(config.log_size))) {
    cqe.op_own = prm::cqe_op_own(prm::cqe_opcode::invalid, prm::cqe_owner);
  }

  Command<prm::create_cq> create;
  create.in.at(prm::create_cq_in::cq_context)
      .set(prm::cqc::log_cq_size, config.log_size)
      .set(prm::cqc::uar_page, config.uar_page)
      .set(prm::cqc::c_eqn_or_apu_element, config.eqn)
      .set(prm::cqc::dbr_umem_id, cq.memory_.umem_id())
      .set(prm::cqc::dbr_addr, cq.record_offset_);
  create.in.set(prm::create_cq_in::cq_umem_id, cq.memory_.umem_id());
  auto object = create.create(device);
  if (!object) return fail(object.error().within("completion queue of %u entries", entries(config.log_size)));
  cq.object_ = std::move(*object);
  return cq;
}

Result<SendQueue> SendQueue::create(Device& device, const Config& config) noexcept {
  if (auto size = check_log_size(config.log_size, 16, "send queue"); !size) return fail(size.error());
  SendQueue sq;
  sq.record_offset_ = prm::wqebb_size << config.log_size;
  auto memory = QueueMemory::make(device, sq.record_offset_ + record_room, config.socket, "chime_sq");
  if (!memory) return fail(memory.error());
  sq.memory_ = std::move(*memory);

  Command<prm::create_sq> create;
  auto context = create.in.at(prm::create_sq_in::ctx);
  context.set(prm::sqc::state, prm::sqc_state::rst)
      .set(prm::sqc::flush_in_error_en, 1)
      .set(prm::sqc::allow_multi_pkt_send_wqe, config.allow_multi_packet)
      .set(prm::sqc::min_wqe_inline_mode, static_cast<prm::inline_mode>(config.min_inline_mode))
      .set(prm::sqc::ts_format, static_cast<prm::timestamp_format>(config.timestamp_format))
      .set(prm::sqc::cqn, config.cqn)
      .set(prm::sqc::tis_lst_sz, 1)
      .set(prm::sqc::tis_num_0, config.tisn);
  auto wq = context.at(prm::sqc::wq);
  set_ring(wq, sq.memory_, sq.record_offset_, config.log_size, 6, config.pd);
  wq.set(prm::wq::uar_page, config.uar_page);
  auto object = create.create(device);
  if (!object) return fail(object.error().within("send queue of %u blocks", entries(config.log_size)));
  sq.object_ = std::move(*object);
  return sq;
}

Result<> SendQueue::modify(QueueState from, QueueState to) noexcept {
  Command<prm::modify_sq> modify;
  modify.in.set(prm::modify_sq_in::sqn, number())
      .set(prm::modify_sq_in::sq_state, static_cast<prm::sqc_state>(from))
      .at(prm::modify_sq_in::ctx)
      .set(prm::sqc::state, static_cast<prm::sqc_state>(to));
  return modify.modify(object_);
}

Result<QueueState> SendQueue::state() const noexcept {
  Command<prm::query_sq> query;
  query.in.set(prm::query_sq_in::sqn, number());
  if (auto done = query.query(object_); !done) return fail(done.error());
  return static_cast<QueueState>(query.out.at(prm::query_sq_out::sq_context).get(prm::sqc::state));
}

Result<ReceiveQueue> ReceiveQueue::create(Device& device, const Config& config) noexcept {
  if (auto size = check_log_size(config.log_size, 16, "receive queue"); !size) return fail(size.error());
  if (config.log_stride < 4 || config.log_stride > 9) {
    return fail(EINVAL, "receive WQEs of 2^%u bytes; 2^4 (one segment) to 2^9 are possible",
                config.log_stride);
  }
  ReceiveQueue rq;
  // A ring of one small WQE is less than a line.
  rq.record_offset_ = std::max(std::size_t{1} << (config.log_size + config.log_stride), record_room);
  auto memory = QueueMemory::make(device, rq.record_offset_ + record_room, config.socket, "chime_rq");
  if (!memory) return fail(memory.error());
  rq.memory_ = std::move(*memory);

  Command<prm::create_rq> create;
  auto context = create.in.at(prm::create_rq_in::ctx);
  context.set(prm::rqc::state, prm::rqc_state::rst)
      .set(prm::rqc::vsd, !config.vlan_strip)
      .set(prm::rqc::scatter_fcs, config.scatter_fcs)
      .set(prm::rqc::mem_rq_type, prm::mem_rq_type::memory_rq_inline)
      .set(prm::rqc::flush_in_error_en, 1)
      .set(prm::rqc::ts_format, static_cast<prm::timestamp_format>(config.timestamp_format))
      .set(prm::rqc::cqn, config.cqn)
      .set(prm::rqc::counter_set_id, config.counter_set_id);
  set_ring(context.at(prm::rqc::wq), rq.memory_, rq.record_offset_, config.log_size, config.log_stride,
           config.pd);
  auto object = create.create(device);
  if (!object) return fail(object.error().within("receive queue of %u WQEs", entries(config.log_size)));
  rq.object_ = std::move(*object);
  return rq;
}

Result<> ReceiveQueue::modify(QueueState from, QueueState to) noexcept {
  Command<prm::modify_rq> modify;
  modify.in.set(prm::modify_rq_in::rqn, number())
      .set(prm::modify_rq_in::rq_state, static_cast<prm::rqc_state>(from))
      .at(prm::modify_rq_in::ctx)
      .set(prm::rqc::state, static_cast<prm::rqc_state>(to));
  return modify.modify(object_);
}

Result<> ReceiveQueue::set_vlan_strip(bool on) noexcept {
  auto current = state();
  if (!current) return fail(current.error());
  Command<prm::modify_rq> modify;
  modify.in.set(prm::modify_rq_in::rqn, number())
      .set(prm::modify_rq_in::rq_state, static_cast<prm::rqc_state>(*current))
      .set(prm::modify_rq_in::modify_bitmask, prm::modify_rq_select::vsd)
      .at(prm::modify_rq_in::ctx)
      .set(prm::rqc::state, static_cast<prm::rqc_state>(*current))
      .set(prm::rqc::vsd, !on);
  return modify.modify(object_);
}

Result<QueueState> ReceiveQueue::state() const noexcept {
  Command<prm::query_rq> query;
  query.in.set(prm::query_rq_in::rqn, number());
  if (auto done = query.query(object_); !done) return fail(done.error());
  return static_cast<QueueState>(query.out.at(prm::query_rq_out::rq_context).get(prm::rqc::state));
}

}  // namespace chime::hca
