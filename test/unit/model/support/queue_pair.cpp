// SPDX-License-Identifier: BSD-3-Clause
#include "queue_pair.h"

namespace chime::test {

Call<prm::set_roce_address> address_call(std::uint32_t index, const Gid& gid, std::uint64_t mac) {
  using L = prm::roce_addr_layout;
  Call<prm::set_roce_address> call;
  call.in.set(prm::set_roce_address_in::roce_address_index, index);
  const auto address = call.in.at(prm::set_roce_address_in::roce_address);
  for (std::size_t i = 0; i < gid.size(); ++i) address.set(L::source_l3_address, i, std::uint32_t{gid[i]});
  address.set(L::source_mac_47_32, static_cast<std::uint32_t>(mac >> 32))
      .set(L::source_mac_31_0, static_cast<std::uint32_t>(mac))
      .set(L::roce_version, prm::roce_version::v2)
      .set(L::roce_l3_type, gid[0] == 0 ? prm::roce_l3_type::ipv4 : prm::roce_l3_type::ipv6);
  return call;
}

QpBench::QpBench(Host& h) : host(h), user(h, h.context(0)) {
  Call<prm::modify_nic_vport_context> vport;
  vport.in.at(prm::modify_nic_vport_context_in::field_select)
      .set(prm::modify_nic_vport_field_select::roce_en, 1);
  vport.in.at(prm::modify_nic_vport_context_in::nic_vport_context).set(prm::nic_vport_context::roce_en, 1);
  EXPECT_TRUE(host.run(vport).ok()) << host.words;
  auto ipv6 = address_call(0, own_ipv6, own_mac);
  EXPECT_TRUE(host.run(ipv6).ok()) << host.words;
  auto ipv4 = address_call(1, own_ipv4, own_mac);
  EXPECT_TRUE(host.run(ipv4).ok()) << host.words;
}

Call<prm::create_qp> QpBench::create_call(prm::qpc_st service) {
  Call<prm::create_qp> call;
  call.in.set(prm::create_qp_in::wq_umem_valid, 1)
      .set(prm::create_qp_in::wq_umem_id, user.umem)
      .set(prm::create_qp_in::wq_umem_offset, 64 * 1024);
  call.in.at(prm::create_qp_in::qpc)
      .set(prm::qpc::st, service)
      .set(prm::qpc::pm_state, prm::qpc_pm_state::migrated)
      .set(prm::qpc::pd, user.pd)
      .set(prm::qpc::uar_page, user.uar)
      .set(prm::qpc::cqn_snd, user.cq)
      .set(prm::qpc::cqn_rcv, user.cq)
      .set(prm::qpc::log_rq_size, 5)
      .set(prm::qpc::log_rq_stride, 1)
      .set(prm::qpc::log_sq_size, 6)
      .set(prm::qpc::user_index, 0x4711)
      .set(prm::qpc::dbr_umem_valid, 1)
      .set(prm::qpc::dbr_umem_id, user.umem)
      .set(prm::qpc::dbr_addr, 195 * 1024);
  return call;
}

std::uint32_t QpBench::make(prm::qpc_st service) {
  auto call = create_call(service);
  const Answer answer = user.run(call);
  EXPECT_TRUE(answer.ok()) << answer.words;
  return call.out.get(prm::create_qp_out::qpn);
}

void QpBench::fill(prm::View<prm::qpc> context, const Gid& peer, std::uint32_t own) {
  using A = prm::ads;
  context.set(prm::qpc::mtu, prm::qpc_mtu::bytes_1k)
      .set(prm::qpc::log_msg_max, 30)
      .set(prm::qpc::remote_qpn, 0x800123)
      .set(prm::qpc::next_rcv_psn, 0x111111)
      .set(prm::qpc::next_send_psn, 0x222222)
      .set(prm::qpc::log_rra_max, 3)
      .set(prm::qpc::log_sra_max, 2)
      .set(prm::qpc::min_rnr_nak, 12)
      .set(prm::qpc::retry_count, 5)
      .set(prm::qpc::rnr_retry, 6)
      .set(prm::qpc::rre, 1)
      .set(prm::qpc::rwe, 1)
      .set(prm::qpc::rae, 1)
      .set(prm::qpc::atomic_mode, prm::atomic_mode::up_to_32b)
      .set(prm::qpc::q_key, 0x1234'5678);
  const auto path = context.at(prm::qpc::primary_address_path);
  path.set(A::vhca_port_num, 1)
      .set(A::src_addr_index, own)
      .set(A::hop_limit, 64)
      .set(A::tclass, 0x6a)
      .set(A::dscp, 0x1a)
      .set(A::ecn, 2)
      .set(A::flow_label, 0x54321)
      .set(A::udp_sport, 0xc123)
      .set(A::eth_prio, 5)
      .set(A::ack_timeout, 14)
      .set(A::rmac_47_32, static_cast<std::uint32_t>(peer_mac >> 32))
      .set(A::rmac_31_0, static_cast<std::uint32_t>(peer_mac));
  for (std::size_t i = 0; i < peer.size(); ++i) path.set(A::rgid_rip, i, std::uint32_t{peer[i]});
}

void QpBench::connect(std::uint32_t qpn) {
  EXPECT_TRUE(go<prm::rst2init_qp>(qpn).ok()) << host.words;
  EXPECT_TRUE(go<prm::init2rtr_qp>(qpn).ok()) << host.words;
  EXPECT_TRUE(go<prm::rtr2rts_qp>(qpn).ok()) << host.words;
}

Answer QpBench::destroy(std::uint32_t qpn) {
  Call<prm::destroy_qp> call;
  call.in.set(prm::destroy_qp_in::qpn, qpn);
  return user.run(call);
}

Call<prm::query_qp> QpBench::query(std::uint32_t qpn) {
  Call<prm::query_qp> call;
  call.in.set(prm::query_qp_in::qpn, qpn);
  EXPECT_TRUE(user.run(call).ok()) << host.words;
  return call;
}

prm::qpc_state QpBench::state(std::uint32_t qpn) {
  return query(qpn).out.at(prm::query_qp_out::qpc).get(prm::qpc::state);
}

}  // namespace chime::test
