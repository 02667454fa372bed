// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <rte_byteorder.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <sched.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <rte_pmd_chime.hpp>
#include <string>

#include "verbs_end.h"

/// @file
/// Chime's private API on the embedded HCA, and the kernel's soft RoCE: one process, the wire between them a
/// tap. rxe's GID 1 and Chime's are IPv4 addresses of one network.

namespace chime::test {
namespace {

constexpr const char* soft = "rxe0";
constexpr unsigned soft_gid = 1;
constexpr std::array<std::uint8_t, 4> own_address = {10, 3, 0, 2};
constexpr auto patience = std::chrono::seconds(60);
constexpr unsigned all_remote = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
constexpr std::uint32_t all_rights = RTE_PMD_CHIME_LOCAL_WRITE | RTE_PMD_CHIME_REMOTE_READ |
                                     RTE_PMD_CHIME_REMOTE_WRITE | RTE_PMD_CHIME_REMOTE_ATOMIC;

std::uint16_t chime_port = RTE_MAX_ETHPORTS;
std::uint16_t own_gid = 0;
std::array<std::uint8_t, 6> soft_mac{};

class Soft : public ::testing::Test {
 protected:
  explicit Soft(unsigned soft_access = all_remote)
      : verbs(soft, soft_gid, soft_access),
        worker(chime_port),
        memory(chime_port, words.data(), sizeof words, all_rights) {
    rte_pmd_chime_qp_conf conf{};
    conf.receive_depth = 16;
    conf.rights = RTE_PMD_CHIME_REMOTE_READ | RTE_PMD_CHIME_REMOTE_WRITE | RTE_PMD_CHIME_REMOTE_ATOMIC;
    conf.gid_index = own_gid;
    conf.socket = -1;
    qp = rte_pmd_chime::QueuePair(worker, conf);
    EXPECT_TRUE(qp) << rte_pmd_chime_last_error();
    rte_pmd_chime_endpoint own;
    EXPECT_EQ(qp.local(own), 0);
    rte_pmd_chime_path path;
    rte_pmd_chime_path_default(&path);
    path.ack_timeout = 18;  // a second: one CPU serves both ends
    EXPECT_EQ(qp.connect(verbs.endpoint(soft_mac), &path), 0) << rte_pmd_chime_last_error();
    verbs.connect(own, soft_gid);
    EXPECT_EQ(memory.lkey(words.data(), lkey), 0);
    rte_pmd_chime_mem_desc desc;
    EXPECT_EQ(memory.descriptor(desc), 0);
    rkey = desc.rkey;
  }

  rte_pmd_chime_completion wait() {
    rte_pmd_chime_completion done{};
    const auto end = std::chrono::steady_clock::now() + patience;
    while (worker.poll(&done, 1) == 0) {
      if (std::chrono::steady_clock::now() > end) {
        ADD_FAILURE() << "no completion of Chime's";
        done.status = 0xff;
        break;
      }
      sched_yield();
    }
    return done;
  }

  /// Word `local` of this side and word `remote` of the other.
  rte_pmd_chime_completion execute(std::uint8_t opcode, std::uint32_t length, unsigned local, unsigned remote,
                                   std::uint64_t operand = 0, std::uint64_t compare = 0) {
    rte_pmd_chime_op op = rte_pmd_chime_atomic(opcode, length, verbs.address(remote), verbs.rkey(), 7);
    op.local = reinterpret_cast<std::uintptr_t>(&words[local]);
    op.lkey = lkey;
    op.operand[0].value = operand;
    op.operand[1].value = compare;
    EXPECT_EQ(qp.post(&op, 1), 1) << rte_pmd_chime_post_error(qp.get());
    return wait();
  }
  std::uint64_t address(unsigned i) const { return reinterpret_cast<std::uintptr_t>(&words[i]); }

