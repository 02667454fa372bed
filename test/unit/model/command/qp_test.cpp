// SPDX-License-Identifier: BSD-3-Clause
// Queue pairs: what they are made of, what a query says of them, and in which order things go.
#include "../support/queue_pair.h"
#include "model/card.h"

namespace chime::test {
namespace {

using model::Rule;
using prm::qpc_st;
using Q = prm::qpc;
using A = prm::ads;

class QueuePairs : public ::testing::Test {
 protected:
  template <class F>
  Answer refused(F&& change) {
    auto call = bench.create_call();
    change(call);
    return bench.user.run(call);
  }
  template <class F>
  Answer refused_context(F&& change) {
    return refused([&](auto& call) { change(call.in.at(prm::create_qp_in::qpc)); });
  }
  model::Qp& object(std::uint32_t qpn) { return *host.hca().card().qps.find(qpn); }

  Host host;
  QpBench bench{host};
};

TEST_F(QueuePairs, AreMadeAndDestroyed) {
  const std::uint32_t first = bench.make();
  const std::uint32_t second = bench.make(qpc_st::ud);
  EXPECT_NE(first, second);
  EXPECT_EQ(host.objects()["QP"], 2u);
  EXPECT_TRUE(bench.destroy(first).ok());
  EXPECT_TRUE(bench.destroy(first).is(Rule::unknown_object));
  EXPECT_TRUE(bench.destroy(second).ok());
  EXPECT_EQ(host.objects().count("QP"), 0u);
}

TEST_F(QueuePairs, HaveNumbersThatNoSendQueueHas) {
  Host two;
  Bench ethernet(two, two.context());
  QpBench rdma(two);
  const std::uint32_t sq = ethernet.make_sq();
  const std::uint32_t qp = rdma.make();
  EXPECT_EQ(two.hca().card().sqs.find(qp), nullptr);
  EXPECT_EQ(two.hca().card().qps.find(sq), nullptr);
  EXPECT_LT(qp, 0xffffffu);
}

TEST_F(QueuePairs, HaveTheirReceiveRingBeforeTheSendRing) {
  const std::uint32_t qpn = bench.make();
  model::Qp& qp = object(qpn);
  // 32 receive requests of 32 bytes.
  EXPECT_EQ(qp.receive.size(), 32u);
  EXPECT_EQ(qp.receive.log_stride, 5);
  EXPECT_EQ(qp.receive.buffer.umem_offset(), 64u * 1024);
  EXPECT_EQ(qp.send.size(), 64u);
  EXPECT_EQ(qp.send.buffer.umem_offset(), 64u * 1024 + 32 * 32);
  EXPECT_EQ(qp.send.at(0), qp.receive.at(0) + 32 * 32);
  EXPECT_EQ(qp.send.at(64), qp.send.at(0)) << "goes round";
}

TEST_F(QueuePairs, OfTheKernelLieInPages) {
  Bench kernel(host);
  Call<prm::create_qp, 3 * 8> call;
  call.in.at(prm::create_qp_in::qpc)
      .set(Q::pd, kernel.pd)
      .set(Q::uar_page, kernel.uar)
      .set(Q::cqn_snd, kernel.cq)
      .set(Q::cqn_rcv, kernel.cq)
      .set(Q::log_rq_size, 8)
      .set(Q::log_rq_stride, 0)
      .set(Q::log_sq_size, 6)
      .set(Q::page_offset, 16)  // of 64ths of a page
      .set(Q::dbr_addr, host.memory.allocate(64));
  std::byte* place[3];
  std::uint64_t address[3];
  for (unsigned i = 0; i < 3; ++i) {
    address[2 - i] = host.memory.allocate(4096);  // not in order
    place[2 - i] = host.memory.map(address[2 - i], 4096);
  }
  for (unsigned i = 0; i < 3; ++i) call.in.set(prm::create_qp_in::pas, i, address[i]);
  ASSERT_TRUE(host.run(call).ok()) << host.words;
  model::Qp& qp = object(call.out.get(prm::create_qp_out::qpn));
  EXPECT_EQ(qp.receive.at(0), place[0] + 1024);
  EXPECT_EQ(qp.receive.at(191), place[0] + 4096 - 16);
  EXPECT_EQ(qp.receive.at(192), place[1]);
  EXPECT_EQ(qp.send.at(0), place[1] + 1024);
  EXPECT_EQ(qp.send.at(48), place[2]);
  EXPECT_EQ(qp.send.at(63), place[2] + 15 * 64);

  auto form = bench.create_call();
  form.in.set(prm::create_qp_in::wq_umem_valid, 0);
  EXPECT_TRUE(bench.user.run(form).is(Rule::page_list_length));
}

TEST_F(QueuePairs, MayLackARing) {
  auto call = bench.create_call();
  call.in.at(prm::create_qp_in::qpc).set(Q::rq_type, prm::qpc_rq_type::zero);
  ASSERT_TRUE(bench.user.run(call).ok()) << host.words;
  model::Qp& sender = object(call.out.get(prm::create_qp_out::qpn));
  EXPECT_FALSE(sender.has_receive);
  EXPECT_EQ(sender.send.buffer.umem_offset(), 64u * 1024);
  auto receiver = bench.create_call();
  receiver.in.at(prm::create_qp_in::qpc).set(Q::no_sq, 1);
  ASSERT_TRUE(bench.user.run(receiver).ok());
  EXPECT_FALSE(object(receiver.out.get(prm::create_qp_out::qpn)).has_send);
  const auto query = bench.query(receiver.out.get(prm::create_qp_out::qpn));
  EXPECT_EQ(query.out.at(prm::query_qp_out::qpc).get(Q::no_sq), 1u);
}

TEST_F(QueuePairs, RefuseWhatTheCardDoesNotHave) {
  EXPECT_TRUE(refused_context([](auto c) { c.set(Q::st, qpc_st::dci); }).is(Rule::qp_service));
  EXPECT_TRUE(refused_context([](auto c) { c.set(Q::st, qpc_st::qp1); }).is(Rule::qp_service));
  EXPECT_TRUE(refused_context([](auto c) { c.set(Q::st, qpc_st::reg_umr); }).is(Rule::qp_service));
  EXPECT_TRUE(refused_context([](auto c) { c.set(Q::st, qpc_st::xrc); }).is(Rule::unknown_object));
  EXPECT_TRUE(refused_context([](auto c) { c.set(Q::st, qpc_st::raw_datagram); }).is(Rule::qp_service));
  EXPECT_TRUE(refused_context([](auto c) { c.set(Q::state, prm::qpc_state::rts); }).is(Rule::initial_state));
  EXPECT_TRUE(refused_context([](auto c) { c.set(Q::wq_signature, 1); }).is(Rule::qp_feature));
  EXPECT_TRUE(refused_context([](auto c) { c.set(Q::cd_master, 1); }).is(Rule::qp_feature));
  EXPECT_TRUE(refused_context([](auto c) { c.set(Q::offload_type, 1); }).is(Rule::qp_feature));
  EXPECT_TRUE(refused_context([](auto c) { c.set(Q::rq_type, prm::qpc_rq_type::crq); }).is(Rule::qp_feature));
  EXPECT_TRUE(
      refused_context([](auto c) { c.set(Q::rq_type, prm::qpc_rq_type::srq); }).is(Rule::unknown_object));
  EXPECT_TRUE(refused_context([](auto c) { c.set(Q::rlky, 1); }).is(Rule::mkey_physical));
  EXPECT_TRUE(refused([](auto& c) { c.in.set(prm::create_qp_in::input_qpn, 5); }).is(Rule::qp_feature));
  EXPECT_EQ(host.objects().count("QP"), 0u);
}

TEST_F(QueuePairs, MayScatterToCompletions) {
  using Request = prm::qpc_cs_req;
  using Response = prm::qpc_cs_res;
  auto call = bench.create_call();
  call.in.at(prm::create_qp_in::qpc).set(Q::cs_req, Request::up_to_64b).set(Q::cs_res, Response::up_to_32b);
  ASSERT_TRUE(bench.user.run(call).ok()) << host.words;
  const std::uint32_t qpn = call.out.get(prm::create_qp_out::qpn);
  EXPECT_EQ(object(qpn).scatter_to_request_cqe, 64);
  EXPECT_EQ(object(qpn).scatter_to_receive_cqe, 32);
  const auto query = bench.query(qpn);
  EXPECT_EQ(query.out.at(prm::query_qp_out::qpc).get(Q::cs_req), Request::up_to_64b);
  EXPECT_EQ(query.out.at(prm::query_qp_out::qpc).get(Q::cs_res), Response::up_to_32b);
  EXPECT_TRUE(refused_context([](auto c) { c.set(Q::cs_req, Request{0x33}); }).is(Rule::qp_feature));
  EXPECT_TRUE(refused_context([](auto c) { c.set(Q::cs_res, Response{3}); }).is(Rule::qp_feature));

  auto profile = model::Profile::parse("base = \"connectx6dx\"\n[general]\nsctr_data_cqe = 0\n", "none");
  ASSERT_TRUE(profile) << profile.error().text;
  Host other(*profile);
  QpBench qps(other);
  auto refused = qps.create_call();
  refused.in.at(prm::create_qp_in::qpc).set(Q::cs_req, Request::up_to_32b);
  EXPECT_TRUE(qps.user.run(refused).is(Rule::qp_feature));
}

TEST_F(QueuePairs, RefuseRingsThatDoNotFit) {
  EXPECT_TRUE(refused_context([](auto c) { c.set(Q::log_rq_stride, 6); }).is(Rule::qp_stride));
  EXPECT_TRUE(refused([](auto& c) {
                c.in.set(prm::create_qp_in::wq_umem_offset, 64 * 1024 + 16);
              }).is(Rule::queue_alignment));
  // One receive request of 16 bytes, and the send ring in the middle of a line.
  EXPECT_TRUE(refused_context([](auto c) {
                c.set(Q::log_rq_size, 0).set(Q::log_rq_stride, 0);
              }).is(Rule::queue_alignment));
  EXPECT_TRUE(refused_context([](auto c) { c.set(Q::log_sq_size, 15); }).is(Rule::outside_umem));
  EXPECT_TRUE(refused_context([](auto c) { c.set(Q::dbr_addr, 195 * 1024 + 4); }).is(Rule::record_alignment));
  EXPECT_TRUE(refused_context([](auto c) { c.set(Q::dbr_addr, 1 << 20); }).is(Rule::outside_umem));
  EXPECT_TRUE(refused_context([](auto c) { c.set(Q::dbr_umem_id, 999); }).is(Rule::unknown_object));
  EXPECT_EQ(host.objects().count("QP"), 0u);
}

TEST_F(QueuePairs, RefuseSizesAboveTheCapability) {
  auto small =
      model::Profile::parse("base = \"connectx6dx\"\n[general]\nlog_max_qp_sz = 5\nrc = 0\n", "small");
  ASSERT_TRUE(small) << small.error().text;
  Host other(*small);
  QpBench qps(other);
  auto large = qps.create_call(qpc_st::uc);
  EXPECT_TRUE(qps.user.run(large).is(Rule::qp_size)) << "64 send blocks";
  large.in.at(prm::create_qp_in::qpc).set(Q::log_sq_size, 5).set(Q::log_rq_size, 6);
  EXPECT_TRUE(qps.user.run(large).is(Rule::qp_size)) << "64 receive requests";
  large.in.at(prm::create_qp_in::qpc).set(Q::log_rq_size, 5);
  EXPECT_TRUE(qps.user.run(large).ok());
  auto reliable = qps.create_call();
  EXPECT_TRUE(qps.user.run(reliable).is(Rule::qp_service));
}

TEST_F(QueuePairs, AreMadeOfTheirOwnersObjects) {
  QpBench other(host);
  EXPECT_TRUE(refused_context([&](auto c) { c.set(Q::pd, other.user.pd); }).is(Rule::foreign_object));
  EXPECT_TRUE(refused_context([&](auto c) { c.set(Q::cqn_snd, other.user.cq); }).is(Rule::foreign_object));
  EXPECT_TRUE(refused_context([&](auto c) { c.set(Q::cqn_rcv, other.user.cq); }).is(Rule::foreign_object));
  EXPECT_TRUE(refused_context([&](auto c) { c.set(Q::uar_page, other.user.uar); }).is(Rule::foreign_object));
  EXPECT_TRUE(refused_context([](auto c) { c.set(Q::pd, 0x999); }).is(Rule::unknown_object));
  EXPECT_TRUE(refused_context([](auto c) { c.set(Q::cqn_rcv, 0x999); }).is(Rule::unknown_object));
  EXPECT_TRUE(refused_context([](auto c) { c.set(Q::counter_set_id, 77); }).is(Rule::unknown_object));
  EXPECT_TRUE(refused([&](auto& c) {
                c.in.set(prm::create_qp_in::wq_umem_id, other.user.umem);
              }).is(Rule::foreign_object));
  EXPECT_EQ(host.objects().count("QP"), 0u);
}

TEST_F(QueuePairs, TimestampFormatsAreTheCards) {
  Host old("connectx5");
  QpBench qps(old);
  auto call = qps.create_call();
  call.in.at(prm::create_qp_in::qpc).set(Q::ts_format, prm::timestamp_format::real_time);
  EXPECT_TRUE(qps.user.run(call).is(Rule::timestamp_format));
  EXPECT_TRUE(refused_context([](auto c) { c.set(Q::ts_format, prm::timestamp_format::real_time); }).ok());
}

TEST_F(QueuePairs, AQuerySaysWhatWasSet) {
  auto create = bench.create_call();
  const std::uint32_t counter = host.q_counter(bench.user.uid);
  create.in.at(prm::create_qp_in::qpc).set(Q::counter_set_id, counter).set(Q::atomic_like_write_en, 1);
  ASSERT_TRUE(bench.user.run(create).ok());
  const std::uint32_t qpn = create.out.get(prm::create_qp_out::qpn);
  bench.connect(qpn);
  const auto query = bench.query(qpn);
  const auto c = query.out.at(prm::query_qp_out::qpc);
  EXPECT_EQ(c.get(Q::state), prm::qpc_state::rts);
  EXPECT_EQ(c.get(Q::st), qpc_st::rc);
  EXPECT_EQ(c.get(Q::pd), bench.user.pd);
  EXPECT_EQ(c.get(Q::uar_page), bench.user.uar);
  EXPECT_EQ(c.get(Q::cqn_snd), bench.user.cq);
  EXPECT_EQ(c.get(Q::cqn_rcv), bench.user.cq);
  EXPECT_EQ(c.get(Q::counter_set_id), counter);
  EXPECT_EQ(c.get(Q::user_index), 0x4711u);
  EXPECT_EQ(c.get(Q::log_rq_size), 5u);
  EXPECT_EQ(c.get(Q::log_rq_stride), 1u);
  EXPECT_EQ(c.get(Q::log_sq_size), 6u);
  EXPECT_EQ(c.get(Q::no_sq), 0u);
  EXPECT_EQ(c.get(Q::atomic_like_write_en), 1u);
  EXPECT_EQ(c.get(Q::mtu), prm::qpc_mtu::bytes_1k);
  EXPECT_EQ(c.get(Q::log_msg_max), 30u);
  EXPECT_EQ(c.get(Q::remote_qpn), 0x800123u);
  EXPECT_EQ(c.get(Q::next_rcv_psn), 0x111111u);
  EXPECT_EQ(c.get(Q::next_send_psn), 0x222222u);
  EXPECT_EQ(c.get(Q::log_rra_max), 3u);
  EXPECT_EQ(c.get(Q::log_sra_max), 2u);
  EXPECT_EQ(c.get(Q::min_rnr_nak), 12u);
  EXPECT_EQ(c.get(Q::retry_count), 5u);
  EXPECT_EQ(c.get(Q::rnr_retry), 6u);
  EXPECT_EQ(c.get(Q::rre), 1u);
  EXPECT_EQ(c.get(Q::rwe), 1u);
  EXPECT_EQ(c.get(Q::rae), 1u);
  EXPECT_EQ(c.get(Q::atomic_mode), prm::atomic_mode::up_to_32b);
  const auto path = c.at(Q::primary_address_path);
  EXPECT_EQ(path.get(A::vhca_port_num), 1u);
  EXPECT_EQ(path.get(A::src_addr_index), 0u);
  EXPECT_EQ(path.get(A::hop_limit), 64u);
  EXPECT_EQ(path.get(A::tclass), 0x6au);
  EXPECT_EQ(path.get(A::dscp), 0x1au);
  EXPECT_EQ(path.get(A::ecn), 2u);
  EXPECT_EQ(path.get(A::flow_label), 0x54321u);
  EXPECT_EQ(path.get(A::udp_sport), 0xc123u);
  EXPECT_EQ(path.get(A::eth_prio), 5u);
  EXPECT_EQ(path.get(A::ack_timeout), 14u);
  EXPECT_EQ(path.get(A::rmac_47_32), 0x0200u);
  EXPECT_EQ(path.get(A::rmac_31_0), 2u);
  for (std::size_t i = 0; i < peer_ipv6.size(); ++i) EXPECT_EQ(path.get(A::rgid_rip, i), peer_ipv6[i]);
}

TEST_F(QueuePairs, ADatagramQueuePairHasAQKey) {
  const std::uint32_t qpn = bench.make(qpc_st::ud);
  bench.connect(qpn);
  const auto query = bench.query(qpn);
  const auto c = query.out.at(prm::query_qp_out::qpc);
  EXPECT_EQ(c.get(Q::st), qpc_st::ud);
  EXPECT_EQ(c.get(Q::q_key), 0x12345678u);
  EXPECT_EQ(c.get(Q::remote_qpn), 0u) << "each request names its own";
  EXPECT_EQ(c.get(Q::rae), 0u);
}

TEST_F(QueuePairs, KeepWhatTheyUse) {
  auto create = bench.create_call();
  const std::uint32_t counter = host.q_counter(bench.user.uid);
  create.in.at(prm::create_qp_in::qpc).set(Q::counter_set_id, counter);
  ASSERT_TRUE(bench.user.run(create).ok());

  Call<prm::dealloc_pd> pd;
  pd.in.set(prm::dealloc_pd_in::pd, bench.user.pd);
  Call<prm::dealloc_uar> uar;
  uar.in.set(prm::dealloc_uar_in::uar, bench.user.uar);
  Call<prm::destroy_cq> cq;
  cq.in.set(prm::destroy_cq_in::cqn, bench.user.cq);
  Call<prm::dealloc_q_counter> counters;
  counters.in.set(prm::dealloc_q_counter_in::counter_set_id, counter);
  Call<prm::destroy_umem> umem;
  umem.in.set(prm::destroy_umem_in::umem_id, bench.user.umem);
  EXPECT_TRUE(bench.user.run(pd).is(Rule::object_in_use));
  EXPECT_TRUE(bench.user.run(uar).is(Rule::object_in_use));
  EXPECT_TRUE(bench.user.run(cq).is(Rule::object_in_use));
  EXPECT_TRUE(bench.user.run(counters).is(Rule::object_in_use));
  EXPECT_TRUE(bench.user.run(umem).is(Rule::object_in_use));

  EXPECT_TRUE(bench.destroy(create.out.get(prm::create_qp_out::qpn)).ok());
  EXPECT_TRUE(bench.user.run(counters).ok());
  EXPECT_TRUE(bench.user.run(cq).ok());
  EXPECT_TRUE(bench.user.run(pd).ok());
  EXPECT_TRUE(bench.user.run(uar).ok());
  EXPECT_TRUE(bench.user.run(umem).ok());
}

TEST_F(QueuePairs, GoWithTheDevice) {
  bench.connect(bench.make());
  bench.make(qpc_st::ud);
  Call<prm::teardown_hca> teardown;
  ASSERT_TRUE(host.run(teardown).ok()) << host.words;
  EXPECT_EQ(host.objects(), Objects{});
}

TEST_F(QueuePairs, BelongToTheirOwner) {
  const std::uint32_t qpn = bench.make();
  const std::uint16_t other = host.context();
  Call<prm::query_qp> query;
  query.in.set(prm::query_qp_in::qpn, qpn);
  EXPECT_TRUE(host.run(query, other).is(Rule::foreign_object));
  Call<prm::destroy_qp> destroy;
  destroy.in.set(prm::destroy_qp_in::qpn, qpn);
  EXPECT_TRUE(host.run(destroy, other).is(Rule::foreign_object));
}

}  // namespace
}  // namespace chime::test
