// SPDX-License-Identifier: BSD-3-Clause
#include "hca/verbs/open.h"

#include <net/if.h>
#include <poll.h>
#include <sched.h>

#include <cstdlib>
#include <filesystem>

#include "../../support/failing_allocation.h"
#include "hca/command.h"
#include "hca/receive_path.h"
#include "hca/steering.h"
#include "hca/verbs/netdev.h"
#include "verbs_test.h"

namespace chime::test {
namespace {

namespace fs = std::filesystem;
using hca::MacAddress;

/// A device of the fake rdma-core whose netdev is real: one end of a veth pair, in a network namespace of
/// this process alone.
class OpenCard : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (unshare(CLONE_NEWNET) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return;
    make_netdevs();
  }
  static void make_netdevs() {
    usable = std::system(
                 "ip link add chime0 address 02:00:00:00:00:01 type veth peer name chime1 && "
                 "ip link set chime1 up") == 0;
  }
  void SetUp() override {
    if (!usable) GTEST_SKIP() << "no network namespace of one's own here";
    std::string pattern = fs::temp_directory_path() / "chime-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root = pattern;
    fs::create_directories(root + "/pci/0000:03:00.0/net/chime0");
    fs::create_symlink(root + "/pci/0000:03:00.0", root + "/device");
    rdma.add_device("mlx5_0", root.c_str());
  }
  void TearDown() override {
    EXPECT_EQ(rdma.alive(), 0);
    fs::remove_all(root);
  }
  Owned<hca::Device> open() {
    auto device = hca::verbs::open("mlx5_0");
    EXPECT_TRUE(device) << device.error().text;
    return device ? std::move(*device) : nullptr;
  }
  static hca::verbs::NetdevState netdev() {
    auto state = hca::verbs::Netdev(if_nametoindex("chime0")).state();
    EXPECT_TRUE(state);
    return *state;
  }

  static inline bool usable = false;
  FakeRdmaCore rdma;
  std::string root;
};

TEST_F(OpenCard, AsksForDevx) {
  const auto device = open();
  ASSERT_TRUE(device);
  EXPECT_EQ(rdma.opened_with.flags, static_cast<std::uint32_t>(MLX5DV_CONTEXT_FLAGS_DEVX));
  EXPECT_STREQ(device->name(), "mlx5_0");
  EXPECT_FALSE(device->serves_secondaries());
}

TEST_F(OpenCard, WithoutDevxTellsWhatTurnsItOn) {
  rdma.fail("mlx5dv_devx_general_cmd", EINVAL);
  auto device = hca::verbs::open("mlx5_0");
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().errnum, ENOTSUP);
  EXPECT_TRUE(std::strstr(device.error().text, "`mlxconfig -d 0000:03:00.0 set UCTX_EN=1`"))
      << device.error().text;
}

TEST_F(OpenCard, MayNotBeOpenedByEveryUser) {
  rdma.fail("mlx5dv_open_device", EACCES);
  auto device = hca::verbs::open("mlx5_0");
  ASSERT_FALSE(device);
  EXPECT_TRUE(std::strstr(device.error().text, "/dev/infiniband/uverbs0")) << device.error().text;
}

TEST_F(OpenCard, IsNoInfiniBandPort) {
  rdma.link_layer = IBV_LINK_LAYER_INFINIBAND;
  auto device = hca::verbs::open("mlx5_0");
  ASSERT_FALSE(device);
  EXPECT_TRUE(std::strstr(device.error().text, "`mlxconfig -d 0000:03:00.0 set LINK_TYPE_P1=2`"))
      << device.error().text;
}

TEST_F(OpenCard, EventsCanNotBeWatched) {
  rdma.fail("async_fd", EMFILE);
  auto device = hca::verbs::open("mlx5_0");
  ASSERT_FALSE(device);
  EXPECT_STREQ(device.error().text, "mlx5_0: asynchronous events: O_NONBLOCK: Bad file descriptor");
}

TEST_F(OpenCard, EveryCallMayFail) {
  for (const char* call : {"mlx5dv_open_device", "mlx5dv_devx_general_cmd", "ibv_query_port"}) {
    for (unsigned n = 1;; ++n) {
      const unsigned before = rdma.calls(call);
      rdma.fail(call, EIO, n);
      auto device = hca::verbs::open("mlx5_0");
      if (rdma.calls(call) < before + n) break;
      EXPECT_FALSE(device) << call << " " << n;
      EXPECT_EQ(rdma.alive(), 0);
    }
    rdma.forget_failures();
  }
}

TEST_F(OpenCard, EveryAllocationMayFail) {
  for (unsigned n = 1;; ++n) {
    const FailingAllocation failing(n);
    auto device = hca::verbs::open("mlx5_0");
    if (!failing.failed()) break;
    ASSERT_FALSE(device) << n;
    EXPECT_EQ(device.error().errnum, ENOMEM);
    EXPECT_EQ(rdma.alive(), 0);
  }
}

