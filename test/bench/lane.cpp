// SPDX-License-Identifier: BSD-3-Clause
#include "lane.h"

#include <dlfcn.h>
#include <rte_ethdev.h>

#include <stdexcept>

#include "instant_device.h"

namespace chime::bench {
namespace {

/// Packets to send: as an application has them, headers set, in its cache.
void make_packets(rte_mempool* pool, rte_mbuf** packets, const Setting& setting, std::uint64_t ol_flags) {
  if (rte_pktmbuf_alloc_bulk(pool, packets, setting.burst) != 0)
    throw std::runtime_error("the mempool is empty: a lane keeps its mbufs");
  for (unsigned i = 0; i < setting.burst; ++i) {
    packets[i]->data_len = static_cast<std::uint16_t>(setting.length);
    packets[i]->pkt_len = setting.length;
    packets[i]->l2_len = 14;
    packets[i]->l3_len = 20;
    packets[i]->ol_flags = ol_flags;
  }
}

class PeerRx final : public Lane {
 public:
  PeerRx(const bench_peer& peer, rte_mempool* pool, const Setting& setting)
      : Lane(std::string(peer.name) + " rx", peer.descr),
        peer_(peer),
        pool_(pool),
        setting_(setting),
        device_(peer.rv) {}
  bool is_rx() const noexcept override { return true; }
  void prepare(bool flush) override {
    device_.complete(setting_.burst, setting_.length);
    if (flush) device_.flush();
  }
  unsigned call() override {
    return taken_ = peer_.rx(peer_.rxq, reinterpret_cast<void**>(packets_),
                             static_cast<std::uint16_t>(setting_.burst));
  }
  void finish() override { rte_mempool_put_bulk(pool_, reinterpret_cast<void**>(packets_), taken_); }
  const char* verify() override {
    const std::uint32_t first = device_.completed();
    const unsigned now = device_.complete(setting_.burst, setting_.length);
    std::uintptr_t addresses[max_burst];
    for (unsigned i = 0; i < now; ++i) addresses[i] = device_.address_of(first + i);
    if (now != setting_.burst || call() != now) return "a burst does not bring what was completed";
    for (unsigned i = 0; i < now; ++i) {
      const rte_mbuf& packet = *packets_[i];
      if (reinterpret_cast<std::uintptr_t>(packet.buf_addr) + packet.data_off != addresses[i])
        return "packets are not in the order of completion";
      if (packet.pkt_len != setting_.length || packet.data_len != setting_.length || packet.nb_segs != 1 ||
          packet.next != nullptr || rte_mbuf_refcnt_read(&packet) != 1)
        return "an mbuf is not as it should be";
      if ((packet.ol_flags & RTE_MBUF_F_RX_RSS_HASH) != 0 && packet.hash.rss != (first + i) * 2654435761u)
        return "a hash is wrong";
    }
    finish();
    return nullptr;
  }

 private:
  bench_peer peer_;
  rte_mempool* pool_;
  Setting setting_;
  InstantReceiver device_;
  unsigned taken_ = 0;
  rte_mbuf* packets_[max_burst];
};

class PeerTx final : public Lane {
 public:
  PeerTx(const bench_peer& peer, rte_mempool* pool, const Setting& setting)
      : Lane(std::string(peer.name) + " tx", peer.descr),
        peer_(peer),
        pool_(pool),
        setting_(setting),
        device_(peer.tv) {}
  bool is_rx() const noexcept override { return false; }
  void prepare(bool flush) override {
    if (flush) device_.flush();  // what finish() completed
    make_packets(pool_, packets_, setting_, peer_.tx_ol_flags);
  }
  unsigned call() override {
    return peer_.tx(peer_.txq, reinterpret_cast<void**>(packets_),
                    static_cast<std::uint16_t>(setting_.burst));
  }
  void finish() override { device_.complete(); }
  const char* verify() override {
    prepare(false);
    if (call() != setting_.burst) return "a burst does not take all packets";
    return device_.complete_checked(packets_, setting_.burst);
  }

 private:
  bench_peer peer_;
  rte_mempool* pool_;
  Setting setting_;
  InstantSender device_;
  rte_mbuf* packets_[max_burst];
};

/// An ethdev port without the inline part of ethdev: the driver's function alone, as with peers.
class PortRx final : public Lane {
 public:
  PortRx(const std::string& name, std::uint16_t port, rte_mempool* pool, const Setting& setting)
      : Lane(name + " rx", "ethdev"), ops_(rte_eth_fp_ops[port]), pool_(pool), setting_(setting) {}
  bool is_rx() const noexcept override { return true; }
  void prepare(bool /*flush*/) override {}
  unsigned call() override {
    return taken_ = ops_.rx_pkt_burst(ops_.rxq.data[0], packets_, static_cast<std::uint16_t>(setting_.burst));
  }
  void finish() override { rte_pktmbuf_free_bulk(packets_, taken_); }
  const char* verify() override {
    if (call() != setting_.burst) return "a burst does not bring packets";
    finish();
    return nullptr;
  }

