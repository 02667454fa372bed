// SPDX-License-Identifier: BSD-3-Clause
// The states of queue pairs: every transition from every state, and the optional parameters of each.
#include "../support/queue_pair.h"
#include "model/card.h"

namespace chime::test {
namespace {

using model::QpState;
using model::Rule;
using prm::qpc_st;

constexpr QpState all_states[] = {QpState::reset, QpState::init, QpState::rtr, QpState::rts,
                                  QpState::sqer,  QpState::err,  QpState::sqd};
constexpr qpc_st services[] = {qpc_st::rc, qpc_st::uc, qpc_st::ud};

struct Step {
  const char* name;
  QpState from;
  QpState to;
  Answer (*run)(QpBench&, std::uint32_t qpn, std::uint32_t mask);
  /// opt_param_mask by service, as Linux allows it (mlx5_ib qp.c), less path migration, LAG and SRQs.
  std::uint32_t optional[3];
};

template <class C>
Answer run(QpBench& bench, std::uint32_t qpn, std::uint32_t mask) {
  auto call = QpBench::transition<C>(qpn);
  call.in.set(C::in::opt_param_mask, mask);
  return bench.user.run(call);
}

constexpr std::uint32_t rre = 2, rae = 4, rwe = 8, pkey = 0x10, qkey = 0x20, rnr = 0x40, port = 0x10000,
                        counter = 0x2000000;

const Step steps[] = {
    {"RST2INIT", QpState::reset, QpState::init, run<prm::rst2init_qp>, {0, 0, 0}},
    {"INIT2INIT",
     QpState::init,
     QpState::init,
     run<prm::init2init_qp>,
     {rre | rae | rwe | pkey | port, rwe | pkey | port, pkey | qkey | port}},
    {"INIT2RTR",
     QpState::init,
     QpState::rtr,
     run<prm::init2rtr_qp>,
     {rre | rae | rwe | pkey, rwe | pkey, pkey | qkey}},
    {"RTR2RTS", QpState::rtr, QpState::rts, run<prm::rtr2rts_qp>, {rre | rae | rwe | rnr, rwe, qkey}},
    {"RTS2RTS",
     QpState::rts,
     QpState::rts,
     run<prm::rts2rts_qp>,
     {rre | rae | rwe | rnr | counter, rwe | counter, qkey | counter}},
    {"SQERR2RTS", QpState::sqer, QpState::rts, run<prm::sqerr2rts_qp>, {rre | rae | rwe | rnr, rwe, qkey}},
    {"SQD_RTS", QpState::sqd, QpState::rts, run<prm::sqd_rts_qp>, {rre | rae | rwe | rnr, rwe, qkey}},
};

class QpTransitions : public ::testing::Test {
 protected:
  /// SQER and SQD are not reached by commands.
  std::uint32_t make_in(QpState state, qpc_st service) {
    const std::uint32_t qpn = bench.make(service);
    object(qpn).state = state;
    return qpn;
  }
  model::Qp& object(std::uint32_t qpn) { return *host.hca().card().qps.find(qpn); }

