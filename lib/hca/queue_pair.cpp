// SPDX-License-Identifier: BSD-3-Clause
#include "hca/queue_pair.h"

#include <algorithm>

#include "hca/command.h"
#include "prm/wqe.h"

namespace chime::hca {
namespace {

constexpr std::size_t record_room = 64;         // a line of its own
constexpr std::uint8_t log_receive_stride = 4;  // one data segment
constexpr std::uint8_t log_longest_message = 30;
constexpr std::uint8_t only_port = 1;

// opt_param_mask: optional fields of a transition's context that count.
constexpr std::uint32_t optional_read = 1u << 1;
constexpr std::uint32_t optional_atomic = 1u << 2;
constexpr std::uint32_t optional_write = 1u << 3;

void set_rights(prm::View<prm::qpc> context, const QueuePair::Rights& rights) noexcept {
  context.set(prm::qpc::rre, rights.read)
      .set(prm::qpc::rwe, rights.write)
      .set(prm::qpc::rae, rights.atomic)
      .set(prm::qpc::atomic_like_write_en, rights.atomic_like_write)
      .set(prm::qpc::atomic_mode,
           static_cast<prm::atomic_mode>(rights.atomic ? rights.atomic_mode : std::uint8_t{0}));
}

template <std::size_t N>
std::uint32_t big_endian(const std::uint8_t* bytes) noexcept {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < N; ++i) value = value << 8 | bytes[i];
  return value;
}

}  // namespace

Result<QueuePair> QueuePair::create(Device& device, const Config& config) noexcept {
  // The limits of the layout's fields; what the card can do it says itself.
  constexpr std::uint8_t most = 15;
  if (config.log_send_size > most || config.log_receive_size > most)
    return fail(EINVAL, "queue pair of 2^%u send blocks and 2^%u receives; at most 2^%u are possible",
                config.log_send_size, config.log_receive_size, most);
  QueuePair qp;
  if (config.has_receive) qp.send_offset_ = std::size_t{1} << (config.log_receive_size + log_receive_stride);
  if (qp.send_offset_ % prm::wqebb_size != 0)
    return fail(EINVAL, "%u receives do not fill a line; 4 would", 1u << config.log_receive_size);
  qp.record_offset_ = qp.send_offset_ + (prm::wqebb_size << config.log_send_size);
  auto memory = QueueMemory::make(device, qp.record_offset_ + record_room, config.socket, "chime_qp");
  if (!memory) return fail(memory.error());
  qp.memory_ = std::move(*memory);

  Command<prm::create_qp> create;
  auto context = create.in.at(prm::create_qp_in::qpc);
  context.set(prm::qpc::st, prm::qpc_st::rc)
      .set(prm::qpc::pm_state, prm::qpc_pm_state::migrated)
      .set(prm::qpc::pd, config.pd)
      .set(prm::qpc::uar_page, config.uar_page)
      .set(prm::qpc::cqn_snd, config.send_cqn)
      .set(prm::qpc::cqn_rcv, config.receive_cqn)
      .set(prm::qpc::log_sq_size, config.log_send_size)
      .set(prm::qpc::dbr_umem_valid, 1)
      .set(prm::qpc::dbr_umem_id, qp.memory_.umem_id())
      .set(prm::qpc::dbr_addr, qp.record_offset_);
  if (config.has_receive) {
    context.set(prm::qpc::rq_type, prm::qpc_rq_type::regular)
        .set(prm::qpc::log_rq_size, config.log_receive_size)
        .set(prm::qpc::log_rq_stride, log_receive_stride - 4);
  } else {
    context.set(prm::qpc::rq_type, prm::qpc_rq_type::zero);
  }
  create.in.set(prm::create_qp_in::wq_umem_valid, 1).set(prm::create_qp_in::wq_umem_id, qp.memory_.umem_id());
  auto object = create.create(device);
  if (!object) return fail(object.error().within("queue pair of %u send blocks", 1u << config.log_send_size));
  qp.object_ = std::move(*object);
  return qp;
}