TEST_F(OpenCard, ThePortIsTheNetdev) {
  const auto device = open();
  hca::Port& port = device->port();
  EXPECT_EQ(*port.mac(), (MacAddress{2, 0, 0, 0, 0, 1}));
  EXPECT_EQ(*port.mtu(), 1500u);
  EXPECT_GE(*port.max_mtu(), 9000u);
  auto link = port.link();
  ASSERT_TRUE(link) << link.error().text;
  EXPECT_FALSE(link->up);
  const auto use = port.use();
  link = port.link();
  ASSERT_TRUE(link);
  EXPECT_TRUE(link->up);
  EXPECT_EQ(link->speed_mbps, 10000u);  // a veth's
  EXPECT_TRUE(port.counters());
}

TEST_F(OpenCard, WhatWasChangedIsPutBack) {
  auto device = open();
  {
    hca::Port& port = device->port();
    ASSERT_TRUE(port.set_mtu(2000));
    ASSERT_TRUE(port.set_mtu(3000));
    const auto use = port.use();
    ASSERT_TRUE(port.set_mac({2, 0, 0, 0, 0, 7}));
    EXPECT_EQ(*port.mac(), (MacAddress{2, 0, 0, 0, 0, 7}));
    EXPECT_EQ(netdev().mtu, 3000u);
    EXPECT_TRUE(netdev().flags & IFF_UP);
    EXPECT_EQ(netdev().mac, (MacAddress{2, 0, 0, 0, 0, 1})) << "the netdev keeps its own";
    ASSERT_TRUE(port.set_promiscuous(true));
    EXPECT_EQ(std::system("ip -d link show chime0 | grep -q 'promiscuity 2'"), 0)
        << "once because a veth does not filter unicast";
  }
  device.reset();
  EXPECT_EQ(netdev().mtu, 1500u);
  EXPECT_FALSE(netdev().flags & IFF_UP);
  EXPECT_EQ(std::system("ip -d link show chime0 | grep -q 'promiscuity 0'"), 0);
}

TEST_F(OpenCard, RefusesWhatIsWrong) {
  const auto device = open();
  hca::Port& port = device->port();
  EXPECT_EQ(port.set_mtu(67).error().errnum, EINVAL);
  EXPECT_EQ(port.set_mac({1, 0, 0, 0, 0, 7}).error().errnum, EINVAL);
  EXPECT_EQ(port.set_mac({}).error().errnum, EINVAL);
  EXPECT_EQ(device->query_eqn(4).error().errnum, EINVAL);
  EXPECT_EQ(*device->query_eqn(3), 0x13u);
  std::array<char, 4> little{};
  EXPECT_TRUE(port.firmware_version(little)) << "a veth has none, which fits";
}

TEST_F(OpenCard, AddressesAreLetInAndTakenBack) {
  const auto device = open();
  hca::Port& port = device->port();
  auto domain = hca::alloc_transport_domain(*device);
  auto tir = hca::create_direct_tir(*device, domain->number(), 5);
  ASSERT_TRUE(tir) << tir.error().text;
  auto rule = device->steering().root(0, {}, {}, 0, {hca::RootDestination::Kind::tir, tir->number()});
  ASSERT_TRUE(rule) << rule.error().text;
  EXPECT_EQ(rdma.flows.size(), 2u);
  const MacAddress groups[] = {{1, 0, 0x5e, 0, 0, 1}, {1, 0, 0x5e, 0, 0, 2}};
  ASSERT_TRUE(port.set_multicast_list(groups));
  EXPECT_EQ(rdma.flows.size(), 4u);
  EXPECT_EQ(std::system("ip maddr show dev chime0 | grep -q 01:00:5e:00:00:02"), 0);
  rdma.fail("mlx5dv_create_flow", ENOMEM);
  const MacAddress unicast[] = {{2, 0, 0, 0, 0, 9}};
  EXPECT_FALSE(port.set_unicast_list(unicast));
  EXPECT_EQ(rdma.flows.size(), 4u);
  ASSERT_TRUE(port.set_unicast_list(unicast));
  EXPECT_EQ(rdma.flows.size(), 5u);
  rdma.fail("mlx5dv_create_flow", ENOMEM);
  EXPECT_FALSE(port.set_promiscuous(true));
  rdma.fail("mlx5dv_create_flow", ENOMEM);
  EXPECT_FALSE(port.set_all_multicast(true));
  rdma.fail("mlx5dv_create_flow", ENOMEM);
  EXPECT_FALSE(port.set_mac({2, 0, 0, 0, 0, 7}));
  EXPECT_EQ(rdma.flows.size(), 5u);
  ASSERT_TRUE(port.set_promiscuous(true));
  EXPECT_EQ(rdma.flows.size(), 1u);
  ASSERT_TRUE(port.set_promiscuous(false));
  ASSERT_TRUE(port.set_multicast_list({}));
  EXPECT_EQ(rdma.flows.size(), 3u);
  EXPECT_NE(std::system("ip maddr show dev chime0 | grep -q 01:00:5e:00:00:02"), 0);
}

