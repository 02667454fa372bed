// SPDX-License-Identifier: BSD-3-Clause
// The table of RoCE addresses, and the capabilities that software sets of RoCE and of atomics.
#include "../support/queue_pair.h"

namespace chime::test {
namespace {

using model::Rule;
using L = prm::roce_addr_layout;

Call<prm::query_roce_address> query_call(std::uint32_t index) {
  Call<prm::query_roce_address> call;
  call.in.set(prm::query_roce_address_in::roce_address_index, index);
  return call;
}

TEST(RoceAddresses, AreReadAsTheyWereSet) {
  Host host;
  auto set = address_call(255, own_ipv4, own_mac);
  set.in.at(prm::set_roce_address_in::roce_address).set(L::vlan_valid, 1).set(L::vlan_id, 0x123);
  ASSERT_TRUE(host.run(set).ok()) << host.words;
  auto query = query_call(255);
  ASSERT_TRUE(host.run(query).ok());
  const auto address = query.out.at(prm::query_roce_address_out::roce_address);
  for (std::size_t i = 0; i < own_ipv4.size(); ++i) {
    EXPECT_EQ(address.get(L::source_l3_address, i), own_ipv4[i]);
  }
  EXPECT_EQ(address.get(L::source_mac_47_32), 0x0200u);
  EXPECT_EQ(address.get(L::source_mac_31_0), 1u);
  EXPECT_EQ(address.get(L::vlan_valid), 1u);
  EXPECT_EQ(address.get(L::vlan_id), 0x123u);
  EXPECT_EQ(address.get(L::roce_l3_type), prm::roce_l3_type::ipv4);
  EXPECT_EQ(address.get(L::roce_version), prm::roce_version::v2);

  Call<prm::set_roce_address> clear;
  clear.in.set(prm::set_roce_address_in::roce_address_index, 255);
  ASSERT_TRUE(host.run(clear).ok());
  ASSERT_TRUE(host.run(query).ok());
  EXPECT_EQ(address.get(L::source_mac_31_0), 0u);
  EXPECT_EQ(address.get(L::source_l3_address, 15), 0u);
}

TEST(RoceAddresses, RefuseWhatIsNoAddressOfThePort) {
  Host host;
  auto outside = address_call(256, own_ipv6, own_mac);
  EXPECT_TRUE(host.run(outside).is(Rule::roce_index));
  auto query = query_call(256);
  EXPECT_TRUE(host.run(query).is(Rule::roce_index));
  auto multicast = address_call(0, own_ipv6, 0x0100'5e00'0001);
  EXPECT_TRUE(host.run(multicast).is(Rule::roce_address));
  auto no_mac = address_call(0, own_ipv6, 0);
  EXPECT_TRUE(host.run(no_mac).is(Rule::roce_address));
  auto old = address_call(0, own_ipv6, own_mac);
  old.in.at(prm::set_roce_address_in::roce_address).set(L::roce_version, prm::roce_version::v1);
  EXPECT_TRUE(host.run(old).is(Rule::roce_address));
  auto unknown = address_call(0, own_ipv6, own_mac);
  unknown.in.at(prm::set_roce_address_in::roce_address).set(L::roce_l3_type, prm::roce_l3_type{5});
  EXPECT_TRUE(host.run(unknown).is(Rule::roce_address));
  auto port = address_call(0, own_ipv6, own_mac);
  port.in.set(prm::set_roce_address_in::vhca_port_num, 2);
  EXPECT_TRUE(host.run(port).is(Rule::qp_port));
}

TEST(RoceAddresses, AreReadByUsersAndSetByTheKernel) {
  Host host;
  const std::uint16_t uid = host.context();
  auto set = address_call(0, own_ipv6, own_mac);
  EXPECT_TRUE(host.run(set, uid).is(Rule::kernel_only));
  auto query = query_call(0);
  EXPECT_TRUE(host.run(query, uid).ok());
}

TEST(RoceAddresses, ACardWithoutRoceHasNoTable) {
  auto profile =
      model::Profile::parse("base = \"connectx6dx\"\n[roce]\nroce_address_table_size = 0\n", "none");
  ASSERT_TRUE(profile) << profile.error().text;
  Host host(*profile);
  auto set = address_call(0, own_ipv6, own_mac);
  EXPECT_TRUE(host.run(set).is(Rule::roce_index));
}

prm::Box<prm::query_hca_cap_out> capability(Host& host, prm::hca_cap_type type) {
  Call<prm::query_hca_cap> call;
  call.in.set(prm::query_hca_cap_in::op_mod, static_cast<std::uint32_t>(type) << 1 | 1);
  EXPECT_TRUE(host.run(call).ok()) << host.words;
  prm::Box<prm::query_hca_cap_out> out;
  std::copy(call.out.bytes().begin(), call.out.bytes().begin() + std::ssize(out.bytes()),
            out.bytes().begin());
  return out;
}

Answer set_atomic_mode(Host& host, std::uint32_t mode) {
  Call<prm::set_hca_cap> call;
  call.in.set(prm::set_hca_cap_in::op_mod, static_cast<std::uint32_t>(prm::hca_cap_type::atomic) << 1);
  prm::View<prm::atomic_caps>(call.in.bytes().subspan(0x10))
      .set(prm::atomic_caps::atomic_req_8B_endianness_mode, mode);
  return host.run(call);
}

void enable(Host& host) {
  Call<prm::enable_hca> call;
  ASSERT_TRUE(host.run(call).ok());
}

TEST(AtomicCapabilities, TheByteOrderOfRepliesIsSet) {
  using Caps = prm::atomic_caps;
  Host host("connectx6dx", false);
  enable(host);
  auto before = capability(host, prm::hca_cap_type::atomic);
  const prm::ConstView<Caps> was(before.bytes().subspan(0x10));
  EXPECT_EQ(was.get(Caps::atomic_req_8B_endianness_mode), 0u);
  EXPECT_EQ(was.get(Caps::atomic_operations), 0xfu);
  EXPECT_EQ(was.get(Caps::atomic_size_qp), 0x1fcu);
  EXPECT_TRUE(set_atomic_mode(host, 2).is(Rule::capability_raise));
  ASSERT_TRUE(set_atomic_mode(host, 1).ok()) << host.words;
  auto after = capability(host, prm::hca_cap_type::atomic);
  const prm::ConstView<Caps> is(after.bytes().subspan(0x10));
  EXPECT_EQ(is.get(Caps::atomic_req_8B_endianness_mode), 1u);
  EXPECT_EQ(is.get(Caps::atomic_operations), 0xfu) << "Linux leaves all else 0 when it sets the mode";
  EXPECT_EQ(is.get(Caps::atomic_size_qp), 0x1fcu);
  ASSERT_TRUE(set_atomic_mode(host, 0).ok());
}

TEST(AtomicCapabilities, TheRecordedCardHasOneByteOrder) {
  Host host("connectx4lx-14.12", false);
  enable(host);
  EXPECT_TRUE(set_atomic_mode(host, 1).is(Rule::capability_raise));
  EXPECT_TRUE(set_atomic_mode(host, 0).ok());
}

TEST(RoceCapabilities, SoftwareMayChooseUdpSourcePortsWhereItIsOffered) {
  auto set = [](Host& host) {
    Call<prm::set_hca_cap> call;
    call.in.set(prm::set_hca_cap_in::op_mod, static_cast<std::uint32_t>(prm::hca_cap_type::roce) << 1);
    prm::View<prm::roce_cap>(call.in.bytes().subspan(0x10)).set(prm::roce_cap::sw_r_roce_src_udp_port, 1);
    return host.run(call);
  };
  Host host("connectx6dx", false);
  enable(host);
  EXPECT_TRUE(set(host).ok()) << host.words;
  auto caps = capability(host, prm::hca_cap_type::roce);
  EXPECT_EQ(
      prm::ConstView<prm::roce_cap>(caps.bytes().subspan(0x10)).get(prm::roce_cap::roce_address_table_size),
      256u);
  Host old("connectx4lx-14.12", false);
  enable(old);
  EXPECT_TRUE(set(old).is(Rule::capability_raise));
}

}  // namespace
}  // namespace chime::test
