// SPDX-License-Identifier: BSD-3-Clause
#include "looped_port.h"

#include <rte_cycles.h>
#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_flow.h>
#include <rte_ip.h>
#include <rte_udp.h>

#include <algorithm>
#include <stdexcept>

namespace chime::bench {
namespace {

constexpr std::uint16_t first_udp_port = 2000;

double milliseconds_since(std::uint64_t start) noexcept {
  return static_cast<double>(rte_get_tsc_cycles() - start) * 1e3 / static_cast<double>(rte_get_tsc_hz());
}

void want(int status, const std::string& what) {
  if (status < 0) throw std::runtime_error(what + ": " + rte_strerror(-status));
}

}  // namespace

LoopedPort::LoopedPort(const PortSetting& setting) : setting_(setting) {
  std::uint64_t start = rte_get_tsc_cycles();
  probe();
  times_.probe_ms = milliseconds_since(start);
  start = rte_get_tsc_cycles();
  configure();
  times_.configure_ms = milliseconds_since(start);
  start = rte_get_tsc_cycles();
  want(rte_eth_dev_start(port_), "starting the port");
  times_.start_ms = milliseconds_since(start);
  start = rte_get_tsc_cycles();
  add_flows();
  times_.flows_ms = milliseconds_since(start);
}

LoopedPort::~LoopedPort() {
  rte_eth_dev_stop(port_);
  rte_eth_dev_close(port_);
}

void LoopedPort::probe() {
  const std::string name = setting_.device.substr(0, setting_.device.find(','));
  want(rte_dev_probe(setting_.device.c_str()), "probing " + setting_.device);
  want(rte_eth_dev_get_port_by_name(name.c_str(), &port_), "the port of " + name);
}

/// The mempool is part of it: a port without mbufs does not receive.
void LoopedPort::configure() {
  const unsigned mbufs = 2u * PortSetting::ring + 512 + (setting_.queues - 1u) * 2 * PortSetting::idle_ring;
  pool_ = rte_pktmbuf_pool_create("packets", mbufs, 256, 0, RTE_MBUF_DEFAULT_BUF_SIZE,
                                  rte_eth_dev_socket_id(port_));
  if (pool_ == nullptr) throw std::runtime_error(std::string("the mempool: ") + rte_strerror(rte_errno));
  const rte_eth_conf conf{};
  want(rte_eth_dev_configure(port_, setting_.queues, setting_.queues, &conf), "configuring the port");
  for (std::uint16_t queue = 0; queue < setting_.queues; ++queue) {
    const std::uint16_t ring = queue == 0 ? PortSetting::ring : PortSetting::idle_ring;
    want(rte_eth_rx_queue_setup(port_, queue, ring, 0, nullptr, pool_), "a receive queue");
    want(rte_eth_tx_queue_setup(port_, queue, ring, 0, nullptr), "a send queue");
  }
  want(rte_eth_macaddr_get(port_, &address_), "the port's address");
}

void LoopedPort::add_flows() {
  rte_flow_attr attributes{};
  attributes.ingress = 1;
  rte_flow_item_udp udp{}, mask{};
  mask.hdr.dst_port = 0xffff;
  const rte_flow_action_queue queue{.index = 0};
  rte_flow_item pattern[4]{};  // the last one is the end
  pattern[0].type = RTE_FLOW_ITEM_TYPE_ETH;
  pattern[1].type = RTE_FLOW_ITEM_TYPE_IPV4;
  pattern[2] = {.type = RTE_FLOW_ITEM_TYPE_UDP, .spec = &udp, .last = nullptr, .mask = &mask};
  const rte_flow_action actions[2] = {{.type = RTE_FLOW_ACTION_TYPE_QUEUE, .conf = &queue},
                                      {.type = RTE_FLOW_ACTION_TYPE_END, .conf = nullptr}};
  for (unsigned i = 0; i < setting_.flows; ++i) {
    udp.hdr.dst_port = rte_cpu_to_be_16(static_cast<std::uint16_t>(first_udp_port + i));
    rte_flow_error error{};
    if (rte_flow_create(port_, &attributes, pattern, actions, &error) == nullptr)
      throw std::runtime_error("flow rule " + std::to_string(i) + ": " +
                               (error.message != nullptr ? error.message : "refused"));
  }
}

/// UDP from the port to itself; with rules, each packet meets another one.
void LoopedPort::fill(rte_mbuf& packet, unsigned number) const noexcept {
  auto* ether = reinterpret_cast<rte_ether_hdr*>(rte_pktmbuf_append(&packet, setting_.length));
  ether->dst_addr = ether->src_addr = address_;
  ether->ether_type = rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4);
  auto* ip = reinterpret_cast<rte_ipv4_hdr*>(ether + 1);
  *ip = {};
  ip->version_ihl = RTE_IPV4_VHL_DEF;
  ip->time_to_live = 64;
  ip->next_proto_id = IPPROTO_UDP;
  ip->total_length = rte_cpu_to_be_16(static_cast<std::uint16_t>(setting_.length - sizeof *ether));
  ip->src_addr = rte_cpu_to_be_32(0xc0000201);  // RFC 5737
  ip->dst_addr = rte_cpu_to_be_32(0xc0000202);
  ip->hdr_checksum = rte_ipv4_cksum(ip);
  auto* udp = reinterpret_cast<rte_udp_hdr*>(ip + 1);
  const unsigned rule = setting_.flows == 0 ? 0 : number * 37 % setting_.flows;
  udp->src_port = rte_cpu_to_be_16(1000);
  udp->dst_port = rte_cpu_to_be_16(static_cast<std::uint16_t>(first_udp_port + rule));
  udp->dgram_len = rte_cpu_to_be_16(static_cast<std::uint16_t>(setting_.length - sizeof *ether - sizeof *ip));
  udp->dgram_cksum = 0;
}

