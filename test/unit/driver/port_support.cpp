// SPDX-License-Identifier: BSD-3-Clause
#include "port_support.h"

#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_ether.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "hca/model/testing.h"
#include "port.h"

namespace chime::net::test {

namespace {

class Eal : public testing::Environment {
 public:
  void SetUp() override {
    std::array<const char*, 11> arguments = {"test-driver",  "-l", "0",   "--no-pci",       "--no-huge",
                                             "--no-shconf",  "-m", "512", "--no-telemetry", "--log-level",
                                             "lib.eal:error"};
    ASSERT_GE(rte_eal_init(arguments.size(), const_cast<char**>(arguments.data())), 0);
  }
  void TearDown() override { rte_eal_cleanup(); }
};

const auto* const eal = testing::AddGlobalTestEnvironment(new Eal);

constexpr auto patience = std::chrono::seconds(30);

}  // namespace

Pool::Pool(unsigned count, std::uint16_t data_room) {
  static unsigned number = 0;
  pool_ = rte_pktmbuf_pool_create(("pool" + std::to_string(number++)).c_str(), count, 0, 0, data_room,
                                  SOCKET_ID_ANY);
  EXPECT_NE(pool_, nullptr);
}

Pool::~Pool() {
  rte_mempool_free(pool_);
}

Port::Port(const std::string& name, const std::string& args)
    : name_(name), error_(rte_eal_hotplug_add("vdev", name.c_str(), args.c_str())) {
  if (error_ == 0) {
    EXPECT_EQ(rte_eth_dev_get_port_by_name(name.c_str(), &id_), 0);
  }
}

Port::~Port() {
  if (error_ == 0) {
    EXPECT_EQ(rte_eal_hotplug_remove("vdev", name_.c_str()), 0);
  }
}

int Port::set_up(rte_mempool* pool, const PortSetup& setup) const {
  int error = rte_eth_dev_configure(id_, setup.rx_queues, setup.tx_queues, &setup.conf);
  for (std::uint16_t i = 0; error == 0 && i < setup.rx_queues; ++i)
    error = rte_eth_rx_queue_setup(id_, i, setup.descriptors, 0, nullptr, pool);
  for (std::uint16_t i = 0; error == 0 && i < setup.tx_queues; ++i)
    error = rte_eth_tx_queue_setup(id_, i, setup.descriptors, 0, nullptr);
  return error;
}

int Port::run(rte_mempool* pool, const PortSetup& setup) const {
  int error = set_up(pool, setup);
  if (error == 0) error = start();
  if (error == 0) error = rte_eth_promiscuous_enable(id_);
  return error;
}

rte_eth_stats Port::stats() const {
  rte_eth_stats stats{};
  EXPECT_EQ(rte_eth_stats_get(id_, &stats), 0);
  return stats;
}

std::uint64_t Port::xstat(const std::string& name) const {
  std::uint64_t id = 0, value = 0;
  if (rte_eth_xstats_get_id_by_name(id_, name.c_str(), &id) != 0) return 0;
  EXPECT_EQ(rte_eth_xstats_get_by_id(id_, &id, &value, 1), 1);
  return value;
}

rte_eth_link Port::link() const {
  rte_eth_link link{};
  EXPECT_EQ(rte_eth_link_get_nowait(id_, &link), 0);
  return link;
}

hca::Device& Port::device() const {
  return *control_of(rte_eth_devices[id_])->hca->device;
}

std::uint32_t Port::objects() const {
  std::array<model::ObjectCount, 64> counts;
  const std::size_t kinds = hca::embedded::count_objects(device(), counts);
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < kinds; ++i) sum += counts[i].live;
  return sum;
}

Bytes frame(std::size_t length, const rte_ether_addr& to) {
  Bytes bytes(length);
  for (std::size_t i = 0; i < length; ++i) bytes[i] = static_cast<std::uint8_t>(i);
  std::memcpy(bytes.data(), to.addr_bytes, sizeof to.addr_bytes);
  bytes[12] = 0x88;  // an EtherType for experiments
  bytes[13] = 0xb5;
  return bytes;
}

rte_mbuf* mbuf_of(rte_mempool* pool, const Bytes& bytes) {
  rte_mbuf* head = nullptr;
  std::size_t at = 0;
  do {
    rte_mbuf* mbuf = rte_pktmbuf_alloc(pool);
    if (mbuf == nullptr) {
      rte_pktmbuf_free(head);
      return nullptr;
    }
    const auto part =
        static_cast<std::uint16_t>(std::min<std::size_t>(bytes.size() - at, rte_pktmbuf_tailroom(mbuf)));
    std::memcpy(rte_pktmbuf_append(mbuf, part), bytes.data() + at, part);
    at += part;
    if (head == nullptr)
      head = mbuf;
    else
      EXPECT_EQ(rte_pktmbuf_chain(head, mbuf), 0);
  } while (at < bytes.size());
  return head;
}

Bytes bytes_of(const rte_mbuf* mbuf) {
  Bytes bytes;
  for (; mbuf != nullptr; mbuf = mbuf->next) {
    const auto* data = rte_pktmbuf_mtod(mbuf, const std::uint8_t*);
    bytes.insert(bytes.end(), data, data + mbuf->data_len);
  }
  return bytes;
}

bool send(const Port& port, rte_mempool* pool, const Bytes& bytes, std::uint16_t queue) {
  rte_mbuf* mbuf = mbuf_of(pool, bytes);
  if (mbuf == nullptr) return false;
  if (rte_eth_tx_burst(port.id(), queue, &mbuf, 1) == 1) return true;
  rte_pktmbuf_free(mbuf);
  return false;
}

std::vector<Bytes> receive(const Port& port, std::size_t count, std::uint16_t queue) {
  std::vector<Bytes> packets;
  auto last = std::chrono::steady_clock::now();
  while (packets.size() < count) {
    std::array<rte_mbuf*, 32> mbufs;
    const std::uint16_t got = rte_eth_rx_burst(port.id(), queue, mbufs.data(), mbufs.size());
    for (std::uint16_t i = 0; i < got; ++i) {
      packets.push_back(bytes_of(mbufs[i]));
      rte_pktmbuf_free(mbufs[i]);
    }
    const auto now = std::chrono::steady_clock::now();
    if (got != 0)
      last = now;
    else if (now - last > patience)
      break;
    else
      std::this_thread::yield();
  }
  return packets;
}

bool eventually(const std::function<bool()>& holds) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

bool loops(const Port& port, rte_mempool* pool, std::size_t length) {
  const Bytes bytes = frame(length);
  if (!send(port, pool, bytes)) return false;
  const std::vector<Bytes> packets = receive(port, 1);
  return packets.size() == 1 && packets[0] == bytes;
}

}  // namespace chime::net::test
