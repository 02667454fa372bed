// SPDX-License-Identifier: BSD-3-Clause
#include "ring_peer.h"

#include <gtest/gtest.h>
#include <rte_eth_ring.h>

#include <cstring>

#include "support.h"

namespace chime::wire::test {

RingPeer::RingPeer(const char* name, unsigned ring_size)
    : name_(name), port_name_(std::string("net_ring_") + name) {
  to_wire_ = rte_ring_create((name_ + "_to").c_str(), ring_size, SOCKET_ID_ANY, 0);
  from_wire_ = rte_ring_create((name_ + "_from").c_str(), ring_size, SOCKET_ID_ANY, 0);
  pool_ =
      rte_pktmbuf_pool_create((name_ + "_pool").c_str(), 511, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
  EXPECT_TRUE(to_wire_ && from_wire_ && pool_);
  add();
}

RingPeer::~RingPeer() {
  if (port_ != RTE_MAX_ETHPORTS) remove();
  for (rte_mbuf* mbuf : take_mbufs()) rte_pktmbuf_free(mbuf);
  void* left;
  while (rte_ring_dequeue(to_wire_, &left) == 0) rte_pktmbuf_free(static_cast<rte_mbuf*>(left));
  rte_ring_free(to_wire_);
  rte_ring_free(from_wire_);
  EXPECT_EQ(own_mbufs_out(), 0u);
  rte_mempool_free(pool_);
}

void RingPeer::add() {
  int port = rte_eth_from_rings(name_.c_str(), &to_wire_, 1, &from_wire_, 1, 0);
  ASSERT_GE(port, 0);
  port_ = static_cast<std::uint16_t>(port);
  char name[RTE_ETH_NAME_MAX_LEN];
  ASSERT_EQ(rte_eth_dev_get_name_by_port(port_, name), 0);
  ASSERT_EQ(port_name_, name);
}

void RingPeer::remove() {
  remove_port(port_name_.c_str());
  port_ = RTE_MAX_ETHPORTS;
}

bool RingPeer::put(const std::string& bytes, std::size_t piece) {
  rte_mbuf* head = nullptr;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    rte_mbuf* mbuf = rte_pktmbuf_alloc(pool_);
    std::size_t length = std::min(piece, bytes.size() - at);
    std::memcpy(rte_pktmbuf_append(mbuf, static_cast<std::uint16_t>(length)), bytes.data() + at, length);
    if (!head) {
      head = mbuf;
    } else {
      rte_pktmbuf_chain(head, mbuf);
    }
  }
  if (rte_ring_enqueue(to_wire_, head) == 0) return true;
  rte_pktmbuf_free(head);
  return false;
}

std::vector<rte_mbuf*> RingPeer::take_mbufs() {
  std::vector<rte_mbuf*> mbufs;
  void* mbuf;
  while (rte_ring_dequeue(from_wire_, &mbuf) == 0) mbufs.push_back(static_cast<rte_mbuf*>(mbuf));
  return mbufs;
}

std::string RingPeer::bytes_of(const rte_mbuf* packet) {
  std::string bytes;
  unsigned segments = 0;
  for (const rte_mbuf* mbuf = packet; mbuf; mbuf = mbuf->next) {
    bytes.append(rte_pktmbuf_mtod(mbuf, const char*), mbuf->data_len);
    ++segments;
  }
  EXPECT_EQ(bytes.size(), packet->pkt_len);
  EXPECT_EQ(segments, packet->nb_segs);
  const char* reason = "";
  EXPECT_EQ(rte_mbuf_check(packet, 1, &reason), 0) << reason;
  return bytes;
}

std::vector<std::string> RingPeer::take() {
  std::vector<std::string> packets;
  for (rte_mbuf* packet : take_mbufs()) {
    packets.push_back(bytes_of(packet));
    rte_pktmbuf_free(packet);
  }
  return packets;
}

}  // namespace chime::wire::test
