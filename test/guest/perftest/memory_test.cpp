// SPDX-License-Identifier: BSD-3-Clause
#include <fcntl.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <sched.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <rte_pmd_chime.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "server.h"

/// @file
/// Chime's private API, and the memory of a stock perftest server on another card. What the operations did is
/// compared with that memory as the kernel shows it (/proc/PID/mem); the server itself looks at nothing.
///
///     server        permits         what is done
///     ib_atomic_bw  remote atomics  fetch-and-adds, compare-and-swaps; a read is refused
///     ib_write_bw   remote writes   writes; a read is refused
///     ib_read_bw    remote reads    reads; a write is refused

namespace chime::test {
namespace {

constexpr auto patience = std::chrono::seconds(30);
constexpr std::uint8_t ack_timeout = 18;  ///< a second: one CPU serves everyone
constexpr int remote_access_error = 0x13;

void require(bool good, const std::string& what) {
  if (!good) throw std::runtime_error(what);
}

/// What another process has in its memory.
class ProcessMemory {
 public:
  explicit ProcessMemory(const char* pid)
      : fd_(open(("/proc/" + std::string(pid) + "/mem").c_str(), O_RDONLY)) {
    require(fd_ >= 0, std::string("no memory of process ") + pid);
  }
  ~ProcessMemory() { close(fd_); }
  ProcessMemory(const ProcessMemory&) = delete;
  ProcessMemory& operator=(const ProcessMemory&) = delete;

  std::vector<std::uint64_t> words(std::uint64_t address, std::size_t count) const {
    std::vector<std::uint64_t> words(count);
    const std::size_t bytes = count * sizeof words[0];
    require(pread(fd_, words.data(), bytes, static_cast<off_t>(address)) == static_cast<ssize_t>(bytes),
            "the server's memory can't be read");
    return words;
  }

 private:
  int fd_;
};

class Client {
 public:
  static constexpr std::size_t words = 8192;  ///< of the server's -s 65536

  Client(std::uint16_t port, const std::string& where, const char* pid)
      : server_(where.c_str()), process_(pid), worker_(port) {
    local_.resize(words);
    memory_ = rte_pmd_chime::Memory(port, local_.data(), words * 8, RTE_PMD_CHIME_LOCAL_WRITE);
    rte_pmd_chime_qp_conf conf{};
    conf.socket = -1;
    qp_ = rte_pmd_chime::QueuePair(worker_, conf);
    rte_pmd_chime_endpoint own;
    require(memory_ && qp_ && memory_.lkey(local_.data(), lkey_) == 0 && qp_.local(own) == 0,
            rte_pmd_chime_last_error());
    const rte_pmd_chime_endpoint theirs = server_.meet(own);
    rte_pmd_chime_path path;
    rte_pmd_chime_path_default(&path);
    path.ack_timeout = ack_timeout;
    require(qp_.connect(theirs, &path) == 0, rte_pmd_chime_last_error());
  }

  void atomics();
  void writes();
  void reads();

 private:
  rte_pmd_chime_op make(std::uint8_t opcode, std::size_t word, std::size_t bytes) const {
    rte_pmd_chime_op op =
        rte_pmd_chime_atomic(opcode, static_cast<std::uint32_t>(bytes), server_.memory().address + 8 * word,
                             server_.memory().rkey, word);
    if (opcode == RTE_PMD_CHIME_READ || opcode == RTE_PMD_CHIME_WRITE) {
      op.local = reinterpret_cast<std::uintptr_t>(&local_[word]);
      op.lkey = lkey_;
    }
    return op;
  }

  void post(const rte_pmd_chime_op* ops, std::uint16_t count) const {
    require(qp_.post(ops, count) == count, rte_pmd_chime_post_error(qp_.get()));
  }

  rte_pmd_chime_completion wait() const {
    const auto end = std::chrono::steady_clock::now() + patience;
    for (rte_pmd_chime_completion done;;) {
      if (worker_.poll(&done, 1) != 0) return done;
      require(std::chrono::steady_clock::now() < end, "no completion");
      sched_yield();
    }
  }

  /// The next completion, which must be a good one.
  rte_pmd_chime_completion succeed() const {
    const rte_pmd_chime_completion done = wait();
    if (done.status == 0) return done;
    std::array<char, 512> text{};
    rte_pmd_chime_qp_diagnose(qp_.get(), text.data(), text.size());
    throw std::runtime_error(text.data());
  }
  std::uint64_t execute(const rte_pmd_chime_op& op) const {
    post(&op, 1);
    return succeed().original;
  }

  /// Last, for it ends the connection. The server, who waits at its socket, does not mind.
  void is_refused(std::uint8_t opcode) const {
    const rte_pmd_chime_op op = make(opcode, 0, 8);
    post(&op, 1);
    const int status = wait().status;
    require(status == remote_access_error, "status " + std::to_string(status) + " of what must be refused");
  }

  std::vector<std::uint64_t> remote(std::size_t count = words) const {
    return process_.words(server_.memory().address, count);
  }

