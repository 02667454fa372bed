// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <rte_errno.h>

#include "drivers/net/chime/tx_offload.h"
#include "rings.h"

namespace chime::net {
namespace {

constexpr std::uint64_t tcp4 = RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_TCP_SEG;
constexpr std::uint8_t l3 = prm::eth_l3_csum, l4 = prm::eth_l4_csum;
constexpr std::uint8_t inner_l3 = prm::eth_l3_inner_csum, inner_l4 = prm::eth_l4_inner_csum;

/// @param bytes of header that the card wants in line of other packets
class TxSegmentation : public testing::TestWithParam<std::uint16_t> {
 protected:
  TxSegmentation() { keys.add(pool, test_lkey); }
  TxSetting setting() const {
    TxSetting s;
    s.inline_size = GetParam();
    s.variant = {true, false};
    s.max_large_send = 1u << 18;
    s.tunnels = tx_tunnel_bit(RTE_MBUF_F_TX_TUNNEL_VXLAN);
    return s;
  }
  /// Ethernet, IPv4 and TCP of 54 bytes.
  rte_mbuf* packet(std::size_t length, std::uint16_t mss, std::uint64_t ol_flags = tcp4) const {
    const std::size_t lengths[] = {length / 2, length - length / 2};
    rte_mbuf* made = pool.chain(content(length), lengths);
    made->ol_flags |= ol_flags;
    made->l2_len = 14;
    made->l3_len = 20;
    made->l4_len = 20;
    made->tso_segsz = mss;
    return made;
  }
  Pool pool;
  Keys keys;
};
INSTANTIATE_TEST_SUITE_P(MinInlineModes, TxSegmentation, testing::Values(0, 18, 78));

TEST_P(TxSegmentation, TheHeaderIsInLine) {
  TxRing ring(keys, setting());
  rte_mbuf* large = packet(3000, 1000);
  ASSERT_EQ(tx_prepare(&ring.queue(), &large, 1), 1);
  ASSERT_EQ(ring.burst(large), 1);
  const auto wqes = ring.take();
  ASSERT_EQ(wqes.size(), 1u);
  EXPECT_EQ(wqes[0].opcode, static_cast<std::uint8_t>(prm::wqe_opcode::lso));
  EXPECT_EQ(wqes[0].mss, 1000);
  EXPECT_EQ(wqes[0].in_line.size(), 54u);
  EXPECT_EQ(wqes[0].bytes(), content(3000));
  EXPECT_EQ(wqes[0].checksum_flags, l3 | l4);
}

TEST_P(TxSegmentation, TheTagIsInLine) {
  TxRing ring(keys, setting());
  rte_mbuf* large = packet(3000, 1000, tcp4 | RTE_MBUF_F_TX_VLAN);
  large->vlan_tci = 0x123;
  ASSERT_EQ(ring.burst(large), 1);
  const auto wqes = ring.take();
  ASSERT_EQ(wqes.size(), 1u);
  ASSERT_EQ(wqes[0].in_line.size(), 58u);
  EXPECT_FALSE(wqes[0].insert);
  EXPECT_EQ(wqes[0].in_line[12], 0x81);
  EXPECT_EQ(wqes[0].in_line[15], 0x23);
  EXPECT_EQ(wqes[0].bytes().size(), 3004u);
}

TEST_P(TxSegmentation, InATunnel) {
  TxRing ring(keys, setting());
  rte_mbuf* large = packet(3000, 1000, tcp4 | RTE_MBUF_F_TX_TUNNEL_VXLAN | RTE_MBUF_F_TX_OUTER_IP_CKSUM);
  large->outer_l2_len = 14;
  large->outer_l3_len = 20;
  large->l2_len = 8 + 8 + 14;  // outer UDP, VXLAN, Ethernet
  ASSERT_EQ(tx_prepare(&ring.queue(), &large, 1), 1);
  ASSERT_EQ(ring.burst(large), 1);
  const auto wqes = ring.take();
  ASSERT_EQ(wqes.size(), 1u);
  EXPECT_EQ(wqes[0].in_line.size(), 104u);
  EXPECT_EQ(wqes[0].checksum_flags, l3 | inner_l3 | inner_l4);
}

TEST_P(TxSegmentation, ChecksumsInATunnel) {
  TxRing ring(keys, setting());
  rte_mbuf* small = pool.packet(content(200));
  small->ol_flags |= RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_TUNNEL_VXLAN | RTE_MBUF_F_TX_UDP_CKSUM;
  ASSERT_EQ(ring.burst(small), 1);
  const auto wqes = ring.take();
  ASSERT_EQ(wqes.size(), 1u);
  EXPECT_EQ(wqes[0].opcode, static_cast<std::uint8_t>(prm::wqe_opcode::send));
  EXPECT_EQ(wqes[0].checksum_flags, inner_l4);
  EXPECT_EQ(wqes[0].bytes(), content(200));
}

TEST_P(TxSegmentation, ImpossibleOnesAreDroppedAndNamed) {
  TxRing ring(keys, setting());
  const auto wrong = [&](auto change) {
    rte_mbuf* large = packet(3000, 1000);
    change(*large);
    return large;
  };
  rte_mbuf* burst[] = {
      wrong([](rte_mbuf& m) { m.tso_segsz = 0; }),
      wrong([](rte_mbuf& m) { m.tso_segsz = 1522; }),  // longer than the port's frames
      wrong([](rte_mbuf& m) { m.l2_len = 0, m.l3_len = 0, m.l4_len = 0; }),
      wrong([](rte_mbuf& m) { m.l3_len = 300; }),
      pool.packet(content(54)),  // nothing but the header
  };
  burst[4]->ol_flags |= tcp4;
  burst[4]->l2_len = 14;
  burst[4]->l3_len = burst[4]->l4_len = 20;
  burst[4]->tso_segsz = 1000;
  for (rte_mbuf*& one : burst) {
    EXPECT_EQ(tx_prepare(&ring.queue(), &one, 1), 0);
    EXPECT_EQ(rte_errno, EINVAL);
  }
  EXPECT_EQ(ring.burst(burst), std::size(burst));
  EXPECT_TRUE(ring.take().empty());
  EXPECT_EQ(ring.queue().counters.drop_segmentation, std::size(burst));
}

TEST_P(TxSegmentation, ACardWithoutItSaysSo) {
  TxSetting without = setting();
  without.max_large_send = 0;
  TxRing ring(keys, without);
  rte_mbuf* large = packet(3000, 1000);
  EXPECT_EQ(tx_prepare(&ring.queue(), &large, 1), 0);
  EXPECT_EQ(rte_errno, ENOTSUP);
  rte_pktmbuf_free(large);
}

}  // namespace
}  // namespace chime::net
