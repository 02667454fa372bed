// SPDX-License-Identifier: BSD-3-Clause
#include "hca/verbs/root_steering.h"

#include <algorithm>
#include <set>

#include "../../support/failing_allocation.h"
#include "hca/verbs/objects.h"
#include "prm/layouts.h"
#include "prm/view.h"
#include "verbs_test.h"

namespace chime::test {
namespace {

using namespace hca::verbs;
using hca::MacAddress;
using hca::RootDestination;

constexpr MacAddress own = {2, 0, 0, 0, 0, 1};
constexpr MacAddress second = {2, 0, 0, 0, 0, 2};
constexpr MacAddress group = {1, 0, 0x5e, 0, 0, 9};

TEST(Admission, IsOwnAddressBroadcastAndWhatWasAskedFor) {
  const MacAddress unicast[] = {second, own};  // once is enough
  const MacAddress multicast[] = {group};
  auto all = matches_of({.mac = own, .unicast = unicast, .multicast = multicast});
  ASSERT_TRUE(all);
  const std::vector<AddressMatch> wanted = {{0x01005e000009, exact_address},
                                            {0x020000000001, exact_address},
                                            {0x020000000002, exact_address},
                                            {0xffffffffffff, exact_address}};
  EXPECT_TRUE(std::ranges::equal(*all, wanted));
  auto groups = matches_of({.mac = own, .unicast = {}, .multicast = multicast, .all_multicast = true});
  ASSERT_TRUE(groups);
  EXPECT_EQ(groups->size(), 2u);
  EXPECT_EQ((*groups)[0], (AddressMatch{group_bit, group_bit}));
  auto everything = matches_of({.mac = own, .unicast = unicast, .multicast = {}, .promiscuous = true});
  ASSERT_TRUE(everything);
  ASSERT_EQ(everything->size(), 1u);
  EXPECT_EQ((*everything)[0], (AddressMatch{0, 0}));
}

class Root : public VerbsTest {
 protected:
  void SetUp() override {
    VerbsTest::SetUp();
    prm::Box<prm::create_tir_in> in;
    std::array<std::byte, 0x100> out;
    auto tir = create_object(*context, in.bytes(), out);
    ASSERT_TRUE(tir);
    tir_ = &handles.adopt(std::move(*tir));
    admit({.mac = own, .unicast = {}, .multicast = {}});
  }
  void TearDown() override {
    handles.end(*tir_);
    VerbsTest::TearDown();
  }
  Result<Owned<Handle>> root(std::uint16_t priority = 0) {
    return steering.root(0, {}, {}, priority, {RootDestination::Kind::tir, tir_->number()});
  }
  Result<> try_to_admit(const Admitted& admitted) {
    auto matches = matches_of(admitted);
    EXPECT_TRUE(matches);
    return steering.admit(std::move(*matches));
  }
  void admit(const Admitted& admitted) {
    auto done = try_to_admit(admitted);
    ASSERT_TRUE(done) << done.error().text;
  }
  static std::uint64_t address(std::span<const std::byte> parameters) {
    const auto outer =
        prm::ConstView<prm::fte_match_param>(parameters).at(prm::fte_match_param::outer_headers);
    return std::uint64_t{outer.get(prm::fte_match_set_lyr_2_4::dmac_47_16)} << 16 |
           outer.get(prm::fte_match_set_lyr_2_4::dmac_15_0);
  }
  /// Destination addresses of the rules that are alive.
  std::multiset<std::uint64_t> addresses() const {
    std::multiset<std::uint64_t> all;
    for (FakeFlow* flow : rdma.flows) {
      flow->value.resize(prm::fte_match_param::size);
      all.insert(address(flow->value));
    }
    return all;
  }