  Host host;
  QpBench bench{host};
};

TEST_F(QpTransitions, EachLeadsFromOneStateOnly) {
  for (const qpc_st service : services) {
    for (const QpState state : all_states) {
      for (const Step& step : steps) {
        SCOPED_TRACE(std::string(step.name) + " of a " + model::name(static_cast<model::QpService>(service)) +
                     " queue pair in " + model::name(state));
        const std::uint32_t qpn = make_in(state, service);
        const Answer answer = step.run(bench, qpn, 0);
        if (state == step.from) {
          EXPECT_TRUE(answer.ok()) << answer.words;
          EXPECT_EQ(object(qpn).state, step.to);
        } else {
          EXPECT_TRUE(answer.is(Rule::qp_state));
          EXPECT_EQ(object(qpn).state, state);
          EXPECT_NE(answer.words.find(model::name(state)), std::string::npos) << answer.words;
        }
        EXPECT_TRUE(bench.destroy(qpn).ok());
      }
    }
  }
}

TEST_F(QpTransitions, ErrorAndResetComeFromEverywhere) {
  for (const qpc_st service : services) {
    for (const QpState state : all_states) {
      SCOPED_TRACE(model::name(state));
      const std::uint32_t qpn = make_in(state, service);
      Call<prm::qp_2err> error;
      error.in.set(prm::qp_2err_in::qpn, qpn);
      EXPECT_TRUE(bench.user.run(error).ok());
      EXPECT_EQ(bench.state(qpn), prm::qpc_state::err);
      object(qpn).state = state;
      Call<prm::qp_2rst> reset;
      reset.in.set(prm::qp_2rst_in::qpn, qpn);
      EXPECT_TRUE(bench.user.run(reset).ok());
      EXPECT_EQ(bench.state(qpn), prm::qpc_state::rst);
      EXPECT_TRUE(bench.destroy(qpn).ok());
    }
  }
}

TEST_F(QpTransitions, OptionalParametersAreLinuxs) {
  for (const qpc_st service : services) {
    for (const Step& step : steps) {
      for (unsigned bit = 0; bit < 32; ++bit) {
        SCOPED_TRACE(std::string(step.name) + " bit " + std::to_string(bit));
        const std::uint32_t mask = 1u << bit;
        const std::uint32_t qpn = make_in(step.from, service);
        const Answer answer = step.run(bench, qpn, mask);
        if (step.optional[static_cast<unsigned>(service)] & mask) {
          EXPECT_TRUE(answer.ok()) << answer.words;
        } else {
          EXPECT_TRUE(answer.is(Rule::qp_optional));
          EXPECT_EQ(object(qpn).state, step.from);
        }
        EXPECT_TRUE(bench.destroy(qpn).ok());
      }
    }
  }
}

TEST_F(QpTransitions, OptionalParametersChangeWhatTheyNameOnly) {
  const std::uint32_t qpn = bench.make();
  bench.connect(qpn);
  const model::QpAttributes before = object(qpn).attributes;
  auto call = QpBench::transition<prm::rts2rts_qp>(qpn);
  call.in.set(prm::rts2rts_qp_in::opt_param_mask, rre | rnr);
  call.in.at(prm::rts2rts_qp_in::qpc)
      .set(prm::qpc::rre, 0)
      .set(prm::qpc::rwe, 0)
      .set(prm::qpc::rae, 0)
      .set(prm::qpc::min_rnr_nak, 31)
      .set(prm::qpc::remote_qpn, 7)
      .set(prm::qpc::retry_count, 1);
  ASSERT_TRUE(bench.user.run(call).ok()) << host.words;
  model::QpAttributes after = before;
  after.remote_read = false;
  after.min_rnr_nak = 31;
  EXPECT_EQ(object(qpn).attributes, after);
}

TEST_F(QpTransitions, ARefusalChangesNothing) {
  const std::uint32_t qpn = bench.make();
  ASSERT_TRUE(bench.go<prm::rst2init_qp>(qpn).ok());
  const model::QpAttributes before = object(qpn).attributes;
  auto call = QpBench::transition<prm::init2rtr_qp>(qpn);
  call.in.at(prm::init2rtr_qp_in::qpc).set(prm::qpc::log_rra_max, 7);
  EXPECT_TRUE(bench.user.run(call).is(Rule::qp_depth));
  EXPECT_EQ(object(qpn).attributes, before);
  EXPECT_EQ(object(qpn).state, QpState::init);
}

TEST_F(QpTransitions, ResetForgetsWhatWasSet) {
  auto create = bench.create_call();
  create.in.at(prm::create_qp_in::qpc).set(prm::qpc::atomic_like_write_en, 1);
  ASSERT_TRUE(bench.user.run(create).ok());
  const std::uint32_t qpn = create.out.get(prm::create_qp_out::qpn);
  bench.connect(qpn);
  Call<prm::qp_2rst> reset;
  reset.in.set(prm::qp_2rst_in::qpn, qpn);
  ASSERT_TRUE(bench.user.run(reset).ok());
  const auto query = bench.query(qpn);
  const auto qpc = query.out.at(prm::query_qp_out::qpc);
  EXPECT_EQ(qpc.get(prm::qpc::remote_qpn), 0u);
  EXPECT_EQ(qpc.get(prm::qpc::rae), 0u);
  EXPECT_EQ(qpc.get(prm::qpc::next_send_psn), 0u);
  EXPECT_EQ(qpc.get(prm::qpc::atomic_like_write_en), 1u) << "it was created so";
  EXPECT_EQ(qpc.get(prm::qpc::cqn_snd), bench.user.cq);
  bench.connect(qpn);
}

TEST_F(QpTransitions, CountersMayChange) {
  const std::uint32_t qpn = bench.make();
  bench.connect(qpn);
  const std::uint32_t number = host.q_counter(bench.user.uid);
  auto call = QpBench::transition<prm::rts2rts_qp>(qpn);
  call.in.set(prm::rts2rts_qp_in::opt_param_mask, counter);
  call.in.at(prm::rts2rts_qp_in::qpc).set(prm::qpc::counter_set_id, number);
  ASSERT_TRUE(bench.user.run(call).ok()) << host.words;
  EXPECT_EQ(object(qpn).q_counter.get()->number, number);
  call.in.at(prm::rts2rts_qp_in::qpc).set(prm::qpc::counter_set_id, 200);
  EXPECT_TRUE(bench.user.run(call).is(Rule::unknown_object));
  call.in.at(prm::rts2rts_qp_in::qpc).set(prm::qpc::counter_set_id, 0);
  EXPECT_TRUE(bench.user.run(call).ok());
  EXPECT_FALSE(object(qpn).q_counter);
}

TEST_F(QpTransitions, BelongToTheOwner) {
  const std::uint32_t qpn = bench.make();
  const std::uint16_t other = host.context();
  auto call = QpBench::transition<prm::rst2init_qp>(qpn);
  EXPECT_TRUE(host.run(call, other).is(Rule::foreign_object));
  auto none = QpBench::transition<prm::rst2init_qp>(0x123);
  EXPECT_TRUE(bench.user.run(none).is(Rule::unknown_object));
  Call<prm::qp_2err> error;
  error.in.set(prm::qp_2err_in::qpn, qpn);
  EXPECT_TRUE(host.run(error, other).is(Rule::foreign_object));
}

}  // namespace
}  // namespace chime::test
