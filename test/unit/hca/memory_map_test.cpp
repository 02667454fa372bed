// SPDX-License-Identifier: BSD-3-Clause
#include <rte_malloc.h>
#include <rte_mbuf.h>

#include "../support/failing_allocation.h"
#include "card.h"
#include "hca/memory.h"
#include "hca/receive_path.h"

namespace chime::test {
namespace {

struct PoolEnd {
  void operator()(rte_mempool* pool) const noexcept { rte_mempool_free(pool); }
};
using Pool = std::unique_ptr<rte_mempool, PoolEnd>;

Pool pool(const char* name, unsigned mbufs = 127) {
  return Pool(rte_pktmbuf_pool_create(name, mbufs, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY));
}

class Map : public CardTest {
 protected:
  void SetUp() override {
    CardTest::SetUp();
    auto pd = hca::alloc_pd(*device);
    ASSERT_TRUE(pd) << why(pd);
    pd_ = std::move(*pd);
  }
  void TearDown() override {
    map_.reset();
    pd_ = {};
    CardTest::TearDown();
  }
  void open() {
    auto map = hca::MemoryMap::create(*device, pd_);
    ASSERT_TRUE(map) << why(map);
    map_ = std::move(*map);
  }
  std::uint32_t find(const void* address) {
    return hca::MemoryMap::find(map_->shared(), cache_, reinterpret_cast<std::uintptr_t>(address));
  }
  /// Whether every mbuf of the pool is found.
  bool finds(rte_mempool& from) {
    bool all = true;
    std::vector<rte_mbuf*> mbufs(from.size);
    EXPECT_EQ(rte_pktmbuf_alloc_bulk(&from, mbufs.data(), from.size), 0);
    for (rte_mbuf* mbuf : mbufs) {
      all &= find(mbuf->buf_addr) != hca::MemoryMap::no_key;
      all &= find(static_cast<char*>(mbuf->buf_addr) + mbuf->buf_len - 1) != hca::MemoryMap::no_key;
    }
    rte_pktmbuf_free_bulk(mbufs.data(), from.size);
    return all;
  }

  hca::Object pd_;
  Owned<hca::MemoryMap> map_;
  hca::KeyCache cache_{};
};

TEST_F(Map, FindsPoolsThatWereThere) {
  const Pool before = pool("before");
  ASSERT_TRUE(before);
  open();
  EXPECT_TRUE(finds(*before));
  int on_the_stack = 0;
  EXPECT_EQ(find(&on_the_stack), hca::MemoryMap::no_key);
}

TEST_F(Map, FollowsPoolsThatComeAndGo) {
  open();
  for (int round = 0; round < 5; ++round) {
    Pool later = pool("later");
    ASSERT_TRUE(later);
    EXPECT_TRUE(finds(*later));
    rte_mbuf* mbuf = rte_pktmbuf_alloc(later.get());
    const void* address = mbuf->buf_addr;
    rte_pktmbuf_free(mbuf);
    later.reset();
    EXPECT_EQ(find(address), hca::MemoryMap::no_key);
  }
}

TEST_F(Map, ManyPoolsOverflowTheCache) {
  open();
  std::vector<Pool> pools;
  for (int i = 0; i < 20; ++i) pools.push_back(pool(("p" + std::to_string(i)).c_str(), 31));
  for (int round = 0; round < 3; ++round) {
    for (const Pool& p : pools) EXPECT_TRUE(finds(*p));
  }
}

TEST_F(Map, LeavesOtherPoolsAlone) {
  open();
  const auto before = objects(*device);
  const Pool plain(
      rte_mempool_create("plain", 127, 64, 0, 0, nullptr, nullptr, nullptr, nullptr, SOCKET_ID_ANY, 0));
  ASSERT_TRUE(plain);
  EXPECT_EQ(objects(*device), before);
  auto added = map_->add(*plain);
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().errnum, EINVAL);
}

TEST_F(Map, PinnedBuffersAreAddedWithTheirMemory) {
  open();
  constexpr std::uint16_t room = 2048;
  constexpr unsigned mbufs = 63;
  void* area = rte_zmalloc("test_buffers", std::size_t{room} * mbufs, 4096);
  ASSERT_NE(area, nullptr);
  const rte_pktmbuf_extmem memory = {
      .buf_ptr = area, .buf_iova = RTE_BAD_IOVA, .buf_len = std::size_t{room} * mbufs, .elt_size = room};
  Pool pinned(rte_pktmbuf_pool_create_extbuf("pinned", mbufs, 0, 0, room, SOCKET_ID_ANY, &memory, 1));
  ASSERT_TRUE(pinned);
  ASSERT_TRUE(map_->add(*pinned));
  EXPECT_TRUE(finds(*pinned));
  EXPECT_NE(find(area), hca::MemoryMap::no_key);
  pinned.reset();
  EXPECT_EQ(find(area), hca::MemoryMap::no_key);
  rte_free(area);
}

TEST_F(Map, AddingTwiceRegistersOnce) {
  const Pool there = pool("there");
  open();
  const auto once = objects(*device);
  EXPECT_TRUE(map_->add(*there));
  EXPECT_EQ(objects(*device), once);
}

TEST_F(Map, TwoDevicesEachHaveTheirKeys) {
  open();
  auto other = runtime->open({.name = "test1", .model_thread = "caller"});
  ASSERT_TRUE(other) << why(other);
  auto pd = hca::alloc_pd(**other);
  ASSERT_TRUE(pd);
  auto map = hca::MemoryMap::create(**other, *pd);
  ASSERT_TRUE(map) << why(map);
  const Pool both = pool("both");
  EXPECT_TRUE(finds(*both));
  hca::KeyCache cache{};
  rte_mbuf* mbuf = rte_pktmbuf_alloc(both.get());
  EXPECT_NE(hca::MemoryMap::find((*map)->shared(), cache, reinterpret_cast<std::uintptr_t>(mbuf)),
            hca::MemoryMap::no_key);
  rte_pktmbuf_free(mbuf);
}

TEST_F(Map, EveryCommandAndAllocationMayFail) {
  const Pool one = pool("one"), two = pool("two");
  const auto before = objects(*device);
  unsigned commands = 1;
  for (;; ++commands) {
    hca::embedded::fail_command(*device, commands);
    auto map = hca::MemoryMap::create(*device, pd_);
    hca::embedded::fail_command(*device, 0);
    if (map) break;
    ASSERT_EQ(objects(*device), before) << map.error().text;
    ASSERT_LT(commands, 100u);
  }
  EXPECT_GT(commands, 4u);
  for (unsigned n = 1;; ++n) {
    auto map = [&] {
      const FailingAllocation failing(n);
      return hca::MemoryMap::create(*device, pd_);
    }();
    if (map) break;
    ASSERT_EQ(objects(*device), before) << map.error().text;
    ASSERT_LT(n, 1000u);
  }
}

TEST_F(Map, APoolThatCouldNotBeRegisteredIsAddedLater) {
  open();
  hca::embedded::fail_command(*device, 1);
  const Pool unlucky = pool("unlucky");
  hca::embedded::fail_command(*device, 0);
  ASSERT_TRUE(unlucky);
  EXPECT_FALSE(finds(*unlucky));
  EXPECT_TRUE(map_->add(*unlucky));
  EXPECT_TRUE(finds(*unlucky));
}

}  // namespace
}  // namespace chime::test
