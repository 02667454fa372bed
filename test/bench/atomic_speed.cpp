// SPDX-License-Identifier: BSD-3-Clause
#include <rte_eal.h>
#include <rte_malloc.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "hca/receive_path.h"
#include "hca/runtime.h"
#include "program.h"
#include "rdma/polling.h"
#include "rdma/post.h"
#include "rdma/session.h"

/// @file
/// Fetch-and-adds of 8 bytes over a cable between two software HCAs, posted and polled through lib/rdma. One
/// thread posts, steps both HCAs and polls; or the HCAs have a thread of their own.

namespace chime::bench {
namespace {

constexpr unsigned outstanding = 16;  ///< of each busy queue pair

struct Setting {
  const char* name;
  const char* description;
  unsigned queue_pairs;
  unsigned busy;
  const char* thread;
};

constexpr Setting settings[] = {
    {"fetch-and-add, 1 QP", "16 outstanding", 1, 1, "caller"},
    {"fetch-and-add, 16 QPs", "16 outstanding each", 16, 16, "caller"},
    {"fetch-and-add, 16 of 1000 QPs", "16 outstanding each", 1000, 16, "caller"},
    {"fetch-and-add, 1 QP, model thread", "16 outstanding", 1, 1, "shared"},
};

template <class T>
T take(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().text);
  return std::move(*result);
}
void take(Result<> result) {
  if (!result) throw std::runtime_error(result.error().text);
}

/// One card with what is on it. Handles are freed with the process: a bench has no other end.
struct End {
  Owned<hca::Device> device;
  hca::Object pd;
  Owned<rdma::Session> session;
  rdma::HeldWorker* worker = nullptr;
  std::vector<rdma::HeldQp*> qps;

  void open(hca::Runtime& runtime, const std::string& name, const Setting& setting, unsigned seed) {
    const std::string wire = std::string("cable:") + setting.name;
    device = take(runtime.open(
        {.name = name.c_str(), .wire = wire.c_str(), .model_thread = setting.thread, .mac_seed = seed}));
    pd = take(hca::alloc_pd(*device));
    session = take(rdma::Session::create(*device, pd));
    worker = take(session->make_worker(
        {.completions = 65536, .thread_safe = false, .checked = false, .socket = SOCKET_ID_ANY}));
    for (unsigned i = 0; i < setting.queue_pairs; ++i)
      qps.push_back(take(session->make_qp(*worker, {.send_depth = 32,
                                                    .receive_depth = 0,
                                                    .most_inline = 0,
                                                    .signal_all = false,
                                                    .initiator_depth = outstanding,
                                                    .responder_depth = outstanding,
                                                    .rights = rdma::remote_atomic,
                                                    .atomic_writes = false,
                                                    .wide = false,
                                                    .gid_index = 0,
                                                    .socket = SOCKET_ID_ANY})));
  }
  void close() {
    for (rdma::HeldQp* qp : qps) rdma::Session::free(qp);
    take(rdma::Session::free(worker));
    session.reset();
  }
};

class Case {
 public:
  Case(const Setting& setting, unsigned index) : setting_(setting), runtime_(take(hca::Runtime::create())) {
    const std::string name = "bench" + std::to_string(index);
    near_.open(*runtime_, name + "a", setting, 2 * index);
    far_.open(*runtime_, name + "b", setting, 2 * index + 1);
    const rdma::QpControl::Path path{.mtu = 0,
                                     .udp_source_port = 0,
                                     .traffic_class = 0,
                                     .hop_limit = 0,
                                     .ack_timeout = 18,
                                     .retry_count = 7,
                                     .rnr_retry = 7,
                                     .min_rnr_timer = 12};
    for (unsigned i = 0; i < setting.queue_pairs; ++i) {
      take(near_.qps[i]->object->connect(far_.qps[i]->object->local(), path));
      take(far_.qps[i]->object->connect(near_.qps[i]->object->local(), path));
    }
    words_ = static_cast<std::uint64_t*>(rte_zmalloc("bench", 4096, 4096));
    if (words_ == nullptr) throw std::runtime_error("no memory for the target");
    memory_ = take(far_.session->make_memory(words_, 4096, rdma::local_write | rdma::remote_atomic));
    operation_.opcode = rdma::Opcode::fetch_add;
    operation_.flags = rdma::signaled;
    operation_.length = 8;
    operation_.rkey = memory_->object->part(0).region.rkey;
    operation_.remote = reinterpret_cast<std::uint64_t>(words_);
    operation_.operand[0].value = 1;
  }
  ~Case() {
    near_.close();
    rdma::Session::free(memory_);
    far_.close();
    rte_free(words_);
  }
  Case(const Case&) = delete;
  Case& operator=(const Case&) = delete;

  const Setting& setting() const { return setting_; }
  const std::vector<double>& rates() const { return rates_; }

  /// Keeps the busy queue pairs filled for a time.
  void round(std::chrono::milliseconds time) {
    const bool steps = setting_.thread == std::string("caller");
    const std::chrono::nanoseconds began = now(steps);
    const std::uint64_t before = done_;
    for (unsigned i = 0; i < setting_.busy; ++i) fill(i, outstanding);
    do {
      for (unsigned i = 0; i < 64; ++i) poll(steps, true);
    } while (now(steps) - began < time);
    const std::chrono::duration<double> took = now(steps) - began;
    rates_.push_back(static_cast<double>(done_ - before) / took.count());
    while (done_ != posted_) poll(steps, false);
    if (*words_ != done_) throw std::runtime_error("an addition was lost or doubled");
  }

