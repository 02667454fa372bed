// SPDX-License-Identifier: BSD-3-Clause
// The card runs out of memory at every place in turn: it refuses, and nothing is left or half made.
#include "../../support/failing_allocation.h"
#include "../support/host.h"
#include "../support/queue_pair.h"

namespace chime::test {
namespace {

/// Runs `attempt` with the first, second, ... allocation failing, until one run has none to fail.
/// `attempt` returns how it ended; `objects` must be as before when it was refused.
template <class F>
unsigned fail_each(Host& host, F&& attempt) {
  const Objects before = host.objects();
  for (unsigned n = 1;; ++n) {
    Answer answer;
    bool failed;
    {
      FailingAllocation failing(n);
      answer = attempt();
      failed = failing.failed();
    }
    if (!failed) {
      EXPECT_TRUE(answer.ok()) << answer.words;
      return n - 1;
    }
    EXPECT_TRUE(answer.is(model::Rule::no_memory)) << "allocation " << n;
    EXPECT_EQ(host.objects(), before) << "allocation " << n;
    if (n > 100) return n;
  }
}

/// What is used as often before as after, all over the card.
TEST(Allocation, OfTheCardItself) {
  auto profile = model::Profile::named("connectx6dx");
  ASSERT_TRUE(profile);
  for (unsigned n = 1;; ++n) {
    FailingAllocation failing(n);
    auto again = model::Profile::named("connectx5");
    const bool failed = failing.failed();
    if (!failed) {
      EXPECT_TRUE(again);
      EXPECT_GT(n, 2u);
      break;
    }
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().errnum, ENOMEM);
  }
}

TEST(Allocation, OfEveryObject) {
  Host host;
  const std::uint16_t uid = host.context();
  Bench user(host, uid);
  const std::uint32_t rq = user.make_rq();
  auto each = [&](auto call) { return fail_each(host, [&] { return user.run(call); }); };

  EXPECT_GE(fail_each(host,
                      [&] {
                        Call<prm::create_uctx> call;
                        return host.run(call);
                      }),
            1u);
  EXPECT_GE(each(Call<prm::alloc_pd>{}), 1u);
  EXPECT_GE(each(Call<prm::alloc_transport_domain>{}), 1u);
  EXPECT_GE(each(Call<prm::alloc_uar>{}), 1u);
  EXPECT_GE(each(Call<prm::alloc_q_counter>{}), 1u);
  EXPECT_GE(each(Call<prm::alloc_flow_counter>{}), 1u);
  EXPECT_GE(each(user.mkey_call(4096)), 1u);
  EXPECT_GE(each(user.cq_call()), 1u);
  EXPECT_GE(each(user.sq_call()), 1u);
  EXPECT_GE(each(user.rq_call()), 1u);
  EXPECT_GE(each(user.tis_call()), 1u);
  EXPECT_GE(each(user.rqt_call({rq, rq})), 2u);
  auto tir = user.tir_call(rq);
  tir.in.at(prm::create_tir_in::ctx).set(prm::tirc::rx_hash_fn, prm::rx_hash_fn::toeplitz);
  EXPECT_GE(each(tir), 1u);
}

TEST(Allocation, OfAQueuePair) {
  Host host;
  QpBench bench(host);
  for (const auto service : {prm::qpc_st::rc, prm::qpc_st::uc, prm::qpc_st::ud}) {
    auto create = bench.create_call(service);
    EXPECT_GE(fail_each(host, [&] { return bench.user.run(create); }), 1u);
    const std::uint32_t qpn = create.out.get(prm::create_qp_out::qpn);
    // What the transport allocates on its way is its own affair; a refusal leaves the state.
    fail_each(host, [&] { return bench.go<prm::rst2init_qp>(qpn); });
    fail_each(host, [&] { return bench.go<prm::init2rtr_qp>(qpn); });
    fail_each(host, [&] { return bench.go<prm::rtr2rts_qp>(qpn); });
    EXPECT_EQ(bench.state(qpn), prm::qpc_state::rts);
  }
  Call<prm::create_qp, 3 * 8> pages;
  Bench kernel(host);
  pages.in.at(prm::create_qp_in::qpc)
      .set(prm::qpc::pd, kernel.pd)
      .set(prm::qpc::uar_page, kernel.uar)
      .set(prm::qpc::cqn_snd, kernel.cq)
      .set(prm::qpc::cqn_rcv, kernel.cq)
      .set(prm::qpc::log_rq_size, 8)
      .set(prm::qpc::log_sq_size, 6)
      .set(prm::qpc::dbr_addr, host.memory.allocate(64));
  for (unsigned i = 0; i < 3; ++i) pages.in.set(prm::create_qp_in::pas, i, host.memory.allocate(4096));
  EXPECT_GE(fail_each(host, [&] { return host.run(pages); }), 3u);
}

TEST(Allocation, OfAUmemAndAnEq) {
  Host host;
  const std::uint32_t uar = host.uar();
  Call<prm::create_eq, 8> eq;
  eq.in.at(prm::create_eq_in::eq_context_entry).set(prm::eqc::log_eq_size, 4).set(prm::eqc::uar_page, uar);
  EXPECT_GE(fail_each(host, [&] { return host.run(eq); }), 2u);
  Call<prm::create_umem, 16> umem;
  umem.in.at(prm::create_umem_in::umem).set(prm::umem::num_of_mtt, 2);
  EXPECT_GE(fail_each(host, [&] { return host.run(umem); }), 2u);
  Call<prm::manage_pages, 16> pages;
  pages.in.set(prm::manage_pages_in::op_mod, prm::manage_pages_op_mod::allocation_success)
      .set(prm::manage_pages_in::input_num_entries, 2);
  EXPECT_GE(fail_each(host, [&] { return host.run(pages); }), 1u);
}

TEST(Allocation, OfSteering) {
  Host host;
  Call<prm::create_flow_table> table;
  table.in.at(prm::create_flow_table_in::flow_table_context).set(prm::flow_table_context::log_size, 16);
  EXPECT_GE(fail_each(host, [&] { return host.run(table); }), 1u);

  Call<prm::create_flow_group> group;
  group.in.set(prm::create_flow_group_in::table_id, table.out.get(prm::create_flow_table_out::table_id))
      .set(prm::create_flow_group_in::end_flow_index, 0xffff)
      .set(prm::create_flow_group_in::match_criteria_enable, 1);
  group.in.at(prm::create_flow_group_in::match_criteria)
      .at(prm::fte_match_param::outer_headers)
      .set(prm::fte_match_set_lyr_2_4::ethertype, 0xffff);
  EXPECT_GE(fail_each(host, [&] { return host.run(group); }), 2u);

  Call<prm::alloc_flow_counter> counter;
  ASSERT_TRUE(host.run(counter).ok());
  Call<prm::set_flow_table_entry, 8> entry;
  entry.in.set(prm::set_fte_in::table_id, table.out.get(prm::create_flow_table_out::table_id));
  const auto context = entry.in.at(prm::set_fte_in::flow_context);
  context.set(prm::flow_context::group_id, group.out.get(prm::create_flow_group_out::group_id))
      .set(prm::flow_context::action, prm::flow_action::drop | prm::flow_action::count)
      .set(prm::flow_context::flow_counter_list_size, 1);
  prm::View<prm::flow_counter_list>(context.bytes().subspan(prm::flow_context::size, 8))
      .set(prm::flow_counter_list::flow_counter_id,
           counter.out.get(prm::alloc_flow_counter_out::flow_counter_id));
  // Far apart, so that each needs a page of the table; and so many that the index grows.
  for (std::uint32_t i = 0; i < 40; ++i) {
    entry.in.set(prm::set_fte_in::flow_index, i * 300);
    EXPECT_GE(fail_each(host, [&] { return host.run(entry); }), 3u);
  }
  EXPECT_EQ(host.objects()["flow entry"], 40u);
}

TEST(Allocation, OfTheVport) {
  Host host;
  Call<prm::modify_nic_vport_context, 8> vport;
  vport.in.at(prm::modify_nic_vport_context_in::field_select)
      .set(prm::modify_nic_vport_field_select::addresses_list, 1);
  vport.in.at(prm::modify_nic_vport_context_in::nic_vport_context)
      .set(prm::nic_vport_context::allowed_list_size, 1);
  EXPECT_EQ(fail_each(host, [&] { return host.run(vport); }), 1u);
  Call<prm::set_l2_table_entry> l2;
  EXPECT_GE(fail_each(host, [&] { return host.run(l2); }), 2u);
}

}  // namespace
}  // namespace chime::test