Result<> QueuePair::to_init(const Rights& rights) noexcept {
  Command<prm::rst2init_qp> modify;
  modify.in.set(prm::rst2init_qp_in::qpn, number());
  auto context = modify.in.at(prm::rst2init_qp_in::qpc);
  context.set(prm::qpc::pm_state, prm::qpc_pm_state::migrated);
  set_rights(context, rights);
  context.at(prm::qpc::primary_address_path).set(prm::ads::vhca_port_num, only_port);
  return modify.modify(object_);
}

Result<> QueuePair::to_rtr(const Peer& peer, const Rights& rights) noexcept {
  Command<prm::init2rtr_qp> modify;
  modify.in.set(prm::init2rtr_qp_in::qpn, number())
      .set(prm::init2rtr_qp_in::opt_param_mask, optional_read | optional_atomic | optional_write);
  auto context = modify.in.at(prm::init2rtr_qp_in::qpc);
  set_rights(context, rights);
  context.set(prm::qpc::mtu, static_cast<prm::qpc_mtu>(peer.mtu))
      .set(prm::qpc::log_msg_max, log_longest_message)
      .set(prm::qpc::remote_qpn, peer.qpn)
      .set(prm::qpc::next_rcv_psn, peer.receive_psn)
      .set(prm::qpc::log_rra_max, peer.log_responder_depth)
      .set(prm::qpc::min_rnr_nak, peer.min_rnr_timer);
  auto path = context.at(prm::qpc::primary_address_path);
  path.set(prm::ads::vhca_port_num, only_port)
      .set(prm::ads::grh, 1)
      .set(prm::ads::src_addr_index, peer.gid_index)
      .set(prm::ads::hop_limit, peer.hop_limit)
      .set(prm::ads::tclass, peer.traffic_class)
      .set(prm::ads::ack_timeout, peer.ack_timeout)
      .set(prm::ads::udp_sport, peer.udp_source_port)
      .set(prm::ads::dscp, peer.traffic_class >> 2)
      .set(prm::ads::ecn, peer.traffic_class & 3)
      .set(prm::ads::rmac_47_32, big_endian<2>(peer.mac.data()))
      .set(prm::ads::rmac_31_0, big_endian<4>(peer.mac.data() + 2));
  for (std::size_t i = 0; i < peer.gid.size(); ++i) path.set(prm::ads::rgid_rip, i, peer.gid[i]);
  return modify.modify(object_);
}

Result<> QueuePair::to_rts(const Sending& sending) noexcept {
  Command<prm::rtr2rts_qp> modify;
  modify.in.set(prm::rtr2rts_qp_in::qpn, number());
  auto context = modify.in.at(prm::rtr2rts_qp_in::qpc);
  context.set(prm::qpc::next_send_psn, sending.send_psn)
      .set(prm::qpc::log_sra_max, sending.log_initiator_depth)
      .set(prm::qpc::retry_count, sending.retry_count)
      .set(prm::qpc::rnr_retry, sending.rnr_retry);
  context.at(prm::qpc::primary_address_path).set(prm::ads::ack_timeout, sending.ack_timeout);
  return modify.modify(object_);
}

Result<> QueuePair::to_error() noexcept {
  Command<prm::qp_2err> modify;
  modify.in.set(prm::qp_2err_in::qpn, number());
  return modify.modify(object_);
}

Result<> QueuePair::to_reset() noexcept {
  Command<prm::qp_2rst> modify;
  modify.in.set(prm::qp_2rst_in::qpn, number());
  return modify.modify(object_);
}

Result<QueuePair::Status> QueuePair::query() const noexcept {
  Command<prm::query_qp> query;
  query.in.set(prm::query_qp_in::qpn, number());
  if (auto done = query.query(object_); !done) return fail(done.error());
  const auto context = query.out.at(prm::query_qp_out::qpc);
  return Status{.state = static_cast<State>(context.get(prm::qpc::state)),
                .send_psn = context.get(prm::qpc::next_send_psn),
                .receive_psn = context.get(prm::qpc::next_rcv_psn),
                .taken_blocks = static_cast<std::uint16_t>(context.get(prm::qpc::hw_sq_wqebb_counter)),
                .known_blocks = static_cast<std::uint16_t>(context.get(prm::qpc::sw_sq_wqebb_counter))};
}

}  // namespace chime::hca
