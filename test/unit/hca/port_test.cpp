// SPDX-License-Identifier: BSD-3-Clause
#include "hca/port.h"

#include "card.h"
#include "hca/model/link_speed.h"

namespace chime::test {
namespace {

class PortTest : public CardTest {};

TEST_F(PortTest, HasTheAddressOfItsSeedAndTakesAnother) {
  hca::Port& port = device->port();
  auto mac = port.mac();
  ASSERT_TRUE(mac) << why(mac);
  EXPECT_EQ((*mac)[0], 0x02);
  const hca::MacAddress other = {0x02, 1, 2, 3, 4, 5};
  ASSERT_TRUE(port.set_mac(other));
  EXPECT_EQ(*port.mac(), other);
  auto multicast = port.set_mac({0x01, 0, 0x5e, 0, 0, 1});
  ASSERT_FALSE(multicast);
  EXPECT_EQ(multicast.error().errnum, EINVAL);
  EXPECT_EQ(*port.mac(), other);
}

TEST_F(PortTest, MtuHasBounds) {
  hca::Port& port = device->port();
  auto most = port.max_mtu();
  ASSERT_TRUE(most) << why(most);
  EXPECT_GE(*most, 9978u);
  EXPECT_EQ(*port.mtu(), 1500u);
  ASSERT_TRUE(port.set_mtu(9000));
  EXPECT_EQ(*port.mtu(), 9000u);
  for (const std::uint32_t bad : {0u, 67u, *most + 1, 100'000u}) {
    auto set = port.set_mtu(bad);
    ASSERT_FALSE(set) << bad;
    EXPECT_EQ(set.error().errnum, EINVAL);
  }
  EXPECT_EQ(*port.mtu(), 9000u);
}

TEST_F(PortTest, ListsHaveTheCardsLimits) {
  hca::Port& port = device->port();
  std::vector<hca::MacAddress> list;
  for (int i = 0; i < 40; ++i) list.push_back({0x02, 0, 0, 0, 0, static_cast<std::uint8_t>(i)});
  EXPECT_TRUE(port.set_unicast_list(list)) << why(port.set_unicast_list(list));
  std::vector<hca::MacAddress> groups;
  for (int i = 0; i < 40; ++i) groups.push_back({0x01, 0, 0x5e, 0, 0, static_cast<std::uint8_t>(i)});
  EXPECT_TRUE(port.set_multicast_list(groups));
  list.resize(100'000);
  auto too_many = port.set_unicast_list(list);
  ASSERT_FALSE(too_many);
  EXPECT_EQ(too_many.error().errnum, ENOSPC);
  EXPECT_TRUE(port.set_unicast_list({}));
  EXPECT_TRUE(port.set_multicast_list({}));
}

TEST_F(PortTest, PromiscuityIsSetInEitherOrder) {
  hca::Port& port = device->port();
  EXPECT_TRUE(port.set_promiscuous(true));
  EXPECT_TRUE(port.set_all_multicast(true));
  EXPECT_TRUE(port.set_promiscuous(false));
  EXPECT_TRUE(port.set_all_multicast(false));
}

TEST_F(PortTest, SaysItsFirmware) {
  std::array<char, 64> text{};
  ASSERT_TRUE(device->port().firmware_version(text));
  EXPECT_NE(text[0], 0);
  std::array<char, 4> small{};
  auto none = device->port().firmware_version(small);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().errnum, ENOSPC);
}

using Gid = std::array<std::uint8_t, 16>;

TEST_F(PortTest, HasTheLinkLocalAddressOfItsMac) {
  hca::Port& port = device->port();
  EXPECT_EQ(port.gid_count(), 256u);
  const hca::MacAddress mac = {0x02, 0x11, 0x22, 0x33, 0x44, 0x55};
  ASSERT_TRUE(port.set_mac(mac));
  const auto own = port.gid(0);
  ASSERT_TRUE(own) << why(own);
  // RFC 4291, appendix A: the bit of local administration is turned over.
  EXPECT_EQ(own->raw, (Gid{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0x00, 0x11, 0x22, 0xff, 0xfe, 0x33, 0x44, 0x55}));
  EXPECT_EQ(own->mac, mac);
  EXPECT_EQ(own->type, hca::GidType::roce_v2);
  const auto empty = port.gid(1);
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().errnum, ENODATA);
  const auto outside = port.gid(256);
  ASSERT_FALSE(outside);
  EXPECT_EQ(outside.error().errnum, EINVAL);
  EXPECT_NE(std::string(outside.error().text).find("0 to 255"), std::string::npos) << outside.error().text;
}

TEST_F(PortTest, TakesFurtherAddresses) {
  hca::Port& port = device->port();
  const std::array<std::uint8_t, 4> ipv4 = {10, 1, 2, 3};
  const Gid ipv6 = {0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9};
  const auto first = port.add_address(ipv4);
  ASSERT_TRUE(first) << why(first);
  EXPECT_EQ(*first, 1u);
  const auto second = port.add_address(ipv6);
  ASSERT_TRUE(second) << why(second);
  EXPECT_EQ(*second, 2u);
  EXPECT_EQ(*port.add_address(ipv4), 1u) << "it is there";
  EXPECT_EQ(port.gid(1)->raw, (Gid{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 1, 2, 3}));
  EXPECT_EQ(port.gid(2)->raw, ipv6);
  EXPECT_EQ(port.gid(2)->mac, *port.mac());
  const hca::MacAddress other = {0x02, 1, 2, 3, 4, 5};
  ASSERT_TRUE(port.set_mac(other));
  EXPECT_EQ(port.gid(1)->mac, other);
  EXPECT_EQ(port.gid(1)->raw[15], 3);
}

TEST_F(PortTest, RefusesWhatIsNoAddress) {
  hca::Port& port = device->port();
  const std::vector<std::vector<std::uint8_t>> bad = {{},
                                                      {10, 0, 0},
                                                      {0, 0, 0, 0},
                                                      {224, 0, 0, 1},
                                                      std::vector<std::uint8_t>(16, 0),
                                                      std::vector<std::uint8_t>(16, 0xff)};
  for (const auto& address : bad) {
    const auto added = port.add_address(address);
    ASSERT_FALSE(added);
    EXPECT_EQ(added.error().errnum, EINVAL) << added.error().text;
  }
  std::array<std::uint8_t, 4> many = {10, 0, 0, 0};
  for (unsigned i = 1; i < 256; ++i) {
    many[3] = static_cast<std::uint8_t>(i);
    ASSERT_TRUE(port.add_address(many)) << i;
  }
  many[2] = 1;
  const auto full = port.add_address(many);
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().errnum, ENOSPC);
}

TEST(LinkSpeed, IsReadFromEitherTable) {
  prm::Box<prm::ptys_reg> ptys;
  EXPECT_EQ(hca::embedded::link_speed(ptys), 0u);
  ptys.set(prm::ptys_reg::data_rate_oper, 25);
  EXPECT_EQ(hca::embedded::link_speed(ptys), 2500u);
  ptys.set(prm::ptys_reg::eth_proto_oper, 1u << 20);
  EXPECT_EQ(hca::embedded::link_speed(ptys), 100'000u);
  ptys.set(prm::ptys_reg::ext_eth_proto_oper, 1u << 12);
  EXPECT_EQ(hca::embedded::link_speed(ptys), 200'000u);
}

}  // namespace
}  // namespace chime::test
