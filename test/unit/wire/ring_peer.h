// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include <string>
#include <vector>

namespace chime::wire::test {

/// A net_ring port "net_ring_NAME" whose two rings the test is at the other end of.
class RingPeer {
 public:
  explicit RingPeer(const char* name, unsigned ring_size = 1024);
  ~RingPeer();
  RingPeer(const RingPeer&) = delete;

  const char* port_name() const { return port_name_.c_str(); }
  std::uint16_t port() const { return port_; }
  /// The port goes, the rings stay.
  void remove();
  void add();

  /// Puts a packet on the wire, in mbufs of at most `piece` bytes. @return whether there was room
  bool put(const std::string& bytes, std::size_t piece = 2048);
  /// What came out of the wire.
  std::vector<rte_mbuf*> take_mbufs();
  std::vector<std::string> take();
  static std::string bytes_of(const rte_mbuf* packet);

  unsigned own_mbufs_out() const { return rte_mempool_in_use_count(pool_); }

 private:
  std::string name_, port_name_;
  rte_ring *to_wire_, *from_wire_;
  rte_mempool* pool_;
  std::uint16_t port_ = RTE_MAX_ETHPORTS;
};

}  // namespace chime::wire::test
