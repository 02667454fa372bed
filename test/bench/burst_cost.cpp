// SPDX-License-Identifier: BSD-3-Clause
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_mbuf.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <stdexcept>
#include <string>

#include "eal.h"
#include "instruction_counter.h"
#include "program.h"

/// @file
/// Instructions of an Ethernet device's burst functions on a port whose wire comes back to it, whatever the
/// driver: what was received is sent again, as testpmd does in io mode. Replenishing of Rx rings and freeing
/// of sent packets is in it, as a mean over many bursts.

namespace chime::bench {
namespace {

constexpr std::uint16_t port = 0, burst = 32, ring = 256, length = 60;
constexpr std::uint16_t experimental = 0xb588;  ///< local experimental Ethertype 1, big-endian
constexpr unsigned mbufs = 4096, cache = 256;
constexpr unsigned warm_up = 32;                             ///< bursts: once round either ring, four times
constexpr useconds_t way = 5'000, longest_way = 10'000'000;  ///< of a burst, there and back

void want(int status, const char* what) {
  if (status < 0) throw std::runtime_error(std::string(what) + ": " + rte_strerror(-status));
}

void configure() {
  rte_mempool* const pool = rte_pktmbuf_pool_create("packets", mbufs, cache, 0, RTE_MBUF_DEFAULT_BUF_SIZE,
                                                    rte_eth_dev_socket_id(port));
  if (pool == nullptr) throw std::runtime_error(std::string("the mempool: ") + rte_strerror(rte_errno));
  rte_eth_dev_info info;
  want(rte_eth_dev_info_get(port, &info), "no port 0; give EAL a device");
  rte_eth_conf conf{};
  conf.txmode.offloads = info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;  // as testpmd does
  want(rte_eth_dev_configure(port, 1, 1, &conf), "configuring the port");
  rte_eth_txconf tx = info.default_txconf;
  tx.offloads = conf.txmode.offloads;
  want(rte_eth_rx_queue_setup(port, 0, ring, 0, nullptr, pool), "the receive queue");
  want(rte_eth_tx_queue_setup(port, 0, ring, 0, &tx), "the send queue");
  want(rte_eth_dev_start(port), "starting the port");
  want(rte_eth_promiscuous_enable(port), "promiscuous mode");
  std::array<rte_mbuf*, burst> packets;
  want(rte_pktmbuf_alloc_bulk(pool, packets.data(), burst), "packets");
  for (rte_mbuf* const packet : packets) {
    auto* const ether = reinterpret_cast<rte_ether_hdr*>(rte_pktmbuf_append(packet, length));
    *ether = {.dst_addr = {{2, 0, 0, 0, 0, 2}}, .src_addr = {{2, 0, 0, 0, 0, 1}}, .ether_type = experimental};
  }
  if (rte_eth_tx_burst(port, 0, packets.data(), burst) != burst)
    throw std::runtime_error("the port does not take a burst");
}

struct Cost {
  std::uint64_t rx = 0, tx = 0, packets = 0;
};

/// One burst, there and back. Only calls that bring or take packets count.
void go_round(Cost& cost) {
  std::array<rte_mbuf*, burst> packets;
  std::uint16_t got = 0;
  for (useconds_t waited = 0; got < burst; waited += way) {
    if (waited >= longest_way) throw std::runtime_error("packets do not come back; is the wire looped?");
    usleep(way);
    std::uint16_t more = 0;
    const std::uint64_t receiving = InstructionCounter::of([&]() __attribute__((always_inline)) {
      more = rte_eth_rx_burst(port, 0, packets.data() + got, static_cast<std::uint16_t>(burst - got));
    });
    if (more != 0) cost.rx += receiving;
    for (const std::uint16_t end = static_cast<std::uint16_t>(got + more); more != 0; --more) {
      rte_mbuf* const packet = packets[end - more];
      // Somebody else's: a multicast of the kernel's.
      if (rte_pktmbuf_mtod(packet, const rte_ether_hdr*)->ether_type != experimental) {
        rte_pktmbuf_free(packet);
      } else {
        packets[got++] = packet;
      }
    }
  }
  std::uint16_t sent = 0;
  cost.tx += InstructionCounter::of([&]() __attribute__((always_inline)) {
    sent = rte_eth_tx_burst(port, 0, packets.data(), burst);
  });
  if (sent != burst) throw std::runtime_error("the port does not take a burst");
  cost.packets += burst;
}

int run(int argc, char** argv) {
  static const char usage[] =
      "usage: burst_cost [options]\n"
      "Instructions of rte_eth_rx_burst() and rte_eth_tx_burst() on a looped port, a packet, as JSON.\n"
      "  --eal ARGUMENTS   for EAL: the device\n"
      "  --bursts N        that are counted (128)\n";
  std::string arguments;
  unsigned bursts = 128;
  parse(argc, argv, usage, {text("eal", arguments), number("bursts", bursts, 1, 100'000)});
  start_eal(argv[0], arguments);
  const InstructionCounter counter;
  if (!counter.ok())
    throw std::runtime_error("instructions can't be counted here (a debugger has the trap flag)");
  configure();
  Cost cost;
  for (unsigned i = 0; i < warm_up; ++i) go_round(cost);
  cost = {};
  for (unsigned i = 0; i < bursts; ++i) go_round(cost);
  rte_eth_dev_info info;
  want(rte_eth_dev_info_get(port, &info), "the port");
  const auto each = [&](std::uint64_t all) {
    return static_cast<double>(all) / static_cast<double>(cost.packets);
  };
  std::printf("{\"driver\": \"%s\", \"rx\": %.1f, \"tx\": %.1f}\n", info.driver_name, each(cost.rx),
              each(cost.tx));
  rte_eth_dev_stop(port);
  rte_eth_dev_close(port);
  rte_eal_cleanup();
  return 0;
}

}  // namespace
}  // namespace chime::bench

int main(int argc, char** argv) {
  return chime::bench::main_of("burst_cost", chime::bench::run, argc, argv);
}
