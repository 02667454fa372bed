// SPDX-License-Identifier: BSD-3-Clause
// Event and completion queues.
#include "../support/host.h"
#include "model/card.h"

namespace chime::test {
namespace {

using model::Rule;
using Q = prm::cqc;

class Cqs : public ::testing::Test {
 protected:
  Host host;
  Bench user{host, host.context()};

  static prm::View<Q> cqc(Call<prm::create_cq>& call) { return call.in.at(prm::create_cq_in::cq_context); }
};

TEST_F(Cqs, AreQueried) {
  Call<prm::query_cq> query;
  query.in.set(prm::query_cq_in::cqn, user.cq);
  ASSERT_TRUE(user.run(query).ok());
  const auto seen = query.out.at(prm::query_cq_out::cq_context);
  EXPECT_EQ(seen.get(Q::log_cq_size), 6u);
  EXPECT_EQ(seen.get(Q::c_eqn_or_apu_element), user.eq);
  EXPECT_EQ(seen.get(Q::uar_page), user.uar);
  EXPECT_EQ(seen.get(Q::status), prm::cqc_status::ok);
}

TEST_F(Cqs, LieWithinTheirUmem) {
  auto call = user.cq_call();
  call.in.set(prm::create_cq_in::cq_umem_offset, 256 * 1024 - 4096 + 64);
  EXPECT_TRUE(user.run(call).is(Rule::outside_umem));
  call.in.set(prm::create_cq_in::cq_umem_offset, 256 * 1024 - 4096);
  EXPECT_TRUE(user.run(call).ok());
  call.in.set(prm::create_cq_in::cq_umem_offset, 32);
  EXPECT_TRUE(user.run(call).is(Rule::queue_alignment));

  auto record = user.cq_call();
  cqc(record).set(Q::dbr_addr, 256 * 1024);
  EXPECT_TRUE(user.run(record).is(Rule::outside_umem));
  cqc(record).set(Q::dbr_addr, 4);
  EXPECT_TRUE(user.run(record).is(Rule::record_alignment));
}

TEST_F(Cqs, WithoutAUmemHavePages) {
  auto ring = user.cq_call();
  ring.in.set(prm::create_cq_in::cq_umem_valid, 0);
  EXPECT_TRUE(user.run(ring).is(Rule::page_list_length));
}

TEST_F(Cqs, OfTheKernelMayListPages) {
  Bench kernel(host);
  Call<prm::create_cq, 8> call;
  call.in.at(prm::create_cq_in::cq_context)
      .set(Q::log_cq_size, 6)
      .set(Q::uar_page, kernel.uar)
      .set(Q::c_eqn_or_apu_element, kernel.eq)
      .set(Q::dbr_addr, host.memory.allocate(8));
  prm::set_bits(call.in.bytes().data(), prm::create_cq_in::size * 8, 64, host.memory.allocate(4096));
  EXPECT_TRUE(kernel.run(call).ok());
  call.in.at(prm::create_cq_in::cq_context).set(Q::log_cq_size, 7);
  EXPECT_TRUE(kernel.run(call).is(Rule::page_list_length));
}

TEST_F(Cqs, RefuseWhatIsNotThere) {
  auto large = user.cq_call();
  cqc(large).set(Q::log_cq_size, 23);
  EXPECT_TRUE(user.run(large).is(Rule::cq_size));
  auto element = user.cq_call();
  prm::set_bits(element.in.bytes().data(), 0x10 * 8 + 8, 3, 5);
  EXPECT_TRUE(user.run(element).is(Rule::cq_feature));
  auto eq = user.cq_call();
  cqc(eq).set(Q::c_eqn_or_apu_element, 0xff);
  EXPECT_TRUE(user.run(eq).is(Rule::unknown_object));
  auto uar = user.cq_call();
  cqc(uar).set(Q::uar_page, 0xff);
  EXPECT_TRUE(user.run(uar).is(Rule::unknown_object));
}

TEST_F(Cqs, CompressionNeedsTheCapabilityAndAKnownFormat) {
  auto call = user.cq_call();
  cqc(call).set(Q::cqe_comp_en, 1);
  for (const unsigned format : {0u, 1u, 3u}) {
    cqc(call).set(Q::mini_cqe_res_format, format);
    EXPECT_TRUE(user.run(call).ok()) << format;
  }
  cqc(call).set(Q::mini_cqe_res_format, 2);
  EXPECT_TRUE(user.run(call).is(Rule::cq_feature));
  cqc(call).set(Q::mini_cqe_res_format, 1).set(Q::cqe_compression_layout, 1);
  EXPECT_TRUE(user.run(call).is(Rule::cq_feature));
  cqc(call).set(Q::cqe_compression_layout, 0).set(Q::cqe_sz, prm::cqc_cqe_sz::bytes_128);
  EXPECT_TRUE(user.run(call).is(Rule::cq_feature));
  cqc(call).set(Q::cqe_sz, prm::cqc_cqe_sz::bytes_64);
  const prm::View<prm::cmd_hca_cap> caps(host.hca().card().capabilities.current(0));
  caps.set(prm::cmd_hca_cap::mini_cqe_resp_stride_index, 0);
  cqc(call).set(Q::mini_cqe_res_format, 3);
  EXPECT_TRUE(user.run(call).is(Rule::cq_feature));
  caps.set(prm::cmd_hca_cap::cqe_compression, 0);
  cqc(call).set(Q::mini_cqe_res_format, 1);
  EXPECT_TRUE(user.run(call).is(Rule::cq_feature));
}

TEST_F(Cqs, AreModified) {
  using Select = prm::cq_modify_select;
  Call<prm::modify_cq> call;
  auto select = [&](std::uint32_t bits) { prm::set_bits(call.in.bytes().data(), 0x0c * 8, 32, bits); };
  call.in.set(prm::modify_cq_in::cqn, user.cq);
  call.in.at(prm::modify_cq_in::cq_context).set(Q::cq_period, 12).set(Q::cq_max_count, 34);
  select(Select::cq_period);
  ASSERT_TRUE(user.run(call).ok());
  Call<prm::query_cq> query;
  query.in.set(prm::query_cq_in::cqn, user.cq);
  ASSERT_TRUE(user.run(query).ok());
  EXPECT_EQ(query.out.at(prm::query_cq_out::cq_context).get(Q::cq_period), 12u);
  EXPECT_EQ(query.out.at(prm::query_cq_out::cq_context).get(Q::cq_max_count), 0u) << "not selected";

  const std::uint32_t other = host.eq();
  call.in.at(prm::modify_cq_in::cq_context).set(Q::c_eqn_or_apu_element, other);
  select(Select::c_eqn);
  ASSERT_TRUE(user.run(call).ok());
  Call<prm::destroy_eq> eq;
  eq.in.set(prm::destroy_eq_in::eq_number, other);
  EXPECT_TRUE(host.run(eq).is(Rule::object_in_use));
  eq.in.set(prm::destroy_eq_in::eq_number, user.eq);
  EXPECT_TRUE(host.run(eq).ok());

  select(0x100);
  EXPECT_TRUE(user.run(call).is(Rule::cq_modify));
  call.in.set(prm::modify_cq_in::op_mod, prm::modify_cq_op_mod::resize_cq);
  EXPECT_TRUE(user.run(call).is(Rule::cq_modify));
}

TEST_F(Cqs, AreModeratedWhereTheCardCan) {
  auto profile = model::Profile::parse("base = \"connectx6dx\"\n[general]\ncq_moderation = 0\n", "test");
  ASSERT_TRUE(profile) << profile.error().text;
  Host plain(*profile);
  Bench bench(plain);
  auto call = bench.cq_call();
  cqc(call).set(Q::cq_max_count, 8);
  EXPECT_TRUE(bench.run(call).is(Rule::cq_moderation));
  auto same = user.cq_call();
  cqc(same).set(Q::cq_max_count, 8);
  EXPECT_TRUE(user.run(same).ok());
}

TEST_F(Cqs, EqsCheckTheirMakersWishes) {
  Call<prm::create_eq, 8> call;
  const auto eqc = call.in.at(prm::create_eq_in::eq_context_entry);
  eqc.set(prm::eqc::log_eq_size, 6).set(prm::eqc::uar_page, user.uar);
  EXPECT_TRUE(host.run(call).ok()) << "memory is looked at when an event is written";
  eqc.set(prm::eqc::log_eq_size, 7);
  EXPECT_TRUE(host.run(call).is(Rule::page_list_length));
  eqc.set(prm::eqc::log_eq_size, 23);
  EXPECT_TRUE(host.run(call).is(Rule::eq_size));
  eqc.set(prm::eqc::log_eq_size, 6).set(prm::eqc::intr, 0xfff);
  EXPECT_TRUE(host.run(call).is(Rule::eq_vector));
  Call<prm::destroy_eq> destroy;
  destroy.in.set(prm::destroy_eq_in::eq_number, user.eq);
  EXPECT_TRUE(user.run(destroy).is(Rule::foreign_object)) << "shared to use, not to destroy";
}

TEST_F(Cqs, EqsAreQueried) {
  Call<prm::query_eq> query;
  query.in.set(prm::query_eq_in::eq_number, user.eq);
  ASSERT_TRUE(user.run(query).ok());
  const auto seen = query.out.at(prm::query_eq_out::eq_context_entry);
  EXPECT_EQ(seen.get(prm::eqc::log_eq_size), 5u);
  EXPECT_EQ(seen.get(prm::eqc::status), prm::eqc_status::ok);
}

}  // namespace
}  // namespace chime::test
