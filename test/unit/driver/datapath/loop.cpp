// SPDX-License-Identifier: BSD-3-Clause
#include "loop.h"

#include <array>

#include "hca/model/testing.h"

namespace chime::net {

Loop::Loop(const char* wire)
    : runtime_(must(hca::Runtime::create())),
      device_(must(runtime_->open({.name = "loop_test", .wire = wire, .model_thread = "caller"}))),
      pd_(must(hca::alloc_pd(*device_))),
      td_(must(hca::alloc_transport_domain(*device_))),
      tis_(must(hca::create_tis(*device_, td_.number()))),
      q_counter_(must(hca::alloc_q_counter(*device_))),
      memory_(must(hca::MemoryMap::create(*device_, pd_))),
      uar_(must(device_->alloc_uar())) {}

QueueContext Loop::context() {
  return {.device = *device_,
          .memory = *memory_,
          .pd = pd_,
          .tis = tis_,
          .q_counter = q_counter_,
          .port_id = test_port,
          .min_inline_mode = 0,
          .max_ds = prm::max_ds,
          .vlan_insert = true};
}

Loop::Lead Loop::lead_to(const RxQueueControl& queue) {
  Lead lead;
  lead.tir = must(hca::create_direct_tir(*device_, td_.number(), queue.number()));
  lead.rule =
      must(device_->steering().root(0, {}, {}, 0, {hca::RootDestination::Kind::tir, lead.tir.number()}));
  return lead;
}

void Loop::run() {
  for (unsigned idle = 0; idle < 3; ++idle) {
    while (runtime_->step() != 0) idle = 0;
  }
}

std::uint32_t Loop::objects() {
  std::array<model::ObjectCount, 64> counts{};
  std::uint32_t sum = 0;
  const std::size_t kinds = hca::embedded::count_objects(*device_, counts);
  for (std::size_t i = 0; i < kinds; ++i) sum += counts[i].live;
  return sum;
}

RxQueueConfig Loop::rx_config(const Pool& pool) const {
  RxQueueConfig config{};
  config.queue = 2;
  config.descriptors = 64;
  config.socket = SOCKET_ID_ANY;
  config.pool = pool.get();
  config.conf.offloads = RTE_ETH_RX_OFFLOAD_CHECKSUM;
  config.conf.rx_free_thresh = 8;
  config.max_frame = 1522;
  config.uar_page = uar_.page_id();
  return config;
}

TxQueueConfig Loop::tx_config() const {
  TxQueueConfig config{};
  config.queue = 3;
  config.descriptors = 64;
  config.socket = SOCKET_ID_ANY;
  config.conf.tx_rs_thresh = 8;
  config.max_frame = 1522;
  return config;
}

std::vector<rte_mbuf*> receive(RxQueueControl& queue, std::uint16_t most) {
  std::vector<rte_mbuf*> packets(most);
  packets.resize(rx_burst_function(queue.variant())(queue.fast(), packets.data(), most));
  return packets;
}

std::uint16_t send(TxQueueControl& queue, std::span<rte_mbuf*> packets) {
  return tx_burst_function(queue.variant())(queue.fast(), packets.data(),
                                            static_cast<std::uint16_t>(packets.size()));
}

}  // namespace chime::net
