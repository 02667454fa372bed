// SPDX-License-Identifier: BSD-3-Clause
#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_malloc.h>

#include <cstring>
#include <rte_pmd_chime.hpp>
#include <string>

#include "port_support.h"

/// @file
/// The private API as an application calls it.

namespace chime::net::test {
namespace {

constexpr std::uint32_t everything = RTE_PMD_CHIME_LOCAL_WRITE | RTE_PMD_CHIME_REMOTE_READ |
                                     RTE_PMD_CHIME_REMOTE_WRITE | RTE_PMD_CHIME_REMOTE_ATOMIC;

rte_pmd_chime_qp_conf usual() {
  rte_pmd_chime_qp_conf conf{};
  conf.rights = everything & ~RTE_PMD_CHIME_LOCAL_WRITE;
  conf.socket = -1;
  return conf;
}

bool says(const char* words) {
  return std::string(rte_pmd_chime_last_error()).find(words) != std::string::npos;
}

/// Two queue pairs of one port, connected to each other, and a word that one adds to through the other.
struct Connected {
  Connected(std::uint16_t port, void* memory)
      : worker(port), near(worker, usual()), far(worker, usual()), target(port, memory, 4096, everything) {
    EXPECT_TRUE(worker && near && far && target) << rte_pmd_chime_last_error();
    rte_pmd_chime_endpoint ends[2];
    EXPECT_EQ(near.local(ends[0]), 0);
    EXPECT_EQ(far.local(ends[1]), 0);
    EXPECT_EQ(near.connect(ends[1]), 0) << rte_pmd_chime_last_error();
    EXPECT_EQ(far.connect(ends[0]), 0) << rte_pmd_chime_last_error();
    EXPECT_EQ(target.descriptor(desc), 0);
  }
  /// @return whether a fetch-and-add of 1 answered with what it should
  bool adds() {
    rte_pmd_chime_op add = rte_pmd_chime_atomic(RTE_PMD_CHIME_FETCH_ADD, 8, desc.address, desc.rkey, 99);
    rte_pmd_chime_op_add(&add, 1);
    rte_pmd_chime_completion done{};
    return near.post(&add, 1) == 1 && eventually([&] { return worker.poll(&done, 1) == 1; }) &&
           done.status == 0 && done.cookie == 99 && done.original == added++;
  }

  rte_pmd_chime::Worker worker;
  rte_pmd_chime::QueuePair near, far;
  rte_pmd_chime::Memory target;
  rte_pmd_chime_mem_desc desc{};
  std::uint64_t added = 0;
};

class Rdma : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(port.error(), 0);
    memory = rte_zmalloc("test", 4096, 4096);
    ASSERT_NE(memory, nullptr);
  }
  void TearDown() override { rte_free(memory); }
  Port port;
  void* memory = nullptr;
};

TEST_F(Rdma, AddsThroughTheLoopedWire) {
  Pool pool;
  ASSERT_EQ(port.run(pool), 0);
  Connected ends(port.id(), memory);
  EXPECT_EQ(rte_pmd_chime_mem_desc_check(&ends.desc, 0, 8, RTE_PMD_CHIME_REMOTE_ATOMIC), 0);
  for (unsigned i = 0; i < 50; ++i) {
    ASSERT_TRUE(ends.adds()) << i;
    if (i % 10 == 0) {
      EXPECT_TRUE(loops(port, pool)) << "packets flow beside it";
    }
  }
  // A field of 5 bits; its neighbours stay.
  *static_cast<volatile std::uint32_t*>(memory) = 0xffffffff;
  rte_pmd_chime_op add =
      rte_pmd_chime_atomic(RTE_PMD_CHIME_FETCH_ADD, 4, ends.desc.address, ends.desc.rkey, 1);
  rte_pmd_chime_op_add_field(&add, 3, 5, 2);
  ASSERT_EQ(ends.near.post(&add, 1), 1);
  rte_pmd_chime_completion done{};
  ASSERT_TRUE(eventually([&] { return ends.worker.poll(&done, 1) == 1; }));
  EXPECT_EQ(rte_pmd_chime_field_of(done.original, 3, 5), 31u);
  EXPECT_EQ(*static_cast<volatile std::uint32_t*>(memory), 0xffffff0fu) << "31 + 2 is 1 in 5 bits";
  rte_pmd_chime_qp_info info;
  ASSERT_EQ(ends.near.query(info), 0);
  EXPECT_EQ(info.state, RTE_PMD_CHIME_QP_RTS);
  EXPECT_EQ(info.outstanding, 0u);
  EXPECT_EQ(info.posted, 51);
  EXPECT_EQ(info.recorded, 51);
  EXPECT_EQ(info.known, 51);
  EXPECT_EQ(info.taken, 51);
  EXPECT_EQ(port.stop(), 0);
}

