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
