// SPDX-License-Identifier: BSD-3-Clause
// Send and receive queues: what they are made of, and their states.
#include "../support/host.h"
#include "model/card.h"

namespace chime::test {
namespace {

using model::Rule;
using S = prm::sqc;
using R = prm::rqc;

constexpr std::uint32_t rst = 0, rdy = 1, err = 3;

class Queues : public ::testing::Test {
 protected:
  Host host;
  Bench user{host, host.context()};

  Answer move_sq(std::uint32_t sq, std::uint32_t from, std::uint32_t to) {
    Call<prm::modify_sq> call;
    call.in.set(prm::modify_sq_in::sqn, sq)
        .set(prm::modify_sq_in::sq_state, static_cast<prm::sqc_state>(from));
    call.in.at(prm::modify_sq_in::ctx).set(S::state, static_cast<prm::sqc_state>(to));
    return user.run(call);
  }
  Answer move_rq(std::uint32_t rq, std::uint32_t from, std::uint32_t to) {
    Call<prm::modify_rq> call;
    call.in.set(prm::modify_rq_in::rqn, rq)
        .set(prm::modify_rq_in::rq_state, static_cast<prm::rqc_state>(from));
    call.in.at(prm::modify_rq_in::ctx).set(R::state, static_cast<prm::rqc_state>(to));
    return user.run(call);
  }
  prm::sqc_state state_of_sq(std::uint32_t sq) {
    Call<prm::query_sq> query;
    query.in.set(prm::query_sq_in::sqn, sq);
    EXPECT_TRUE(user.run(query).ok());
    return query.out.at(prm::query_sq_out::sq_context).get(S::state);
  }
};

TEST_F(Queues, StatesOfASendQueue) {
  const std::uint32_t sq = user.make_sq();
  EXPECT_TRUE(move_sq(sq, rdy, err).is(Rule::state_mismatch));
  EXPECT_TRUE(move_sq(sq, rst, 7).is(Rule::state_transition));
  EXPECT_TRUE(move_sq(sq, rst, rdy).ok());
  EXPECT_EQ(state_of_sq(sq), prm::sqc_state::rdy);
  EXPECT_TRUE(move_sq(sq, rst, rdy).is(Rule::state_mismatch));
  EXPECT_TRUE(move_sq(sq, rdy, err).ok());
  EXPECT_TRUE(move_sq(sq, err, rdy).is(Rule::state_transition));
  EXPECT_TRUE(move_sq(sq, err, rst).ok());
  EXPECT_TRUE(move_sq(sq, rst, rdy).ok());
  EXPECT_TRUE(move_sq(sq, rdy, rst).ok());
}

TEST_F(Queues, StatesOfAReceiveQueue) {
  const std::uint32_t rq = user.make_rq();
  EXPECT_TRUE(move_rq(rq, rst, rdy).ok());
  EXPECT_TRUE(move_rq(rq, rdy, rdy).ok()) << "changes other things";
  EXPECT_TRUE(move_rq(rq, rdy, err).ok());
  EXPECT_TRUE(move_rq(rq, err, rdy).is(Rule::state_transition));
  EXPECT_TRUE(move_rq(rq, err, rst).ok());
  EXPECT_TRUE(move_rq(0x123456, rst, rdy).is(Rule::unknown_object));
}

TEST_F(Queues, ASendQueueNeedsRawTx) {
  Bench plain(host, host.context(0));
  auto call = plain.sq_call();
  EXPECT_TRUE(plain.run(call).is(Rule::needs_raw_tx));
}

TEST_F(Queues, ASendQueueHasNoTisOrOneOfItsOwnContext) {
  auto two = user.sq_call();
  two.in.at(prm::create_sq_in::ctx).set(S::tis_lst_sz, 2);
  EXPECT_TRUE(user.run(two).is(Rule::sq_tis_list));
  auto none = user.sq_call();
  none.in.at(prm::create_sq_in::ctx).set(S::tis_lst_sz, 0);
  EXPECT_TRUE(user.run(none).ok());
  Bench other(host, host.context());
  auto foreign = user.sq_call();
  foreign.in.at(prm::create_sq_in::ctx).set(S::tis_num_0, other.tis);
  EXPECT_TRUE(user.run(foreign).is(Rule::foreign_object));
}

TEST_F(Queues, MultiPacketRequestsNeedTheCapability) {
  auto call = user.sq_call();
  call.in.at(prm::create_sq_in::ctx).set(S::allow_multi_pkt_send_wqe, 1);
  EXPECT_TRUE(user.run(call).ok());
  using E = prm::per_protocol_networking_offload_caps;
  const auto type = static_cast<unsigned>(prm::hca_cap_type::ethernet_offloads);
  prm::View<E>(host.hca().card().capabilities.current(type)).set(E::enhanced_multi_pkt_send_wqe, 0);
  EXPECT_TRUE(user.run(call).is(Rule::wq_feature));
}

TEST_F(Queues, SendQueuesRefuseWhatIsNotThere) {
  auto refused = [&](auto change) {
    auto call = user.sq_call();
    change(call.in.at(prm::create_sq_in::ctx));
    return user.run(call);
  };
  EXPECT_TRUE(refused([](auto c) { c.set(S::state, prm::sqc_state::rdy); }).is(Rule::initial_state));
  EXPECT_TRUE(refused([](auto c) { c.set(S::hairpin, 1); }).is(Rule::wq_feature));
  EXPECT_TRUE(refused([](auto c) { c.set(S::packet_pacing_rate_limit_index, 1); }).is(Rule::wq_feature));
  EXPECT_TRUE(refused([](auto c) { c.set(S::rlky, 1); }).is(Rule::mkey_physical));
  EXPECT_TRUE(refused([](auto c) {
                c.at(S::wq).set(prm::wq::wq_type, prm::wq_type::linked_list);
              }).is(Rule::wq_type));
  EXPECT_TRUE(refused([](auto c) { c.at(S::wq).set(prm::wq::log_wq_sz, 16); }).is(Rule::wq_size));
  EXPECT_TRUE(refused([](auto c) { c.at(S::wq).set(prm::wq::log_wq_stride, 7); }).is(Rule::wq_stride));
  EXPECT_TRUE(refused([](auto c) { c.at(S::wq).set(prm::wq::wq_umem_valid, 0); }).is(Rule::page_list_length));
  EXPECT_TRUE(
      refused([](auto c) { c.at(S::wq).set(prm::wq::wq_umem_offset, 1 << 20); }).is(Rule::outside_umem));
  EXPECT_TRUE(refused([](auto c) { c.at(S::wq).set(prm::wq::wq_signature, 1); }).is(Rule::wq_feature));
  EXPECT_EQ(host.objects().count("SQ"), 0u);
}

TEST_F(Queues, StridesNeedTheCapabilityAndRoom) {
  using W = prm::wq;
  const prm::View<prm::cmd_hca_cap> caps(host.hca().card().capabilities.current(0));
  auto call = user.rq_call();
  const auto wq = call.in.at(prm::create_rq_in::ctx).at(R::wq);
  wq.set(W::wq_type, prm::wq_type::linked_list_striding_rq).set(W::log_wq_stride, 5).set(W::log_wq_sz, 3);
  wq.set(W::log_wqe_stride_size, 2).set(W::log_wqe_num_of_strides, 1).set(W::two_byte_shift_en, 1);
  caps.set(prm::cmd_hca_cap::striding_rq, 0);
  EXPECT_TRUE(user.run(call).is(Rule::wq_type));
  caps.set(prm::cmd_hca_cap::striding_rq, 1).set(prm::cmd_hca_cap::ext_stride_num_range, 0);
  EXPECT_TRUE(user.run(call).ok());
  Call<prm::query_rq> query;
  query.in.set(prm::query_rq_in::rqn, call.out.get(prm::create_rq_out::rqn));
  ASSERT_TRUE(user.run(query).ok());
  const auto seen = query.out.at(prm::query_rq_out::rq_context).at(R::wq);
  EXPECT_EQ(seen.get(W::wq_type), prm::wq_type::linked_list_striding_rq);
  EXPECT_EQ(seen.get(W::log_wqe_stride_size), 2u);
  EXPECT_EQ(seen.get(W::log_wqe_num_of_strides), 1u);
  EXPECT_EQ(seen.get(W::two_byte_shift_en), 1u);

  wq.set(W::log_wqe_num_of_strides, 0x10 - 2);  // 2^7
  EXPECT_TRUE(user.run(call).is(Rule::wq_stride));
  caps.set(prm::cmd_hca_cap::ext_stride_num_range, 1);
  EXPECT_TRUE(user.run(call).ok());
  wq.set(W::log_wqe_num_of_strides, 0x10 - 7);  // 2^2
  EXPECT_TRUE(user.run(call).is(Rule::wq_stride));
  wq.set(W::log_wqe_num_of_strides, 0).set(W::log_wq_stride, 4);
  EXPECT_TRUE(user.run(call).is(Rule::wq_stride)) << "no room for a data segment";
}

TEST_F(Queues, ReceiveQueuesRefuseWhatIsNotThere) {
  auto refused = [&](auto change) {
    auto call = user.rq_call();
    change(call.in.at(prm::create_rq_in::ctx));
    return user.run(call);
  };
  EXPECT_TRUE(refused([](auto c) { c.set(R::state, prm::rqc_state::err); }).is(Rule::initial_state));
  EXPECT_TRUE(refused([](auto c) {
                c.set(R::mem_rq_type, prm::mem_rq_type::memory_rq_rmp);
              }).is(Rule::rq_memory_type));
  EXPECT_TRUE(refused([](auto c) { c.set(R::scatter_fcs, 1); }).is(Rule::wq_feature));
  EXPECT_TRUE(refused([](auto c) { c.set(R::delay_drop_en, 1); }).is(Rule::wq_feature));
  EXPECT_TRUE(refused([](auto c) { c.set(R::counter_set_id, 99); }).is(Rule::unknown_object));
  EXPECT_TRUE(refused([](auto c) { c.at(R::wq).set(prm::wq::log_wq_stride, 3); }).is(Rule::wq_stride));
  EXPECT_TRUE(refused([](auto c) { c.at(R::wq).set(prm::wq::log_wq_stride, 10); }).is(Rule::wq_stride));
  EXPECT_EQ(host.objects().count("RQ"), 0u);
}

TEST_F(Queues, TimestampFormatsAreTheCards) {
  Host old("connectx5");
  Bench bench(old, old.context());
  auto call = bench.rq_call();
  call.in.at(prm::create_rq_in::ctx).set(R::ts_format, prm::timestamp_format::real_time);
  EXPECT_TRUE(bench.run(call).is(Rule::timestamp_format));
  call.in.at(prm::create_rq_in::ctx).set(R::ts_format, prm::timestamp_format::default_);
  EXPECT_TRUE(bench.run(call).ok());
  auto young = user.rq_call();
  young.in.at(prm::create_rq_in::ctx).set(R::ts_format, prm::timestamp_format::real_time);
  EXPECT_TRUE(user.run(young).ok());
}

TEST_F(Queues, InlineHeadersAsThePortDemands) {
  Host old("connectx4lx-14.12");  // its demand is in the vport context
  Bench bench(old);
  Call<prm::modify_nic_vport_context> vport;
  vport.in.at(prm::modify_nic_vport_context_in::field_select)
      .set(prm::modify_nic_vport_field_select::min_inline, 1);
  vport.in.at(prm::modify_nic_vport_context_in::nic_vport_context)
      .set(prm::nic_vport_context::min_wqe_inline_mode, prm::inline_mode::l2);
  ASSERT_TRUE(old.run(vport).ok());
  auto call = bench.sq_call();
  EXPECT_TRUE(bench.run(call).is(Rule::sq_inline_mode));
  call.in.at(prm::create_sq_in::ctx).set(S::min_wqe_inline_mode, prm::inline_mode::l2);
  EXPECT_TRUE(bench.run(call).ok());
}

TEST_F(Queues, ReceiveQueuesAreModified) {
  using Select = prm::modify_rq_select;
  const std::uint32_t rq = user.make_rq(), counter = host.q_counter(user.uid);
  Call<prm::modify_rq> call;
  call.in.set(prm::modify_rq_in::rqn, rq)
      .set(prm::modify_rq_in::modify_bitmask, Select::vsd | Select::rq_counter_set_id);
  call.in.at(prm::modify_rq_in::ctx).set(R::vsd, 1).set(R::counter_set_id, counter);
  ASSERT_TRUE(user.run(call).ok());
  Call<prm::query_rq> query;
  query.in.set(prm::query_rq_in::rqn, rq);
  ASSERT_TRUE(user.run(query).ok());
  EXPECT_EQ(query.out.at(prm::query_rq_out::rq_context).get(R::vsd), 1u);
  EXPECT_EQ(query.out.at(prm::query_rq_out::rq_context).get(R::counter_set_id), counter);
  Call<prm::dealloc_q_counter> dealloc;
  dealloc.in.set(prm::dealloc_q_counter_in::counter_set_id, counter);
  EXPECT_TRUE(user.run(dealloc).is(Rule::object_in_use));

  call.in.set(prm::modify_rq_in::modify_bitmask, 0x1000);
  EXPECT_TRUE(user.run(call).is(Rule::queue_modify));
}

TEST_F(Queues, KeepWhatTheyUse) {
  const std::uint32_t sq = user.make_sq();
  Call<prm::destroy_cq> cq;
  cq.in.set(prm::destroy_cq_in::cqn, user.cq);
  EXPECT_TRUE(user.run(cq).is(Rule::object_in_use));
  Call<prm::destroy_tis> tis;
  tis.in.set(prm::destroy_tis_in::tisn, user.tis);
  EXPECT_TRUE(user.run(tis).is(Rule::object_in_use));
  Call<prm::dealloc_uar> uar;
  uar.in.set(prm::dealloc_uar_in::uar, user.uar);
  EXPECT_TRUE(user.run(uar).is(Rule::object_in_use));
  Call<prm::destroy_sq> destroy;
  destroy.in.set(prm::destroy_sq_in::sqn, sq);
  EXPECT_TRUE(user.run(destroy).ok());
  EXPECT_TRUE(user.run(tis).ok());
  EXPECT_TRUE(user.run(cq).ok());
}

}  // namespace
}  // namespace chime::test