/// A wire that is an ethdev is used as long as anybody needs it.
TEST(RdmaOverAnEthdev, WithoutStartAndOverStopAndStart) {
  ASSERT_EQ(rte_eal_hotplug_add("vdev", "net_ring_rdma", ""), 0) << "its Tx ring is its Rx ring";
  void* memory = rte_zmalloc("test", 4096, 4096);
  ASSERT_NE(memory, nullptr);
  {
    Pool pool;
    Port port("net_chime0", "wire=net_ring_rdma");
    ASSERT_EQ(port.error(), 0);
    {
      Connected ends(port.id(), memory);
      EXPECT_TRUE(ends.adds()) << "not started";
      ASSERT_EQ(port.run(pool), 0);
      EXPECT_TRUE(ends.adds()) << "started";
      EXPECT_TRUE(loops(port, pool));
      ASSERT_EQ(port.stop(), 0);
      EXPECT_TRUE(ends.adds()) << "stopped";
      ASSERT_EQ(port.start(), 0);
      EXPECT_TRUE(ends.adds()) << "started again";
      ASSERT_EQ(port.stop(), 0);
      EXPECT_TRUE(ends.adds()) << "stopped again";
    }
    // Nobody uses the wire now: it may go.
    EXPECT_EQ(rte_eal_hotplug_remove("vdev", "net_ring_rdma"), 0);
    EXPECT_NE(port.start(), 0);
  }
  rte_free(memory);
}