void LoopedPort::send_window() {
  for (unsigned sent = 0; sent < setting_.window;) {
    rte_mbuf* packets[burst];
    const auto count = static_cast<std::uint16_t>(std::min<unsigned>(burst, setting_.window - sent));
    want(rte_pktmbuf_alloc_bulk(pool_, packets, count), "packets to send");
    for (std::uint16_t i = 0; i < count; ++i) fill(*packets[i], sent + i);
    for (std::uint16_t done = 0; done < count;)
      done = static_cast<std::uint16_t>(
          done + rte_eth_tx_burst(port_, 0, packets + done, static_cast<std::uint16_t>(count - done)));
    sent += count;
  }
}

/// @return how many of `wanted` came within a tenth of a second
std::uint64_t LoopedPort::drain(std::uint64_t wanted) {
  const std::uint64_t end = rte_get_tsc_cycles() + rte_get_tsc_hz() / 10;
  std::uint64_t came = 0;
  while (came < wanted && rte_get_tsc_cycles() < end) {
    rte_mbuf* packets[burst];
    const std::uint16_t count = rte_eth_rx_burst(port_, 0, packets, burst);
    rte_pktmbuf_free_bulk(packets, count);
    came += count;
  }
  return came;
}

LoopResult LoopedPort::run(double seconds) {
  LoopResult result;
  send_window();
  std::uint64_t under_way = setting_.window;
  const std::uint64_t start = rte_get_tsc_cycles();
  const auto duration = static_cast<std::uint64_t>(seconds * static_cast<double>(rte_get_tsc_hz()));
  std::uint64_t now = start;
  while (now - start < duration) {
    for (unsigned i = 0; i < 64; ++i) {
      rte_mbuf* packets[burst];
      const std::uint16_t count = rte_eth_rx_burst(port_, 0, packets, burst);
      result.packets += count;
      const std::uint16_t sent = rte_eth_tx_burst(port_, 0, packets, count);
      if (sent == count) continue;
      rte_pktmbuf_free_bulk(packets + sent, static_cast<unsigned>(count - sent));
      under_way -= count - sent;
    }
    now = rte_get_tsc_cycles();
  }
  result.seconds = static_cast<double>(now - start) / static_cast<double>(rte_get_tsc_hz());
  result.lost = setting_.window - under_way;
  result.lost += under_way - drain(under_way);
  return result;
}

}  // namespace chime::bench