 private:
  struct rte_eth_fp_ops ops_;  // also the name of the table
  rte_mempool* pool_;
  Setting setting_;
  unsigned taken_ = 0;
  rte_mbuf* packets_[max_burst];
};

class PortTx final : public Lane {
 public:
  PortTx(const std::string& name, std::uint16_t port, rte_mempool* pool, const Setting& setting)
      : Lane(name + " tx", "ethdev"), ops_(rte_eth_fp_ops[port]), pool_(pool), setting_(setting) {}
  bool is_rx() const noexcept override { return false; }
  void prepare(bool /*flush*/) override { make_packets(pool_, packets_, setting_, 0); }
  unsigned call() override {
    return ops_.tx_pkt_burst(ops_.txq.data[0], packets_, static_cast<std::uint16_t>(setting_.burst));
  }
  void finish() override {}
  const char* verify() override {
    prepare(false);
    return call() == setting_.burst ? nullptr : "a burst does not take all packets";
  }

 private:
  struct rte_eth_fp_ops ops_;  // also the name of the table
  rte_mempool* pool_;
  Setting setting_;
  rte_mbuf* packets_[max_burst];
};

class MempoolLane final : public Lane {
 public:
  MempoolLane(rte_mempool* pool, const Setting& setting)
      : Lane("mempool", "alloc_bulk + free_bulk"), pool_(pool), setting_(setting) {}
  bool is_rx() const noexcept override { return true; }
  void prepare(bool /*flush*/) override {}
  unsigned call() override {
    if (rte_pktmbuf_alloc_bulk(pool_, packets_, setting_.burst) != 0) return 0;
    rte_pktmbuf_free_bulk(packets_, setting_.burst);
    return setting_.burst;
  }
  void finish() override {}
  const char* verify() override { return call() == setting_.burst ? nullptr : "the mempool is empty"; }

 private:
  rte_mempool* pool_;
  Setting setting_;
  rte_mbuf* packets_[max_burst];
};

}  // namespace

std::vector<std::unique_ptr<Lane>> lanes_of_peer(const std::string& path, rte_mempool* pool,
                                                 const Setting& setting) {
  void* object = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);  // its queues live as long as the process
  if (object == nullptr) throw std::runtime_error(dlerror());
  const auto get = reinterpret_cast<bench_peer_get_t>(dlsym(object, "bench_peer_get"));
  if (get == nullptr) throw std::runtime_error(path + " exports no bench_peer_get");
  std::vector<std::unique_ptr<Lane>> lanes;
  bench_peer peer{};
  for (unsigned idx = 0; get(idx, pool, setting.ring, &peer) == 0; ++idx) {
    if (peer.rx != nullptr && (peer.rv.log_strd_num != 0 || peer.rv.comp_session != 0))
      throw std::runtime_error(path + ": multi-packet WQEs and compressed CQEs are not there");
    if (peer.rx != nullptr) lanes.push_back(std::make_unique<PeerRx>(peer, pool, setting));
    if (peer.tx != nullptr) lanes.push_back(std::make_unique<PeerTx>(peer, pool, setting));
  }
  return lanes;
}

std::vector<std::unique_ptr<Lane>> lanes_of_port(const std::string& name, rte_mempool* pool,
                                                 const Setting& setting) {
  std::uint16_t port = 0;
  const rte_eth_conf conf{};
  if (rte_eth_dev_get_port_by_name(name.c_str(), &port) != 0 ||
      rte_eth_dev_configure(port, 1, 1, &conf) != 0 ||
      rte_eth_rx_queue_setup(port, 0, static_cast<std::uint16_t>(setting.ring), 0, nullptr, pool) != 0 ||
      rte_eth_tx_queue_setup(port, 0, static_cast<std::uint16_t>(setting.ring), 0, nullptr) != 0 ||
      rte_eth_dev_start(port) != 0)
    throw std::runtime_error("port " + name + " does not start");
  std::vector<std::unique_ptr<Lane>> lanes;
  lanes.push_back(std::make_unique<PortRx>(name, port, pool, setting));
  lanes.push_back(std::make_unique<PortTx>(name, port, pool, setting));
  return lanes;
}

std::unique_ptr<Lane> lane_of_mempool(rte_mempool* pool, const Setting& setting) {
  return std::make_unique<MempoolLane>(pool, setting);
}

}  // namespace chime::bench
