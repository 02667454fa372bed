// SPDX-License-Identifier: BSD-3-Clause
// Receive queue tables, TIRs and TISs; Q counters.
#include "../support/host.h"
#include "model/card.h"

namespace chime::test {
namespace {

using model::Rule;
using T = prm::tirc;

class Spread : public ::testing::Test {
 protected:
  Host host;
  Bench user{host, host.context()};
  std::vector<std::uint32_t> rqs{user.make_rq(), user.make_rq(), user.make_rq(), user.make_rq()};

  std::uint32_t make_rqt() {
    auto call = user.rqt_call(rqs);
    EXPECT_TRUE(user.run(call).ok());
    return call.out.get(prm::create_rqt_out::rqtn);
  }
  Call<prm::create_tir> rss_call(std::uint32_t rqt) {
    auto call = user.tir_call(0);
    const auto tirc = call.in.at(prm::create_tir_in::ctx);
    tirc.set(T::disp_type, prm::tirc_disp_type::indirect)
        .set(T::indirect_table, rqt)
        .set(T::rx_hash_fn, prm::rx_hash_fn::toeplitz)
        .set(T::rx_hash_symmetric, 1);
    for (std::size_t i = 0; i < 10; ++i) {
      tirc.set(T::rx_hash_toeplitz_key, i, 0x01020304 + static_cast<std::uint32_t>(i));
    }
    tirc.at(T::rx_hash_field_selector_outer)
        .set(prm::rx_hash_field_select::l3_prot_type, prm::rx_hash_l3_type::ipv6)
        .set(prm::rx_hash_field_select::l4_prot_type, prm::rx_hash_l4_type::udp)
        .set(prm::rx_hash_field_select::selected_fields, 0xf);
    return call;
  }
};

TEST_F(Spread, TablesAreQueriedAsTheyWereMade) {
  Call<prm::query_rqt, 0, 64 * 4> query;
  query.in.set(prm::query_rqt_in::rqtn, make_rqt());
  ASSERT_TRUE(user.run(query).ok());
  const auto seen = query.out.at(prm::query_rqt_out::rqt_context);
  EXPECT_EQ(seen.get(prm::rqtc::rqt_max_size), 64u);
  ASSERT_EQ(seen.get(prm::rqtc::rqt_actual_size), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(seen.at(prm::rqtc::rq_num, i).get(prm::rq_num::rq_num_), rqs[i]);
  }
  Call<prm::query_rqt> tight;
  tight.in.set(prm::query_rqt_in::rqtn, query.in.get(prm::query_rqt_in::rqtn));
  EXPECT_TRUE(user.run(tight).is(Rule::output_length));
}

TEST_F(Spread, TablesHavePowersOfTwo) {
  auto three = user.rqt_call({rqs[0], rqs[1], rqs[2]});
  EXPECT_TRUE(user.run(three).is(Rule::rqt_size));
  auto none = user.rqt_call({});
  EXPECT_TRUE(user.run(none).is(Rule::rqt_size));
  auto large = user.rqt_call(rqs);
  large.in.at(prm::create_rqt_in::rqt_context).set(prm::rqtc::rqt_max_size, 4096);
  EXPECT_TRUE(user.run(large).is(Rule::rqt_size));
  auto more = user.rqt_call(rqs);
  more.in.at(prm::create_rqt_in::rqt_context).set(prm::rqtc::rqt_max_size, 2);
  EXPECT_TRUE(user.run(more).is(Rule::rqt_size));
  auto cut = user.rqt_call(rqs);
  cut.in.set(prm::create_rqt_in::uid, user.uid);
  const auto three_listed = cut.in.bytes().first(prm::create_rqt_in::size + 3 * 4);
  EXPECT_TRUE(host.execute(three_listed, cut.out.bytes()).is(Rule::input_length));
  auto kind = user.rqt_call(rqs);
  kind.in.at(prm::create_rqt_in::rqt_context).set(prm::rqtc::list_q_type, prm::rqt_list_type::virtio_net_q);
  EXPECT_TRUE(user.run(kind).is(Rule::rqt_type));
  auto stranger = user.rqt_call({rqs[0], 0x999999});
  EXPECT_TRUE(user.run(stranger).is(Rule::unknown_object));
  EXPECT_EQ(host.objects().count("RQT"), 0u);
}

TEST_F(Spread, TablesChangeAsAWholeOrNotAtAll) {
  const std::uint32_t rqt = make_rqt();
  Call<prm::modify_rqt, 16> call;
  call.in.set(prm::modify_rqt_in::rqtn, rqt);
  call.in.at(prm::modify_rqt_in::bitmask).set(prm::rqt_bitmask::rqn_list, 1);
  const auto rqtc = call.in.at(prm::modify_rqt_in::ctx);
  rqtc.set(prm::rqtc::rqt_actual_size, 2);
  rqtc.at(prm::rqtc::rq_num, 0).set(prm::rq_num::rq_num_, rqs[3]);
  rqtc.at(prm::rqtc::rq_num, 1).set(prm::rq_num::rq_num_, 0x999999);
  EXPECT_TRUE(user.run(call).is(Rule::unknown_object));
  model::Rqt& table = *host.hca().card().rqts.find(rqt);
  EXPECT_EQ(table.queues.size(), 4u);
  EXPECT_EQ(table.queues[0]->number, rqs[0]);

  rqtc.at(prm::rqtc::rq_num, 1).set(prm::rq_num::rq_num_, rqs[3]);
  ASSERT_TRUE(user.run(call).ok());
  EXPECT_EQ(table.queues.size(), 2u);
  Call<prm::destroy_rq> rq;
  rq.in.set(prm::destroy_rq_in::rqn, rqs[0]);
  EXPECT_TRUE(user.run(rq).ok()) << "out of the table";
  rq.in.set(prm::destroy_rq_in::rqn, rqs[3]);
  EXPECT_TRUE(user.run(rq).is(Rule::object_in_use));
}

TEST_F(Spread, TirsAreQueriedAsTheyWereMade) {
  auto call = rss_call(make_rqt());
  const Answer answer = user.run(call);
  ASSERT_TRUE(answer.ok()) << answer.words;
  Call<prm::query_tir> query;
  query.in.set(prm::query_tir_in::tirn, call.out.get(prm::create_tir_out::tirn));
  ASSERT_TRUE(user.run(query).ok());
  const auto made = call.in.at(prm::create_tir_in::ctx).bytes();
  const auto seen = query.out.at(prm::query_tir_out::tir_context).bytes();
  EXPECT_TRUE(std::equal(made.begin(), made.end(), seen.begin(), seen.end()));
}

TEST_F(Spread, TirsRefuseWhatIsNotThere) {
  auto refused = [&](auto change) {
    auto call = user.tir_call(rqs[0]);
    change(call.in.at(prm::create_tir_in::ctx));
    return user.run(call);
  };
  EXPECT_TRUE(refused([](auto c) {
                c.set(T::disp_type, static_cast<prm::tirc_disp_type>(7));
              }).is(Rule::tir_dispatch));
  EXPECT_TRUE(
      refused([](auto c) { c.set(T::rx_hash_fn, static_cast<prm::rx_hash_fn>(5)); }).is(Rule::tir_hash));
  EXPECT_TRUE(refused([](auto c) {
                c.at(T::rx_hash_field_selector_outer).set(prm::rx_hash_field_select::selected_fields, 0x20);
              }).is(Rule::tir_hash));
  EXPECT_TRUE(refused([](auto c) { c.set(T::packet_merge_mask, 1); }).is(Rule::tir_feature));
  EXPECT_TRUE(refused([](auto c) { c.set(T::transport_domain, 0x777); }).is(Rule::unknown_object));
  EXPECT_TRUE(refused([](auto c) { c.set(T::inline_rqn, 0); }).is(Rule::unknown_object));
}

TEST_F(Spread, TirsChangeTheirHashAndLoopback) {
  using Mask = prm::modify_tir_bitmask;
  auto make = rss_call(make_rqt());
  ASSERT_TRUE(user.run(make).ok());
  const std::uint32_t number = make.out.get(prm::create_tir_out::tirn);
  Call<prm::modify_tir> call;
  call.in.set(prm::modify_tir_in::tirn, number);
  call.in.at(prm::modify_tir_in::bitmask).set(Mask::hash, 1).set(Mask::self_lb_en, 1);
  const auto tirc = call.in.at(prm::modify_tir_in::ctx);
  tirc.set(T::rx_hash_fn, prm::rx_hash_fn::inverted_xor8).set(T::self_lb_block, 3);
  ASSERT_TRUE(user.run(call).ok());
  const model::Tir& tir = *host.hca().card().tirs.find(number);
  EXPECT_EQ(tir.hash, model::Tir::HashFunction::inverted_xor8);
  EXPECT_EQ(tir.self_loopback, 3);
  tirc.set(T::rx_hash_fn, static_cast<prm::rx_hash_fn>(9)).set(T::self_lb_block, 0);
  EXPECT_TRUE(user.run(call).is(Rule::tir_hash));
  EXPECT_EQ(tir.self_loopback, 3) << "nothing changes half";
}

TEST_F(Spread, OwnPacketsAreAChoiceWhereTheCardHasOne) {
  auto profile = model::Profile::parse(
      "base = \"connectx6dx\"\n"
      "[general]\ndisable_local_lb_uc = 0\n"
      "[ethernet_offloads]\nself_lb_uc = 0\nself_lb_en_modifiable = 0\n",
      "test");
  ASSERT_TRUE(profile) << profile.error().text;
  Host plain(*profile);
  Bench bench(plain);
  auto call = bench.tir_call(bench.make_rq());
  call.in.at(prm::create_tir_in::ctx).set(T::self_lb_block, 1);
  EXPECT_TRUE(bench.run(call).is(Rule::loopback_block));
  call.in.at(prm::create_tir_in::ctx).set(T::self_lb_block, 2);
  ASSERT_TRUE(bench.run(call).ok());
  Call<prm::modify_tir> modify;
  modify.in.set(prm::modify_tir_in::tirn, call.out.get(prm::create_tir_out::tirn));
  modify.in.at(prm::modify_tir_in::bitmask).set(prm::modify_tir_bitmask::self_lb_en, 1);
  EXPECT_TRUE(bench.run(modify).is(Rule::tir_modify));
}

/// net_mlx5 22.11 makes the TIR of its drop queue before it has a transport domain.
TEST_F(Spread, ATransportDomainIsNotNeeded) {
  auto tir = user.tir_call(rqs[0]);
  tir.in.at(prm::create_tir_in::ctx).set(T::transport_domain, 0);
  ASSERT_TRUE(user.run(tir).ok());
  Call<prm::query_tir> query;
  query.in.set(prm::query_tir_in::tirn, tir.out.get(prm::create_tir_out::tirn));
  ASSERT_TRUE(user.run(query).ok());
  EXPECT_EQ(query.out.at(prm::query_tir_out::tir_context).get(T::transport_domain), 0u);
  auto tis = user.tis_call();
  tis.in.at(prm::create_tis_in::ctx).set(prm::tisc::transport_domain, 0);
  EXPECT_TRUE(user.run(tis).ok());
}

TEST_F(Spread, TissAreModifiedAndQueried) {
  Call<prm::modify_tis> call;
  call.in.set(prm::modify_tis_in::tisn, user.tis);
  call.in.at(prm::modify_tis_in::bitmask).set(prm::modify_tis_bitmask::prio, 1);
  call.in.at(prm::modify_tis_in::ctx).set(prm::tisc::prio, 6);
  ASSERT_TRUE(user.run(call).ok());
  Call<prm::query_tis> query;
  query.in.set(prm::query_tis_in::tisn, user.tis);
  ASSERT_TRUE(user.run(query).ok());
  EXPECT_EQ(query.out.at(prm::query_tis_out::tis_context).get(prm::tisc::prio), 6u);
  EXPECT_EQ(query.out.at(prm::query_tis_out::tis_context).get(prm::tisc::transport_domain), user.domain);
  auto tls = user.tis_call();
  tls.in.at(prm::create_tis_in::ctx).set(prm::tisc::tls_en, 1);
  EXPECT_TRUE(user.run(tls).is(Rule::tis_feature));
}

TEST_F(Spread, QCountersAreReadAndCleared) {
  const std::uint32_t number = host.q_counter(user.uid);
  host.hca().card().q_counters.find(number)->out_of_buffer = 0x1'0000'0005;
  Call<prm::query_q_counter> query;
  query.in.set(prm::query_q_counter_in::counter_set_id, number).set(prm::query_q_counter_in::clear, 1);
  ASSERT_TRUE(user.run(query).ok());
  EXPECT_EQ(query.out.get(prm::query_q_counter_out::out_of_buffer), 5u) << "32 bits, they wrap";
  ASSERT_TRUE(user.run(query).ok());
  EXPECT_EQ(query.out.get(prm::query_q_counter_out::out_of_buffer), 0u);
}

TEST_F(Spread, QCountersRunOut) {
  Call<prm::alloc_q_counter> call;
  unsigned made = 0;
  Answer answer;
  while ((answer = host.run(call)).ok()) ASSERT_LT(++made, 1000u);
  EXPECT_EQ(made, 255u);
  EXPECT_TRUE(answer.is(Rule::none_left));
}

}  // namespace
}  // namespace chime::test