TEST_F(OpenCard, EventsComeWithTheirCookies) {
  const auto device = open();
  auto uar = device->alloc_uar();
  ASSERT_TRUE(uar);
  auto domain = hca::alloc_transport_domain(*device);
  auto channel = device->create_event_channel();
  ASSERT_TRUE(channel);
  ASSERT_TRUE((*channel)->subscribe(*domain, prm::event_type::completion, 5));
  ASSERT_TRUE((*channel)->subscribe(*domain, prm::event_type::cq_error, 6));
  rdma.raise();
  rdma.raise(1);
  auto first = (*channel)->next();
  auto second = (*channel)->next();
  ASSERT_TRUE(first && *first && second && *second);
  EXPECT_EQ((*first)->type, prm::event_type::cq_error);
  EXPECT_EQ((*first)->cookie, 6u);
  EXPECT_EQ((*second)->cookie, 5u);
  rdma.fail("mlx5dv_devx_subscribe_devx_event", EINVAL);
  EXPECT_FALSE((*channel)->subscribe(*domain, prm::event_type::completion, 5));
  EXPECT_FALSE((*channel)->subscribe(uar->object, prm::event_type::completion, 5));
  EXPECT_EQ(device->arm_doorbell(*uar, *domain).error().errnum, EINVAL);
}

TEST_F(OpenCard, RdmaAddressesAreTheKernels) {
  const auto device = open();
  hca::Port& port = device->port();
  ibv_gid_entry entry{};
  entry.gid_type = IBV_GID_TYPE_ROCE_V2;
  entry.ndev_ifindex = if_nametoindex("chime0");
  const std::uint8_t raw[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 1, 0, 1};
  std::copy(std::begin(raw), std::end(raw), entry.gid.raw);
  rdma.gids = {{}, entry};
  EXPECT_EQ(port.gid_count(), 4u);
  EXPECT_EQ(port.gid(0).error().errnum, ENODATA);
  EXPECT_EQ(port.gid(4).error().errnum, EINVAL);
  auto gid = port.gid(1);
  ASSERT_TRUE(gid) << gid.error().text;
  EXPECT_EQ(gid->mac, (MacAddress{2, 0, 0, 0, 0, 1}));
  EXPECT_EQ(gid->type, hca::GidType::roce_v2);
  const std::uint8_t there[] = {10, 1, 0, 1}, elsewhere[] = {10, 1, 0, 2};
  EXPECT_EQ(*port.add_address(there), 1u);
  auto unknown = port.add_address(elsewhere);
  ASSERT_FALSE(unknown);
  EXPECT_TRUE(std::strstr(unknown.error().text, "`ip address add 10.1.0.2/24 dev chime0`"))
      << unknown.error().text;
  rdma.fail("ibv_query_port", EIO);
  EXPECT_EQ(port.gid(0).error().errnum, ENOTSUP);
}

TEST_F(OpenCard, ChangesAreTold) {
  const auto device = open();
  hca::Port& port = device->port();
  const auto readable = [&] {
    pollfd poll_fd{.fd = port.change_fd(), .events = POLLIN, .revents = 0};
    return poll(&poll_fd, 1, 1000) == 1;
  };
  ASSERT_TRUE(port.set_link(true));
  EXPECT_TRUE(readable());
  port.acknowledge_change();
  ASSERT_TRUE(port.set_link(false));
  EXPECT_TRUE(readable());
}

TEST_F(OpenCard, ALostCardSaysSoAndWhatToDo) {
  auto device = open();
  hca::Port& port = device->port();
  EXPECT_TRUE(device->may_be_lost());
  EXPECT_TRUE(device->condition());
  auto domain = hca::alloc_transport_domain(*device);
  ASSERT_TRUE(domain);
  ASSERT_TRUE(port.set_mtu(2000));
  rdma.raise_async(IBV_EVENT_DEVICE_FATAL);
  EXPECT_TRUE(device->condition()) << "nobody has looked yet";
  port.acknowledge_change();
  const auto condition = device->condition();
  ASSERT_FALSE(condition);
  EXPECT_EQ(condition.error().errnum, ENODEV);
  EXPECT_TRUE(std::strstr(condition.error().text,
                          "mlx5_0 is lost (IBV_EVENT_DEVICE_FATAL): its firmware failed, or its driver"))
      << condition.error().text;
  EXPECT_TRUE(std::strstr(condition.error().text, "when the card is back")) << condition.error().text;
  // The kernel ended the object; the netdev is still there, and gets its MTU back.
  rdma.fail("mlx5dv_devx_obj_destroy", EIO);
  testing::internal::CaptureStderr();
  *domain = {};
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  rdma.forget_failures();
  device.reset();
  EXPECT_EQ(netdev().mtu, 1500u);
}

TEST_F(OpenCard, ANetdevThatWentWithItsCardIsNotMissed) {
  auto device = open();
  ASSERT_TRUE(device->port().set_mtu(2000));
  ASSERT_EQ(std::system("ip link del chime0"), 0);
  rdma.raise_async(IBV_EVENT_DEVICE_FATAL);
  device->port().acknowledge_change();
  testing::internal::CaptureStderr();
  device.reset();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  make_netdevs();
}

}  // namespace
}  // namespace chime::test
