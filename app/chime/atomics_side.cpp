// SPDX-License-Identifier: BSD-3-Clause
#include "atomics_side.h"

#include <fmt/core.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_malloc.h>
#include <sched.h>
#include <unistd.h>

#include <chrono>
#include <cstring>

#include "end_eal.h"

namespace chime::app {
namespace {

constexpr auto patience = std::chrono::seconds(30);

/// Those that this process may run on, as EAL lists them.
std::string cpus() {
  cpu_set_t set;
  std::string list;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return "0";
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) list += fmt::format("{}{}", list.empty() ? "" : ",", cpu);
  return list;
}

}  // namespace

void fail(std::string_view tried) {
  throw Failure(fmt::format("{}: {}", tried, rte_pmd_chime_last_error()));
}

Eal::Eal(const std::vector<std::string>& devices, const std::vector<std::string>& more) {
  std::vector<std::string> words = {"chime", "--no-pci", "--no-huge",     "--no-shconf",
                                    "-m",    "256",      "--no-telemetry"};
  // Not bound to a CPU: another process would choose the same one.
  for (const std::string& word :
       {std::string("--file-prefix"), fmt::format("chime{}", getpid()), std::string("--lcores"),
        fmt::format("0@({})", cpus()), std::string("--log-level"), std::string("lib.eal:error")})
    words.push_back(word);
  for (const std::string& device : devices) {
    words.emplace_back("--vdev");
    words.push_back(device);
  }
  words.insert(words.end(), more.begin(), more.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  if (rte_eal_init(static_cast<int>(words.size()), arguments.data()) < 0)
    throw Failure(fmt::format("EAL did not start: {}", rte_strerror(rte_errno)));
}

Eal::~Eal() {
  end_eal();
}

void idle() {
  sched_yield();
}

std::uint16_t Eal::port(const std::string& name) {
  std::uint16_t id;
  if (rte_eth_dev_get_port_by_name(name.c_str(), &id) != 0)
    throw Failure(fmt::format("there is no port {}", name));
  return id;
}

void Eal::wait_for_link(std::uint16_t port, unsigned seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  for (rte_eth_link link{}; rte_eth_link_get_nowait(port, &link) == 0 && link.link_status == 0;) {
    if (std::chrono::steady_clock::now() > end)
      throw Failure(fmt::format("the link of port {} does not come up within {} s", port, seconds));
    usleep(1000);
  }
}

Side::Side(std::uint16_t port) : worker(port) {
  if (!worker) fail("worker");
  rte_pmd_chime_qp_conf conf{};
  conf.rights = RTE_PMD_CHIME_REMOTE_READ | RTE_PMD_CHIME_REMOTE_WRITE | RTE_PMD_CHIME_REMOTE_ATOMIC;
  conf.max_inline = 64;
  conf.socket = -1;
  qp = rte_pmd_chime::QueuePair(worker, conf);
  if (!qp) fail("queue pair");
}

rte_pmd_chime_endpoint Side::local() const {
  rte_pmd_chime_endpoint endpoint;
  if (qp.local(endpoint) != 0) fail("endpoint");
  return endpoint;
}

void Side::connect(const rte_pmd_chime_endpoint& remote, unsigned ack_timeout) const {
  rte_pmd_chime_path path;
  rte_pmd_chime_path_default(&path);
  path.ack_timeout = static_cast<std::uint8_t>(ack_timeout);
  if (qp.connect(remote, &path) != 0) fail("connection");
}

bool Side::poll(rte_pmd_chime_completion& completion) const {
  if (worker.poll(&completion, 1) == 0) return false;
  if (completion.status != 0) {
    char text[512];
    if (rte_pmd_chime_qp_diagnose(qp.get(), text, sizeof text) < 0) fail("diagnosis");
    throw Failure(fmt::format("status {:#04x}, vendor syndrome {:#04x}: {}", completion.status,
                              completion.vendor_syndrome, text));
  }
  return true;
}

void Side::post(const rte_pmd_chime_op* ops, std::uint16_t count) const {
  if (qp.post(ops, count) != count)
    throw Failure(fmt::format("posting: {}", rte_pmd_chime_post_error(qp.get())));
}

std::uint64_t Side::execute(rte_pmd_chime_op op) const {
  op.flags |= RTE_PMD_CHIME_OP_SIGNALED;
  post(&op, 1);
  const auto end = std::chrono::steady_clock::now() + patience;
  for (rte_pmd_chime_completion completion;;) {
    if (poll(completion)) return completion.original;
    if (std::chrono::steady_clock::now() > end) {
      char text[512];
      if (rte_pmd_chime_qp_diagnose(qp.get(), text, sizeof text) < 0) fail("diagnosis");
      throw Failure(fmt::format("no completion within {} s: {}", patience.count(), text));
    }
  }
}

Shared::Shared(std::uint16_t port, std::size_t bytes)
    : bytes_(rte_zmalloc("chime_atomics", bytes, 4096)),
      memory_(bytes_ == nullptr
                  ? rte_pmd_chime::Memory()
                  : rte_pmd_chime::Memory(port, bytes_, bytes,
                                          RTE_PMD_CHIME_LOCAL_WRITE | RTE_PMD_CHIME_REMOTE_READ |
                                              RTE_PMD_CHIME_REMOTE_WRITE | RTE_PMD_CHIME_REMOTE_ATOMIC)) {
  if (bytes_ == nullptr) throw Failure(fmt::format("no EAL memory for {} bytes", bytes));
  if (!memory_) {
    rte_free(bytes_);
    fail("registration");
  }
}

Shared::~Shared() {
  memory_ = {};
  rte_free(bytes_);
}

std::uint32_t Shared::lkey() const {
  std::uint32_t key;
  if (memory_.lkey(bytes_, key) != 0) fail("lkey");
  return key;
}

rte_pmd_chime_mem_desc Shared::descriptor() const {
  rte_pmd_chime_mem_desc descriptor;
  if (memory_.descriptor(descriptor) != 0) fail("memory descriptor");
  return descriptor;
}

}  // namespace chime::app