  PerftestServer server_;
  ProcessMemory process_;
  mutable std::vector<std::uint64_t> local_;
  rte_pmd_chime::Worker worker_;
  rte_pmd_chime::Memory memory_;
  rte_pmd_chime::QueuePair qp_;
  std::uint32_t lkey_ = 0;
};

/// The server fills a page with random numbers: what comes back first is not of this side's making.
void Client::atomics() {
  constexpr std::size_t page = 512, burst = 16, bursts = 64;
  std::vector<std::uint64_t> expected = remote(page);
  const std::vector<std::uint64_t> before = expected;
  for (std::size_t i = 0; i < bursts; ++i) {
    std::array<rte_pmd_chime_op, burst> ops;
    for (std::size_t j = 0; j < burst; ++j) {
      // Words come again within a burst and in later ones.
      ops[j] = make(RTE_PMD_CHIME_FETCH_ADD, (i * burst + j) * 7 % 10 * 50, 8);
      rte_pmd_chime_op_add(&ops[j], 0x0123'4567'89ab'cdefu + i);
    }
    post(ops.data(), burst);
    for (const rte_pmd_chime_op& op : ops) {
      const rte_pmd_chime_completion done = succeed();
      require(done.cookie == op.cookie && done.original == expected[op.cookie],
              "a wrong original of an addition");
      expected[op.cookie] += op.operand[0].value;
    }
  }
  require(remote(page) == expected && expected != before, "the server's memory after the additions");
  std::printf("%zu fetch-and-adds, every answer and the server's memory right\n", burst * bursts);

  constexpr std::size_t word = page - 1;
  for (const bool equal : {false, true}) {
    rte_pmd_chime_op op = make(RTE_PMD_CHIME_COMPARE_SWAP, word, 8);
    rte_pmd_chime_op_compare_swap(&op, equal ? expected[word] : ~expected[word], 0x1122'3344'5566'7788u);
    require(execute(op) == expected[word], "a wrong original of a compare-and-swap");
    if (equal) expected[word] = 0x1122'3344'5566'7788u;
    require(remote(page) == expected, "the server's memory after a compare-and-swap");
  }
  std::puts("2 compare-and-swaps, one of them unequal");

  // Reading is not permitted; adding nothing reads as well.
  for (const std::size_t i : {std::size_t{0}, std::size_t{50}, word})
    require(execute(make(RTE_PMD_CHIME_FETCH_ADD, i, 8)) == expected[i], "a word read back");
  is_refused(RTE_PMD_CHIME_READ);
  require(remote(page) == expected, "the server's memory at the end");
  server_.leave(8, burst * bursts);
}

void Client::writes() {
  for (std::size_t i = 0; i < words; ++i) local_[i] = i * 0x9e37'79b9'7f4a'7c15u;
  execute(make(RTE_PMD_CHIME_WRITE, 0, words * 8));
  require(remote() == local_, "the server's memory after a write");
  is_refused(RTE_PMD_CHIME_READ);
  std::printf("%zu bytes written, the server's memory right\n", words * 8);
  server_.leave(words * 8, 1);
}

void Client::reads() {
  execute(make(RTE_PMD_CHIME_READ, 0, words * 8));
  const std::vector<std::uint64_t> read = local_;
  require(remote() == read, "what was read of the server's memory");
  local_[0] = ~local_[0];
  is_refused(RTE_PMD_CHIME_WRITE);
  require(remote() == read, "the server's memory after a write that was refused");
  std::printf("%zu bytes read, as the server has them\n", words * 8);
  server_.leave(words * 8, 1);
}

struct Task {
  const char* kind;  ///< atomic, write, read
  const char* port;  ///< of the server, at 127.0.0.1
  const char* pid;   ///< of the server
};

/// @return whether all was as it must be
bool run(std::uint16_t port, const Task& task) {
  try {
    const std::string_view kind = task.kind;
    Client client(port, std::string("127.0.0.1:") + task.port, task.pid);
    if (kind == "atomic") client.atomics();
    if (kind == "write") client.writes();
    if (kind == "read") client.reads();
    return true;
  } catch (const std::runtime_error& failure) {
    std::printf("%s: %s\n", task.kind, failure.what());
    return false;
  }
}

}  // namespace
}  // namespace chime::test

/// test-perftest-memory EAL-ARGUMENTS -- (atomic|write|read PORT PID)...
int main(int argc, char** argv) {
  const int taken = rte_eal_init(argc, argv);
  std::uint16_t port;
  if (taken < 0 || rte_eth_dev_get_port_by_name("net_chime0", &port) != 0) return 2;
  bool good = true;
  for (char** task = argv + taken + 1; task + 2 < argv + argc; task += 3)
    good = chime::test::run(port, {.kind = task[0], .port = task[1], .pid = task[2]}) && good;
  rte_eth_dev_close(port);
  rte_eal_cleanup();
  return good ? 0 : 1;
}