  Handles handles;
  ibv_context unused{};  // the fake does not look at it
  RootSteering steering{unused, handles};
  Handle* tir_ = nullptr;
};

TEST_F(Root, HasARuleForEachAddress) {
  auto rule = root(3);
  ASSERT_TRUE(rule) << rule.error().text;
  EXPECT_EQ(addresses(), (std::multiset<std::uint64_t>{0x020000000001, exact_address}));
  for (const FakeFlow* flow : rdma.flows) {
    EXPECT_EQ(flow->priority, 3u);
    EXPECT_EQ(flow->criteria, 1u);
    EXPECT_EQ(flow->mask.size(), 0x40u);
    EXPECT_EQ(flow->destination, tir_->devx());
  }
  EXPECT_EQ(rdma.alive("matcher"), 1);
  rule->reset();
  EXPECT_EQ(rdma.alive("flow"), 0);
  EXPECT_EQ(rdma.alive("matcher"), 0);
}

TEST_F(Root, FollowsTheAddresses) {
  auto one = root(0);
  auto two = root(1);
  ASSERT_TRUE(one && two);
  const MacAddress unicast[] = {second};
  admit({.mac = own, .unicast = unicast, .multicast = {}, .all_multicast = true});
  EXPECT_EQ(addresses(), (std::multiset<std::uint64_t>{group_bit, group_bit, 0x020000000001, 0x020000000001,
                                                       0x020000000002, 0x020000000002}));
  const unsigned made = rdma.calls("mlx5dv_create_flow");
  admit({.mac = own, .unicast = {}, .multicast = {}, .all_multicast = true});
  EXPECT_EQ(rdma.calls("mlx5dv_create_flow"), made) << "what stays is not made anew";
  admit({.mac = own, .unicast = {}, .multicast = {}, .promiscuous = true});
  EXPECT_EQ(addresses(), (std::multiset<std::uint64_t>{0, 0}));
  for (const FakeFlow* flow : rdma.flows) EXPECT_EQ(flow->criteria, 0u);
}

TEST_F(Root, ARuleWithAnAddressOfItsOwnIsOneRule) {
  prm::Box<prm::fte_match_param> mask, value;
  mask.at(prm::fte_match_param::outer_headers).set(prm::fte_match_set_lyr_2_4::dmac_15_0, 0xffffu);
  value.at(prm::fte_match_param::outer_headers).set(prm::fte_match_set_lyr_2_4::dmac_15_0, 7u);
  auto rule = steering.root(1, mask.bytes(), value.bytes(), 0, {RootDestination::Kind::tir, tir_->number()});
  ASSERT_TRUE(rule);
  EXPECT_EQ(addresses(), (std::multiset<std::uint64_t>{7}));
}

TEST_F(Root, WhatFailsLeavesTheRulesAsTheyWere) {
  auto one = root(0);
  auto two = root(1);
  ASSERT_TRUE(one && two);
  const auto before = addresses();
  const MacAddress unicast[] = {second, {2, 0, 0, 0, 0, 3}};
  for (unsigned n = 1; n <= 4; ++n) {
    rdma.fail("mlx5dv_create_flow", ENOMEM, n);
    EXPECT_TRUE(
        says(try_to_admit({.mac = own, .unicast = unicast, .multicast = {}}), ENOMEM, "mlx5dv_create_flow"));
    EXPECT_EQ(addresses(), before) << n;
  }
  rdma.fail("mlx5dv_create_flow_matcher", ENOMEM);
  EXPECT_TRUE(says(try_to_admit({.mac = own, .unicast = {}, .multicast = {}, .promiscuous = true}), ENOMEM,
                   "mlx5dv_create_flow_matcher"));
  EXPECT_EQ(addresses(), before);
  admit({.mac = own, .unicast = unicast, .multicast = {}});
  EXPECT_EQ(addresses().size(), 8u);
}

TEST_F(Root, EveryAllocationMayFail) {
  for (unsigned n = 1;; ++n) {
    const FailingAllocation failing(n);
    auto rule = root();
    if (!failing.failed()) {
      EXPECT_TRUE(rule);
      break;
    }
    EXPECT_FALSE(rule);
    EXPECT_EQ(rdma.alive("flow"), 0);
  }
}

TEST_F(Root, SaysWhatWouldMendIt) {
  rdma.fail("mlx5dv_create_flow", EPERM);
  EXPECT_TRUE(says(root(), EPERM, "CAP_NET_RAW"));
  rdma.fail("mlx5dv_create_flow_matcher", EOPNOTSUPP);
  EXPECT_TRUE(says(root(), ENOTSUP, "bypass namespace"));
  rdma.fail("mlx5dv_create_flow", EOPNOTSUPP);
  EXPECT_TRUE(says(root(), ENOTSUP, "devlink dev eswitch"));
  EXPECT_TRUE(says(root(16), EINVAL, "15 are possible"));
  EXPECT_TRUE(says(steering.root(0, {}, {}, 0, {RootDestination::Kind::table, tir_->number()}), EINVAL,
                   "which this device has not made"));
  const std::array<std::byte, 0x400> long_mask{};
  EXPECT_TRUE(says(steering.root(0, long_mask, {}, 0, {RootDestination::Kind::tir, tir_->number()}), EINVAL,
                   "match parameters of 1024 bytes"));
}

}  // namespace
}  // namespace chime::test