 private:
  /// Where one thread does everything, its own time: what other processes take from it does not count.
  static std::chrono::nanoseconds now(bool alone) {
    timespec time{};
    clock_gettime(alone ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  }
  void fill(unsigned qp, unsigned count) {
    rdma::Operation burst[outstanding];
    std::fill_n(burst, count, operation_);
    for (unsigned i = 0; i < count; ++i) burst[i].cookie = qp;
    posted_ += rdma::post(near_.qps[qp]->object->fast(), burst, static_cast<std::uint16_t>(count));
  }
  void poll(bool steps, bool again) {
    if (steps) runtime_->step();
    rdma::Completion completions[256];
    const unsigned got = rdma::poll(near_.worker->object->fast(), completions, 256);
    done_ += got;
    unsigned of_one = 0;
    for (unsigned i = 0; i < got; ++i) {
      if (completions[i].status != 0) throw std::runtime_error("a fetch-and-add failed");
      ++of_one;
      if (i + 1 != got && completions[i + 1].cookie == completions[i].cookie && of_one != outstanding)
        continue;
      if (again) fill(static_cast<unsigned>(completions[i].cookie), of_one);
      of_one = 0;
    }
  }

  const Setting& setting_;
  Owned<hca::Runtime> runtime_;  // of its own: a step steps all of its cards
  End near_, far_;
  std::uint64_t* words_ = nullptr;
  rdma::HeldMemory* memory_ = nullptr;
  rdma::Operation operation_{};
  std::uint64_t posted_ = 0, done_ = 0;
  std::vector<double> rates_;
};

struct Options {
  unsigned rounds = 11;
  unsigned milliseconds = 100;
  std::string json;
};

Options parse(int argc, char** argv) {
  static const char usage[] =
      "usage: atomic_speed [options]\n"
      "Fetch-and-adds a second over a cable between two software HCAs. Cases take turns.\n"
      "  --rounds N   of all cases (11)\n"
      "  --time MS    of a case in a round (100)\n"
      "  --json FILE  write the results there, too\n";
  Options options;
  bench::parse(
      argc, argv, usage,
      {number("rounds", options.rounds), number("time", options.milliseconds), text("json", options.json)});
  if (options.rounds == 0 || options.milliseconds == 0)
    throw std::runtime_error("at least one round of 1 ms");
  return options;
}

void start_eal() {
  std::vector<std::string> words = {"atomic_speed",
                                    "--no-huge",
                                    "--no-pci",
                                    "--no-shconf",
                                    "--no-telemetry",
                                    "-m",
                                    "256",
                                    "-l",
                                    "0",
                                    "--log-level=lib.eal:error",
                                    "--file-prefix=atomics" + std::to_string(getpid())};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  if (rte_eal_init(static_cast<int>(words.size()), arguments.data()) < 0)
    throw std::runtime_error("EAL did not start");
}

void write_json(const char* path, const std::vector<std::unique_ptr<Case>>& cases) {
  std::FILE* file = std::fopen(path, "w");
  if (file == nullptr) throw std::runtime_error(std::string("cannot write ") + path);
  std::fprintf(file, "{\n  \"cases\": [\n");
  for (const auto& one : cases) {
    std::fprintf(file, "    {\"name\": \"%s\", \"configuration\": \"%s\", \"rates\": [", one->setting().name,
                 one->setting().description);
    for (std::size_t i = 0; i < one->rates().size(); ++i)
      std::fprintf(file, "%s%.0f", i == 0 ? "" : ", ", one->rates()[i]);
    std::fprintf(file, "]}%s\n", &one == &cases.back() ? "" : ",");
  }
  std::fprintf(file, "  ]\n}\n");
  if (std::fclose(file) != 0) throw std::runtime_error(std::string("cannot write ") + path);
}

int run(int argc, char** argv) {
  const Options options = parse(argc, argv);
  start_eal();
  {
    std::vector<std::unique_ptr<Case>> cases;
    for (const Setting& setting : settings)
      cases.push_back(std::make_unique<Case>(setting, static_cast<unsigned>(cases.size())));
    for (unsigned round = 0; round < options.rounds; ++round)
      for (auto& one : cases) one->round(std::chrono::milliseconds(options.milliseconds));
    for (const auto& one : cases) {
      std::vector<double> rates = one->rates();
      std::ranges::sort(rates);
      std::printf("%-36s %6.2f M/s  (%.2f..%.2f)  %s\n", one->setting().name, rates[rates.size() / 2] * 1e-6,
                  rates.front() * 1e-6, rates.back() * 1e-6, one->setting().description);
    }
    if (!options.json.empty()) write_json(options.json.c_str(), cases);
  }
  rte_eal_cleanup();
  return 0;
}

}  // namespace
}  // namespace chime::bench

int main(int argc, char** argv) {
  return chime::bench::main_of("atomic_speed", chime::bench::run, argc, argv);
}
