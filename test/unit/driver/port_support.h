// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "hca/device.h"

/// @file
/// Ports of the driver in this process, run through ethdev as an application does.

namespace chime::net::test {

/// A mempool for tests; ends with the object.
class Pool {
 public:
  explicit Pool(unsigned count = 4095, std::uint16_t data_room = RTE_MBUF_DEFAULT_BUF_SIZE);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  operator rte_mempool*() const { return pool_; }
  /// Mbufs that nobody has.
  unsigned available() const { return rte_mempool_avail_count(pool_); }

 private:
  rte_mempool* pool_;
};

struct PortSetup {
  std::uint16_t rx_queues = 1;
  std::uint16_t tx_queues = 1;
  std::uint16_t descriptors = 256;
  rte_eth_conf conf{};
};

/// One hot-plugged port. Ends with the object, whatever state it is in.
class Port {
 public:
  explicit Port(const std::string& name = "net_chime0", const std::string& args = "");
  ~Port();
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  /// 0, or what hot-plugging answered.
  int error() const { return error_; }
  std::uint16_t id() const { return id_; }
  /// Configures and sets up all queues. @return the first error
  int set_up(rte_mempool* pool, const PortSetup& setup = {}) const;
  /// set_up, start and promiscuous.
  int run(rte_mempool* pool, const PortSetup& setup = {}) const;
  int start() const { return rte_eth_dev_start(id_); }
  int stop() const { return rte_eth_dev_stop(id_); }

  rte_eth_stats stats() const;
  /// 0 for a name that there is not.
  std::uint64_t xstat(const std::string& name) const;
  rte_eth_link link() const;

  /// The embedded HCA, for what ethdev does not show.
  hca::Device& device() const;
  /// Live objects of the card, all kinds together.
  std::uint32_t objects() const;

 private:
  std::string name_;
  int error_;
  std::uint16_t id_ = RTE_MAX_ETHPORTS;
};

using Bytes = std::vector<std::uint8_t>;

/// An Ethernet frame of `length` bytes with a counting payload. @param to destination address
Bytes frame(std::size_t length, const rte_ether_addr& to = {{0x02, 0, 0, 0, 0, 0x99}});
/// In one mbuf, or a chain where it does not fit. nullptr when the pool is empty.
rte_mbuf* mbuf_of(rte_mempool* pool, const Bytes& bytes);
Bytes bytes_of(const rte_mbuf* mbuf);

/// Sends one frame. @return whether the queue took it
bool send(const Port& port, rte_mempool* pool, const Bytes& bytes, std::uint16_t queue = 0);
/// Polls a queue until `count` packets came, or none came for a while. The packets' bytes, in order.
std::vector<Bytes> receive(const Port& port, std::size_t count, std::uint16_t queue = 0);
/// Polls until it holds, for at most some seconds.
bool eventually(const std::function<bool()>& holds);
/// Whether a frame that is sent comes back over the looped wire.
bool loops(const Port& port, rte_mempool* pool, std::size_t length = 100);

}  // namespace chime::net::test