  alignas(4096) std::array<std::uint64_t, 512> words{};
  VerbsEnd verbs;
  rte_pmd_chime::Worker worker;
  rte_pmd_chime::Memory memory;
  rte_pmd_chime::QueuePair qp;
  std::uint32_t lkey = 0, rkey = 0;
};

TEST_F(Soft, WritesToSoft) {
  for (unsigned i = 0; i < 512; ++i) words[i] = i * 0x0123456789abcdefu;
  EXPECT_EQ(execute(RTE_PMD_CHIME_WRITE, 4096, 0, 0).status, 0) << "of 4 packets";
  for (unsigned i = 0; i < 512; ++i) ASSERT_EQ(verbs.word(i), words[i]);
}

TEST_F(Soft, ReadsFromSoft) {
  for (unsigned i = 0; i < 512; ++i) verbs.word(i) = ~(i * 0x0123456789abcdefu);
  EXPECT_EQ(execute(RTE_PMD_CHIME_READ, 4000, 1, 3).status, 0);
  for (unsigned i = 0; i < 500; ++i) ASSERT_EQ(words[i + 1], verbs.word(i + 3));
  EXPECT_EQ(words[501], 0u);
}

TEST_F(Soft, AddsToSoft) {
  verbs.word(5) = 0xffff'fff0ull;
  for (std::uint64_t i = 0; i < 100; ++i) {
    const auto done = execute(RTE_PMD_CHIME_FETCH_ADD, 8, 0, 5, 3);
    ASSERT_EQ(done.status, 0);
    ASSERT_EQ(done.original, 0xffff'fff0ull + 3 * i);
  }
  EXPECT_EQ(verbs.word(5), 0xffff'fff0ull + 300);
}

TEST_F(Soft, ComparesAndSwapsAtSoft) {
  verbs.word(9) = 42;
  EXPECT_EQ(execute(RTE_PMD_CHIME_COMPARE_SWAP, 8, 0, 9, 1, 41).original, 42u);
  EXPECT_EQ(verbs.word(9), 42u);
  EXPECT_EQ(execute(RTE_PMD_CHIME_COMPARE_SWAP, 8, 0, 9, 0x0102030405060708, 42).original, 42u);
  EXPECT_EQ(verbs.word(9), 0x0102030405060708u);
}

TEST_F(Soft, SoftWritesHere) {
  for (unsigned i = 0; i < 512; ++i) verbs.word(i) = i * 0x1111111111111111u;
  EXPECT_EQ(verbs.execute(IBV_WR_RDMA_WRITE, 4096, address(0), rkey), IBV_WC_SUCCESS);
  for (unsigned i = 0; i < 512; ++i) ASSERT_EQ(words[i], verbs.word(i));
}

TEST_F(Soft, SoftReadsHere) {
  for (unsigned i = 0; i < 512; ++i) words[i] = i * 0x0f1e2d3c4b5a6978u;
  EXPECT_EQ(verbs.execute(IBV_WR_RDMA_READ, 4096, address(0), rkey), IBV_WC_SUCCESS);
  for (unsigned i = 0; i < 512; ++i) ASSERT_EQ(verbs.word(i), words[i]);
}

TEST_F(Soft, SoftAddsHere) {
  words[7] = 1000;
  for (std::uint64_t i = 0; i < 100; ++i) {
    ASSERT_EQ(verbs.execute(IBV_WR_ATOMIC_FETCH_AND_ADD, 8, address(7), rkey, 5), IBV_WC_SUCCESS);
    ASSERT_EQ(verbs.word(0), 1000 + 5 * i);
  }
  EXPECT_EQ(words[7], 1500u);
}

TEST_F(Soft, SoftComparesAndSwapsHere) {
  words[7] = 42;
  EXPECT_EQ(verbs.execute(IBV_WR_ATOMIC_CMP_AND_SWP, 8, address(7), rkey, 41, 1), IBV_WC_SUCCESS);
  EXPECT_EQ(words[7], 42u);
  EXPECT_EQ(verbs.execute(IBV_WR_ATOMIC_CMP_AND_SWP, 8, address(7), rkey, 42, 99), IBV_WC_SUCCESS);
  EXPECT_EQ(words[7], 99u);
  EXPECT_EQ(verbs.word(0), 42u);
}

TEST_F(Soft, Messages) {
  verbs.post_receive();
  words[0] = 0x5566;
  EXPECT_EQ(execute(RTE_PMD_CHIME_SEND, 3000, 0, 0).status, 0);
  const ibv_wc received = verbs.wait();
  EXPECT_EQ(received.status, IBV_WC_SUCCESS);
  EXPECT_EQ(received.byte_len, 3000u);
  EXPECT_EQ(verbs.word(0), 0x5566u);

  const rte_pmd_chime_recv recv{
      .cookie = 11, .local = reinterpret_cast<std::uintptr_t>(words.data()), .length = 4096, .lkey = lkey};
  ASSERT_EQ(qp.post(&recv, 1), 1);
  verbs.word(0) = 0x7788;
  EXPECT_EQ(verbs.execute(IBV_WR_SEND, 2000, 0, 0), IBV_WC_SUCCESS);
  const auto done = wait();
  EXPECT_EQ(done.cookie, 11u);
  EXPECT_EQ(done.length, 2000u);
  EXPECT_EQ(words[0], 0x7788u);
}

TEST_F(Soft, BothRefuseWhatIsOutside) {
  EXPECT_EQ(verbs.execute(IBV_WR_RDMA_READ, 8, address(512), rkey), IBV_WC_REM_ACCESS_ERR);
}

class ReadOnlySoft : public Soft {
 protected:
  ReadOnlySoft() : Soft(IBV_ACCESS_REMOTE_READ) {}
};

TEST_F(ReadOnlySoft, RefusesToBeWritten) {
  constexpr int remote_access_error = 0x13;
  EXPECT_EQ(execute(RTE_PMD_CHIME_WRITE, 8, 0, 0).status, remote_access_error);
}

/// The kernel asks for the GID's address, and the responder beside the port, whose wire is in use, answers.
TEST_F(Soft, FindsThePortByArp) {
  rte_ether_addr mac;
  ASSERT_EQ(rte_eth_macaddr_get(chime_port, &mac), 0);
  char command[200];
  const auto& m = mac.addr_bytes;
  std::snprintf(
      command, sizeof command,
      "ip neigh flush dev soft0; ping -c 1 -W 1 10.3.0.2 > /dev/null; ip -4 neigh show 10.3.0.2 dev "
      "soft0 | grep -q 'lladdr %02x:%02x:%02x:%02x:%02x:%02x REACHABLE'",
      m[0], m[1], m[2], m[3], m[4], m[5]);
  EXPECT_EQ(std::system(command), 0) << command;
}

/// The port, the tap that is its wire, and soft RoCE on the tap.
void prepare() {
  const auto require = [](bool good, const std::string& what) {
    if (good) return;
    std::fprintf(stderr, "%s: %s\n", what.c_str(), rte_pmd_chime_last_error());
    std::exit(1);
  };
  require(rte_eth_dev_get_port_by_name("net_chime0", &chime_port) == 0, "no port net_chime0");
  const int gid = rte_pmd_chime_gid_add(chime_port, own_address.data(), own_address.size());
  require(gid >= 0, "GID");
  own_gid = static_cast<std::uint16_t>(gid);
  require(std::system(
              "set -e; ip addr add 10.3.0.1/24 dev soft0; ip link set soft0 up mtu 1500; "
              "rdma link add rxe0 type rxe netdev soft0; "
              "for i in $(seq 100); do grep -q ffff: /sys/class/infiniband/rxe0/ports/1/gids/1 && exit 0; "
              "sleep 0.1; done; exit 1") == 0,
          "soft RoCE on the tap");
  FILE* file = std::fopen("/sys/class/net/soft0/address", "r");
  auto& m = soft_mac;
  require(file && std::fscanf(file, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", &m[0], &m[1], &m[2], &m[3], &m[4],
                              &m[5]) == 6,
          "the tap's address");
  std::fclose(file);
}

}  // namespace
}  // namespace chime::test

/// In a guest with rdma_rxe: test-soft-roce EAL-ARGUMENTS -- [GoogleTest's options]
int main(int argc, char** argv) {
  const int taken = rte_eal_init(argc, argv);
  if (taken < 0) return 1;
  argc -= taken;
  argv += taken;
  testing::InitGoogleTest(&argc, argv);
  chime::test::prepare();
  const int result = RUN_ALL_TESTS();
  rte_eth_dev_close(chime::test::chime_port);
  rte_eal_cleanup();
  return result;
}
