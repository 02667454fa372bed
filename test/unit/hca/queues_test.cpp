// SPDX-License-Identifier: BSD-3-Clause
#include "card.h"
#include "path.h"

namespace chime::test {
namespace {

using hca::QueueState;

class Queues : public CardTest {};

TEST_F(Queues, GoThroughTheirStates) {
  auto path = Path::make(*device);
  ASSERT_TRUE(path) << why(path);
  EXPECT_EQ(*path->sq.state(), QueueState::ready);
  EXPECT_EQ(*path->rq.state(), QueueState::ready);
  ASSERT_TRUE(path->sq.modify(QueueState::ready, QueueState::error));
  EXPECT_EQ(*path->sq.state(), QueueState::error);
  ASSERT_TRUE(path->sq.modify(QueueState::error, QueueState::reset));
  ASSERT_TRUE(path->rq.modify(QueueState::ready, QueueState::reset));
  EXPECT_EQ(*path->rq.state(), QueueState::reset);
  EXPECT_FALSE(path->rq.modify(QueueState::ready, QueueState::error)) << "it is in reset";
}

TEST_F(Queues, StripVlanTagsWhenAsked) {
  auto path = Path::make(*device);
  ASSERT_TRUE(path);
  EXPECT_TRUE(path->rq.set_vlan_strip(true)) << why(path->rq.set_vlan_strip(true));
  EXPECT_TRUE(path->rq.set_vlan_strip(false));
}

TEST_F(Queues, BeginWithInvalidCqes) {
  auto path = Path::make(*device);
  ASSERT_TRUE(path);
  for (unsigned i = 0; i < 1u << Path::log_size; ++i) {
    EXPECT_EQ(prm::cqe_opcode_of(path->receive_cq.ring()[i].op_own), prm::cqe_opcode::invalid);
  }
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(path->receive_cq.record()) % 64, 0u);
}

TEST_F(Queues, RefuseImpossibleSizes) {
  EXPECT_FALSE(
      hca::CompletionQueue::create(*device, {.log_size = 30, .uar_page = 0, .eqn = 0, .socket = -1}));
  EXPECT_FALSE(hca::SendQueue::create(*device, {.log_size = 20,
                                                .cqn = 0,
                                                .uar_page = 0,
                                                .pd = 0,
                                                .tisn = 0,
                                                .min_inline_mode = 0,
                                                .allow_multi_packet = false,
                                                .socket = -1}));
  EXPECT_FALSE(hca::ReceiveQueue::create(*device, {.log_size = 4,
                                                   .log_stride = 3,
                                                   .cqn = 0,
                                                   .pd = 0,
                                                   .vlan_strip = false,
                                                   .scatter_fcs = false,
                                                   .counter_set_id = 0,
                                                   .socket = -1}));
}

TEST_F(Queues, TablesOfThemChange) {
  auto path = Path::make(*device);
  ASSERT_TRUE(path);
  const std::array<std::uint32_t, 4> rqns = {path->rq.number(), path->rq.number(), path->rq.number(),
                                             path->rq.number()};
  auto rqt = hca::create_rqt(*device, rqns);
  ASSERT_TRUE(rqt) << why(rqt);
  EXPECT_TRUE(hca::modify_rqt(*rqt, std::span(rqns).first(4)));
  EXPECT_FALSE(hca::create_rqt(*device, std::span(rqns).first(3))) << "3 is no power of two";
  hca::RssConfig rss{.rqt = rqt->number(),
                     .key = {},
                     .symmetric = false,
                     .ipv6 = false,
                     .l4 = hca::RssConfig::L4::udp,
                     .selected_fields = 0xf};
  auto tir = hca::create_rss_tir(*device, path->td.number(), rss);
  EXPECT_TRUE(tir) << why(tir);
}

TEST_F(Queues, CountersCountFlows) {
  auto path = Path::make(*device);
  ASSERT_TRUE(path);
  auto counter = hca::alloc_flow_counter(*device);
  ASSERT_TRUE(counter) << why(counter);
  path->entry = {};
  const hca::EntryDestination tir{hca::EntryDestination::Kind::tir, path->tir.number()};
  const std::uint32_t number = counter->number();
  auto entry = hca::create_flow_entry(*device, {.table = path->table.number(),
                                                .group = path->group.number(),
                                                .index = 3,
                                                .value = {},
                                                .action = hca::EntryConfig::Action::forward,
                                                .destinations = std::span(&tir, 1),
                                                .counters = std::span(&number, 1),
                                                .flow_tag = 0});
  ASSERT_TRUE(entry) << why(entry);
  path->post_receives(4);
  std::array<std::byte, 64> frame{};
  frame[0] = std::byte{0xff};
  path->send(frame);
  path->send(frame);
  settle();
  auto counted = hca::query_flow_counter(*counter, true);
  ASSERT_TRUE(counted) << why(counted);
  EXPECT_EQ(counted->packets, 2u);
  EXPECT_GE(counted->bytes, 2 * frame.size());
  counted = hca::query_flow_counter(*counter, false);
  EXPECT_EQ(counted->packets, 0u);
}

}  // namespace
}  // namespace chime::test
