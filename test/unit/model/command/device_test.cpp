// SPDX-License-Identifier: BSD-3-Clause
// Capabilities, pages, the interface step, what the adapter is.
#include "../support/host.h"

namespace chime::test {
namespace {

using model::Rule;
using G = prm::cmd_hca_cap;

Answer query(Host& host, Call<prm::query_hca_cap>& call, unsigned op_mod) {
  call.in.set(prm::query_hca_cap_in::op_mod, op_mod);
  return host.run(call);
}

prm::ConstView<G> general(Call<prm::query_hca_cap>& call) {
  return prm::ConstView<G>(call.out.bytes().subspan(16));
}

TEST(Capabilities, AreQueriedByTypeAndMode) {
  Host host;
  Call<prm::query_hca_cap> call;
  ASSERT_TRUE(query(host, call, 0).ok());
  EXPECT_EQ(general(call).get(G::log_max_uctx), 13u);
  EXPECT_EQ(general(call).get(G::port_type), 1u);
  for (unsigned op_mod : {1u, 2u, 3u, 0xeu, 0xfu, 0x28u, 0x29u}) EXPECT_TRUE(query(host, call, op_mod).ok());
  EXPECT_TRUE(query(host, call, 0x3e).is(Rule::capability_type));
  EXPECT_TRUE(query(host, call, 0xffff).is(Rule::capability_type));
  call.in.set(prm::query_hca_cap_in::other_function, 1);
  EXPECT_TRUE(query(host, call, 0).is(Rule::other_function));
}

TEST(Capabilities, AreSetBeforeInitAndNeverRaised) {
  Host host("connectx6dx", false);
  Call<prm::enable_hca> enable;
  ASSERT_TRUE(host.run(enable).ok());
  Call<prm::set_hca_cap> set;
  Call<prm::query_hca_cap> get;
  ASSERT_TRUE(query(host, get, 1).ok());
  const auto from = get.out.bytes().subspan(16, 4096);
  std::copy(from.begin(), from.end(), set.in.bytes().begin() + 16);
  const prm::View<G> wanted(set.in.bytes().subspan(16));
  wanted.set(G::log_max_cq, 5);
  ASSERT_TRUE(host.run(set).ok());
  ASSERT_TRUE(query(host, get, 1).ok());
  EXPECT_EQ(general(get).get(G::log_max_cq), 5u);
  ASSERT_TRUE(query(host, get, 0).ok());
  EXPECT_EQ(general(get).get(G::log_max_cq), 24u) << "the most stays";
  wanted.set(G::log_max_cq, 25);
  EXPECT_TRUE(host.run(set).is(Rule::capability_raise));
  set.in.set(prm::set_hca_cap_in::op_mod, 0x3f << 1);
  EXPECT_TRUE(host.run(set).is(Rule::capability_type));
  Call<prm::init_hca> init;
  ASSERT_TRUE(host.run(init).ok());
  set.in.set(prm::set_hca_cap_in::op_mod, 0);
  EXPECT_TRUE(host.run(set).is(Rule::device_state));
}

TEST(HostPages, AreTakenAndGivenBack) {
  Host host;
  Call<prm::query_pages> ask;
  ask.in.set(prm::query_pages_in::op_mod, prm::query_pages_op_mod::boot_pages);
  ASSERT_TRUE(host.run(ask).ok());
  EXPECT_EQ(ask.out.get(prm::query_pages_out::num_pages), 0u);

  Call<prm::manage_pages, 3 * 8, 3 * 8> call;
  auto op = [&](prm::manage_pages_op_mod what, std::uint32_t count) {
    call.in.set(prm::manage_pages_in::op_mod, what).set(prm::manage_pages_in::input_num_entries, count);
    return host.run(call);
  };
  using Op = prm::manage_pages_op_mod;
  for (std::size_t i = 0; i < 3; ++i) call.in.set(prm::manage_pages_in::pas, i, 0x1000 * (i + 1));
  EXPECT_TRUE(op(Op::allocation_success, 4).is(Rule::page_list_length));
  EXPECT_TRUE(op(Op::allocation_success, 3).ok());
  EXPECT_TRUE(op(Op::allocation_success, 2).ok());
  EXPECT_TRUE(op(Op::hca_return_pages, 4).is(Rule::output_length));
  ASSERT_TRUE(op(Op::hca_return_pages, 3).ok());
  EXPECT_EQ(call.out.get(prm::manage_pages_out::output_num_entries), 3u);
  EXPECT_EQ(call.out.get(prm::manage_pages_out::pas, 2), 0x2000u);
  ASSERT_TRUE(op(Op::hca_return_pages, 3).ok());
  EXPECT_EQ(call.out.get(prm::manage_pages_out::output_num_entries), 2u) << "all that are left";
  EXPECT_TRUE(op(static_cast<Op>(9), 1).is(Rule::op_mod));
}

TEST(Issi, IsOneTheCardKnows) {
  Host host;
  Call<prm::query_issi> query;
  ASSERT_TRUE(host.run(query).ok());
  EXPECT_EQ(query.out.get(prm::query_issi_out::current_issi), 1u);
  EXPECT_EQ(query.out.get(prm::query_issi_out::supported_issi_dw0), 2u);
  Call<prm::set_issi> set;
  set.in.set(prm::set_issi_in::current_issi, 2);
  EXPECT_TRUE(host.run(set).is(Rule::issi));
}

TEST(Adapter, HasAName) {
  Host host;
  Call<prm::query_adapter> call;
  ASSERT_TRUE(host.run(call).ok());
  const auto block = call.out.at(prm::query_adapter_out::query_adapter_struct);
  EXPECT_EQ(block.get(prm::query_adapter_param_block::vsd_vendor_id), 0x15b3u);
  EXPECT_EQ(block.get(prm::query_adapter_param_block::vsd_contd_psid, 0), 'C');
  Call<prm::set_driver_version> version;
  EXPECT_TRUE(host.run(version).ok());
  Call<prm::query_special_contexts> special;
  ASSERT_TRUE(host.run(special).ok());
  EXPECT_NE(special.out.get(prm::query_special_contexts_out::resd_lkey), 0u);
}

TEST(Doorbells, AtNothingAreReported) {
  Host host;
  host.hca().doorbell(0x999, 0x800, 1);
  EXPECT_EQ(host.rules.back(), "doorbell.unknown-uar");
  host.hca().doorbell(host.uar(), 0x123, 1);
  EXPECT_EQ(host.rules.back(), "doorbell.offset");
}

}  // namespace
}  // namespace chime::test