TEST_F(Rdma, AddressesMakeGids) {
  const std::uint8_t ipv4[] = {10, 0, 0, 7},
                     ipv6[] = {0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7};
  const int first = rte_pmd_chime_gid_add(port.id(), ipv4, sizeof ipv4);
  ASSERT_EQ(first, 1) << rte_pmd_chime_last_error();
  EXPECT_EQ(rte_pmd_chime_gid_add(port.id(), ipv6, sizeof ipv6), 2);
  EXPECT_EQ(rte_pmd_chime_gid_add(port.id(), ipv4, sizeof ipv4), first) << "it has it";
  std::uint8_t gid[16], mac[6];
  ASSERT_EQ(rte_pmd_chime_gid_get(port.id(), 1, gid, mac), 0);
  const std::uint8_t mapped[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 7};
  EXPECT_EQ(std::memcmp(gid, mapped, 16), 0);
  EXPECT_EQ(rte_pmd_chime_gid_get(port.id(), 3, gid, mac), -ENODATA);
  EXPECT_EQ(rte_pmd_chime_gid_get(port.id(), 100'000, gid, mac), -EINVAL);
  const std::uint8_t multicast[] = {224, 0, 0, 1};
  EXPECT_EQ(rte_pmd_chime_gid_add(port.id(), multicast, 4), -EINVAL);
  EXPECT_EQ(rte_pmd_chime_gid_add(port.id(), ipv6, 5), -EINVAL);
  EXPECT_EQ(rte_pmd_chime_gid_add(port.id(), nullptr, 4), -EINVAL);
  EXPECT_EQ(rte_pmd_chime_gid_add(RTE_MAX_ETHPORTS, ipv4, 4), -ENODEV);
  rte_pmd_chime_qp_conf conf = usual();
  const rte_pmd_chime::Worker worker(port.id());
  conf.gid_index = 2;
  const rte_pmd_chime::QueuePair qp(worker, conf);
  rte_pmd_chime_endpoint end;
  ASSERT_EQ(qp.local(end), 0) << rte_pmd_chime_last_error();
  EXPECT_EQ(std::memcmp(end.gid, ipv6, 16), 0);
  conf.gid_index = 3;
  EXPECT_FALSE(rte_pmd_chime::QueuePair(worker, conf)) << "an empty place";
  EXPECT_EQ(rte_errno, ENODATA);
}

TEST_F(Rdma, SaysWhatThereIs) {
  rte_pmd_chime_rdma_capa capa;
  ASSERT_EQ(rte_pmd_chime_rdma_capa_get(port.id(), &capa), 0);
  EXPECT_EQ(capa.operations, 0xf);
  EXPECT_EQ(capa.largest_atomic, 256u);
  EXPECT_EQ(capa.endianness_mode, 1);
  EXPECT_EQ(capa.opcode_sizes[RTE_PMD_CHIME_WRITE], 0);
  EXPECT_GT(capa.gids, 0u);
  std::uint8_t gid[16], mac[6];
  ASSERT_EQ(rte_pmd_chime_gid_get(port.id(), 0, gid, mac), 0) << rte_pmd_chime_last_error();
  EXPECT_EQ(gid[0], 0xfe) << "link-local";
  EXPECT_LT(rte_pmd_chime_gid_get(port.id(), 100000, gid, mac), 0);
  EXPECT_EQ(rte_pmd_chime_write_is_atomic(port.id(), RTE_PMD_CHIME_QP_ATOMIC_WRITES, 0x1000, 8), 0);
  EXPECT_EQ(rte_pmd_chime_write_is_atomic(port.id(), 0, 0x1000, 8), RTE_PMD_CHIME_WRITE_NOT_ENABLED);
  EXPECT_TRUE(says("RTE_PMD_CHIME_QP_ATOMIC_WRITES"));
  EXPECT_EQ(rte_pmd_chime_write_is_atomic(port.id(), RTE_PMD_CHIME_QP_ATOMIC_WRITES, 0x1004, 8),
            RTE_PMD_CHIME_WRITE_CROSSES_A_UNIT);
}

TEST_F(Rdma, ForeignPortsAndNonsenseAreRefusedInWords) {
  rte_pmd_chime_rdma_capa capa;
  EXPECT_EQ(rte_pmd_chime_rdma_capa_get(RTE_MAX_ETHPORTS, &capa), -ENODEV);
  EXPECT_EQ(rte_errno, ENODEV);
  EXPECT_TRUE(says("no open port of net_chime"));
  EXPECT_EQ(rte_pmd_chime_worker_create(RTE_MAX_ETHPORTS, nullptr), nullptr);
  const rte_pmd_chime_worker_conf odd{.completions = 100, .flags = 0, .socket = -1};
  EXPECT_EQ(rte_pmd_chime_worker_create(port.id(), &odd), nullptr);
  EXPECT_EQ(rte_errno, EINVAL);
  const rte_pmd_chime_worker_conf flags{.completions = 0, .flags = 0x80, .socket = -1};
  EXPECT_EQ(rte_pmd_chime_worker_create(port.id(), &flags), nullptr);
  const rte_pmd_chime_worker_conf node{.completions = 0, .flags = 0, .socket = 9999};
  EXPECT_EQ(rte_pmd_chime_worker_create(port.id(), &node), nullptr);
  EXPECT_EQ(rte_pmd_chime_qp_create(nullptr, nullptr), nullptr);
  EXPECT_EQ(rte_pmd_chime_qp_connect(nullptr, nullptr, nullptr), -EINVAL);
  EXPECT_EQ(rte_pmd_chime_mem_register(port.id(), nullptr, 8, 0), nullptr);
  EXPECT_EQ(rte_pmd_chime_mem_register(port.id(), memory, 8, RTE_PMD_CHIME_REMOTE_ATOMIC), nullptr);
  EXPECT_TRUE(says("LOCAL_WRITE"));
  EXPECT_EQ(rte_pmd_chime_mem_register_pool(port.id(), nullptr, 0), nullptr);
  rte_pmd_chime_endpoint endpoint{};
  EXPECT_EQ(rte_pmd_chime_endpoint_parse("nonsense", &endpoint), -EINVAL);
  EXPECT_EQ(rte_pmd_chime_endpoint_parse(nullptr, &endpoint), -EINVAL);
  char small[10];
  EXPECT_EQ(rte_pmd_chime_endpoint_format(&endpoint, small, sizeof small), -ENOSPC);
  EXPECT_EQ(rte_pmd_chime_worker_free(nullptr), 0);
  rte_pmd_chime_qp_destroy(nullptr);
  rte_pmd_chime_mem_unregister(nullptr);
}

TEST_F(Rdma, PoolsAreRegisteredWhole) {
  Pool pool(511);
  const rte_pmd_chime::Memory mbufs(port.id(), pool, RTE_PMD_CHIME_LOCAL_WRITE);
  ASSERT_TRUE(mbufs) << rte_pmd_chime_last_error();
  rte_mbuf* mbuf = rte_pktmbuf_alloc(pool);
  std::uint32_t key = 0;
  EXPECT_EQ(mbufs.lkey(mbuf->buf_addr, key), 0);
  EXPECT_EQ(mbufs.lkey(memory, key), -ENOENT);
  rte_pktmbuf_free(mbuf);
  rte_mempool* objects =
      rte_mempool_create("objects", 100, 64, 0, 0, nullptr, nullptr, nullptr, nullptr, -1, 0);
  ASSERT_NE(objects, nullptr);
  {
    const rte_pmd_chime::Memory anything(port.id(), objects, everything);
    ASSERT_TRUE(anything) << rte_pmd_chime_last_error();
    void* object;
    ASSERT_EQ(rte_mempool_get(objects, &object), 0);
    EXPECT_EQ(anything.lkey(object, key), 0);
    rte_mempool_put(objects, object);
    EXPECT_GE(anything.parts(), 1u);
  }
  rte_mempool_free(objects);
}

TEST_F(Rdma, AResetIsRefusedWhileThereAreHandles) {
  {
    const rte_pmd_chime::Worker worker(port.id());
    ASSERT_TRUE(worker);
    EXPECT_EQ(rte_eth_dev_reset(port.id()), -EBUSY);
    const rte_pmd_chime::QueuePair qp(worker, usual());
    EXPECT_TRUE(qp) << "nothing happened to it: " << rte_pmd_chime_last_error();
    EXPECT_EQ(rte_pmd_chime_worker_free(worker.get()), -EBUSY);
  }
  EXPECT_EQ(rte_eth_dev_reset(port.id()), 0);
  EXPECT_TRUE(rte_pmd_chime::Worker(port.id()));
}

TEST(RdmaOfAClosedPort, HandlesAreGoodForFreeingOnly) {
  void* memory = rte_zmalloc("test", 4096, 4096);
  {
    rte_pmd_chime::Memory target;
    rte_pmd_chime::Worker worker;
    rte_pmd_chime::QueuePair qp;
    {
      Port port;
      ASSERT_EQ(port.error(), 0);
      target = rte_pmd_chime::Memory(port.id(), memory, 4096, everything);
      worker = rte_pmd_chime::Worker(port.id());
      qp = rte_pmd_chime::QueuePair(worker, usual());
      ASSERT_TRUE(target && worker && qp);
    }
    rte_pmd_chime_op op = rte_pmd_chime_atomic(RTE_PMD_CHIME_FETCH_ADD, 8, 0, 0, 0);
    EXPECT_EQ(qp.post(&op, 1), 0);
    EXPECT_EQ(rte_errno, ENODEV);
    EXPECT_NE(std::string(rte_pmd_chime_post_error(qp.get())).find("closed"), std::string::npos);
    rte_pmd_chime_completion completion;
    EXPECT_EQ(worker.poll(&completion, 1), 0);
    rte_pmd_chime_qp_info info;
    EXPECT_EQ(qp.query(info), -ENODEV);
    EXPECT_EQ(qp.reset(), -ENODEV);
    std::uint32_t key;
    EXPECT_EQ(target.lkey(memory, key), -ENODEV);
    EXPECT_FALSE(rte_pmd_chime::QueuePair(worker, usual()));
    EXPECT_EQ(rte_errno, ENODEV);
  }
  rte_free(memory);
}

TEST(RdmaExplanations, AreListedToTheirEnd) {
  rte_pmd_chime_explanation one;
  unsigned count = 0, traps = 0;
  while (rte_pmd_chime_explanation_get(count, &one) == 0) {
    traps += one.syndrome == 0;
    ++count;
    EXPECT_GT(std::strlen(one.remedy), 10u);
  }
  EXPECT_EQ(traps, 5u);
  EXPECT_EQ(count, 18u);
}

}  // namespace
}  // namespace chime::net::test
