// SPDX-License-Identifier: BSD-3-Clause
// Multicast groups: who may join and leave, and when there is no more room.
#include <string>

#include "../support/queue_pair.h"
#include "model/card.h"

namespace chime::test {
namespace {

using model::GidBytes;
using model::Rule;

constexpr GidBytes group6{0xff, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7};
constexpr GidBytes group4{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 1, 2, 3};

struct GroupBench : QpBench {
  using QpBench::QpBench;

  Answer join(std::uint32_t qpn, const GidBytes& group) { return run<prm::attach_to_mcg>(qpn, group); }
  Answer leave(std::uint32_t qpn, const GidBytes& group) { return run<prm::detach_from_mcg>(qpn, group); }

 private:
  template <class C>
  Answer run(std::uint32_t qpn, const GidBytes& group) {
    Call<C> call;
    call.in.set(C::in::qpn, qpn);
    for (std::size_t i = 0; i < group.size(); ++i) call.in.set(C::in::multicast_gid, i, group[i]);
    return user.run(call);
  }
};

struct Multicast : ::testing::Test {
  Host host;
  GroupBench bench{host};
  std::uint32_t qpn = bench.make(prm::qpc_st::ud);
};

TEST_F(Multicast, JoinsAndLeaves) {
  for (const GidBytes& group : {group6, group4}) {
    EXPECT_TRUE(bench.join(qpn, group).ok()) << host.words;
    EXPECT_TRUE(bench.join(qpn, group).is(Rule::multicast_member));
    EXPECT_EQ(host.hca().card().multicast.members(group), 1u);
  }
  EXPECT_EQ(host.hca().card().multicast.groups(), 2u);
  EXPECT_TRUE(bench.destroy(qpn).is(Rule::object_in_use));
  EXPECT_TRUE(bench.leave(qpn, group6).ok());
  EXPECT_TRUE(bench.leave(qpn, group6).is(Rule::multicast_member));
  EXPECT_TRUE(bench.leave(qpn, group4).ok());
  EXPECT_EQ(host.hca().card().multicast.groups(), 0u);
  EXPECT_TRUE(bench.destroy(qpn).ok());
}

TEST_F(Multicast, MembershipsEndWithTheirOwnersObjects) {
  ASSERT_TRUE(bench.join(qpn, group6).ok());
  EXPECT_EQ(host.hca().card().destroy_objects(bench.user.uid, false), 0u);
  EXPECT_EQ(host.hca().card().multicast.groups(), 0u);
}

TEST_F(Multicast, Refused) {
  GidBytes unicast = group6;
  unicast[0] = 0xfe;
  EXPECT_TRUE(bench.join(qpn, unicast).is(Rule::multicast_gid));
  unicast = group4;
  unicast[12] = 10;
  const Answer answer = bench.join(qpn, unicast);
  EXPECT_TRUE(answer.is(Rule::multicast_gid));
  EXPECT_NE(answer.words.find("224.0.0.0/4"), std::string::npos) << answer.words;
  EXPECT_TRUE(bench.join(bench.make(prm::qpc_st::rc), group6).is(Rule::multicast_service));
  EXPECT_TRUE(bench.join(0x123456, group6).is(Rule::unknown_object));
  EXPECT_TRUE(bench.leave(0x123456, group6).is(Rule::unknown_object));
}

TEST(MulticastLimits, MembersAndGroups) {
  auto profile =
      model::Profile::parse("base = \"connectx6dx\"\n[general]\nlog_max_mcg = 1\nmax_qp_mcg = 2\n", "small");
  ASSERT_TRUE(profile) << profile.error().text;
  Host host(*profile);
  GroupBench bench(host);
  std::uint32_t qpns[3];
  for (auto& qpn : qpns) qpn = bench.make(prm::qpc_st::ud);
  EXPECT_TRUE(bench.join(qpns[0], group6).ok());
  EXPECT_TRUE(bench.join(qpns[1], group6).ok());
  EXPECT_TRUE(bench.join(qpns[2], group6).is(Rule::multicast_full));
  EXPECT_TRUE(bench.join(qpns[2], group4).ok());
  GidBytes third = group6;
  third[15] = 9;
  EXPECT_TRUE(bench.join(qpns[2], third).is(Rule::multicast_full));
  EXPECT_TRUE(bench.leave(qpns[0], group6).ok());
  EXPECT_TRUE(bench.join(qpns[2], group6).ok());
}

}  // namespace
}  // namespace chime::test
