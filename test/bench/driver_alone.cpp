// SPDX-License-Identifier: BSD-3-Clause
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <sys/resource.h>
#include <unistd.h>
#include <x86intrin.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "instruction_counter.h"
#include "lane.h"
#include "program.h"

/// @file
/// What a driver's burst functions cost by themselves: no card, no model, no wire. An instant device writes
/// completions between the measured calls.

namespace chime::bench {
namespace {

struct Options {
  Setting setting;
  std::vector<std::string> peers;
  std::string json;
  std::string eal;
  std::uint64_t packets = 1u << 15;  ///< of one repeat
  unsigned repeats = 21;
  bool instructions = true;
};

/// Of one lane, a packet.
struct Cost {
  double instructions = -1;            ///< negative: not counted
  std::vector<double> cycles;          ///< of the TSC, one for each repeat
  std::vector<double> cycles_flushed;  ///< the same when CQEs are not in a cache
};

[[gnu::always_inline]] inline std::uint64_t cycles_before() noexcept {
  _mm_mfence();
  _mm_lfence();
  const std::uint64_t now = __rdtsc();
  _mm_lfence();
  return now;
}
[[gnu::always_inline]] inline std::uint64_t cycles_after() noexcept {
  unsigned cpu;
  const std::uint64_t now = __rdtscp(&cpu);
  _mm_lfence();
  return now;
}

/// A call through the same path that does nothing: its cost is taken off.
class EmptyLane final : public Lane {
 public:
  explicit EmptyLane(unsigned burst) : Lane("empty", ""), burst_(burst) {}
  bool is_rx() const noexcept override { return true; }
  void prepare(bool /*flush*/) override {}
  unsigned call() override { return burst_; }
  void finish() override {}
  const char* verify() override { return nullptr; }

 private:
  unsigned burst_;
};

/// How often this thread lost its CPU to another.
long preemptions() noexcept {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw;
}

/// Mean of the calls of one repeat. They are made in slices of some 100 microseconds; a slice in which the
/// thread lost its CPU is made again.
double cycles_a_call(Lane& lane, const Options& options, bool flush) {
  constexpr std::uint64_t slice = 64;
  std::uint64_t sum = 0, calls = 0;
  const std::uint64_t enough = options.packets / options.setting.burst;
  for (std::uint64_t tries = 0; calls < enough && tries < 8 * enough; tries += slice) {
    const long before_slice = preemptions();
    std::uint64_t here = 0;
    for (std::uint64_t i = 0; i < slice; ++i) {
      lane.prepare(flush);
      const std::uint64_t before = cycles_before();
      lane.call();
      here += cycles_after() - before;
      lane.finish();
    }
    if (preemptions() != before_slice) continue;
    sum += here;
    calls += slice;
  }
  if (calls == 0)
    throw std::runtime_error("the CPU is too busy: every slice of a measurement was interrupted");
  return static_cast<double>(sum) / static_cast<double>(calls);
}

double instructions_a_call(Lane& lane, InstructionCounter& counter) {
  constexpr unsigned calls = 64;  // rounds of the ring and of the mempool cache
  const std::uint64_t before = counter.count();
  for (unsigned i = 0; i < calls; ++i) {
    lane.prepare(false);
    counter.start();
    lane.call();
    counter.stop();
    lane.finish();
  }
  const std::uint64_t after = counter.count();
  return static_cast<double>(after - before) / calls;
}

void check(Lane& lane, const Options& options) {
  for (unsigned i = 0; i < 3 * options.setting.ring / options.setting.burst; ++i) {
    if (const char* wrong = lane.verify()) throw std::runtime_error(lane.name() + ": " + wrong);
  }
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<long>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

struct Row {
  Lane* lane;
  Cost cost;
  double ratio = 0;  ///< cycles to those of net_null in the same direction and repeat; median
};

/// All lanes take turns, so that a time at which the machine is slow is one for all.
void measure(std::vector<Row>& rows, const Options& options) {
  EmptyLane empty(options.setting.burst);
  const double packets = options.setting.burst;
  for (unsigned repeat = 0; repeat < options.repeats; ++repeat) {
    const double nothing = cycles_a_call(empty, options, false);
    for (Row& row : rows) {
      row.cost.cycles.push_back((cycles_a_call(*row.lane, options, false) - nothing) / packets);
      row.cost.cycles_flushed.push_back((cycles_a_call(*row.lane, options, true) - nothing) / packets);
    }
    std::fprintf(stderr, "\rcycles: repeat %u of %u ", repeat + 1, options.repeats);
  }
  std::fprintf(stderr, "\n");
}

/// @param rows the first two are net_null's
void compare(std::vector<Row>& rows) {
  for (Row& row : rows) {
    const Row& null = rows[row.lane->is_rx() == rows[0].lane->is_rx() ? 0 : 1];
    std::vector<double> ratios;
    for (std::size_t i = 0; i < row.cost.cycles.size(); ++i)
      ratios.push_back(row.cost.cycles[i] / null.cost.cycles[i]);
    row.ratio = median(std::move(ratios));
  }
}

void count_instructions(std::vector<Row>& rows, const Options& options) {
  InstructionCounter counter;
  if (!counter.ok()) {
    std::printf("No instruction counts: no trap flag here (a debugger?).\n");
    return;
  }
  EmptyLane empty(options.setting.burst);
  const double nothing = instructions_a_call(empty, counter);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::fprintf(stderr, "\rinstructions: lane %zu of %zu ", i + 1, rows.size());
    rows[i].cost.instructions =
        (instructions_a_call(*rows[i].lane, counter) - nothing) / options.setting.burst;
  }
  std::fprintf(stderr, "\n");
}

void print_list(std::FILE* file, const char* name, const std::vector<double>& values) {
  std::fprintf(file, "\"%s\": [", name);
  for (std::size_t i = 0; i < values.size(); ++i) std::fprintf(file, "%s%.3f", i == 0 ? "" : ", ", values[i]);
  std::fprintf(file, "]");
}

void write_json(const Options& options, const std::vector<Row>& rows) {
  std::FILE* file = std::fopen(options.json.c_str(), "w");
  if (file == nullptr) throw std::runtime_error("cannot write " + options.json);
  const Setting& setting = options.setting;
  std::fprintf(
      file, "{\n  \"tsc_hz\": %llu,\n  \"burst\": %u,\n  \"ring\": %u,\n  \"length\": %u,\n  \"lanes\": [\n",
      static_cast<unsigned long long>(rte_get_tsc_hz()), setting.burst, setting.ring, setting.length);
  for (const Row& row : rows) {
    const double instructions = row.cost.instructions;
    std::fprintf(file,
                 "    {\"name\": \"%s\", \"configuration\": \"%s\", \"direction\": \"%s\", "
                 "\"instructions\": %s, ",
                 row.lane->name().c_str(), row.lane->configuration().c_str(), row.lane->is_rx() ? "rx" : "tx",
                 instructions < 0 ? "null" : std::to_string(instructions).c_str());
    print_list(file, "cycles", row.cost.cycles);
    std::fprintf(file, ", ");
    print_list(file, "cycles_flushed", row.cost.cycles_flushed);
    std::fprintf(file, "}%s\n", &row == &rows.back() ? "" : ",");
  }
  std::fprintf(file, "  ]\n}\n");
  if (std::fclose(file) != 0) throw std::runtime_error("cannot write " + options.json);
}

void print(const std::vector<Row>& rows, const Setting& setting) {
  std::printf("%u-byte packets, burst %u, ring %u; a packet costs\n", setting.length, setting.burst,
              setting.ring);
  std::printf("%-30s %13s %8s %10s %9s\n", "", "instructions", "cycles", "CQE cold", "/net_null");
  for (const Row& row : rows) {
    char instructions[16] = "-";
    if (row.cost.instructions >= 0)
      std::snprintf(instructions, sizeof instructions, "%.1f", row.cost.instructions);
    std::printf("%-30s %13s %8.1f %10.1f %9.2f  %s\n", row.lane->name().c_str(), instructions,
                median(row.cost.cycles), median(row.cost.cycles_flushed), row.ratio,
                row.lane->configuration().c_str());
  }
}

/// Huge pages where there are some: with small ones, TLB misses are most of what a burst costs.
std::string default_eal() {
  unsigned free = 0;
  if (std::FILE* file = std::fopen("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "r")) {
    if (std::fscanf(file, "%u", &free) != 1) free = 0;
    std::fclose(file);
  }
  const std::string common = "--no-pci -l 0 --no-telemetry --log-level=lib.eal:4 -m 64 ";
  if (free >= 40) return common + "--in-memory";
  std::printf("Fewer than 40 huge pages of 2 MiB are free: cycles will be too high.\n");
  return common + "--no-huge --no-shconf";
}

void start_eal(const char* program, const std::string& arguments) {
  static std::vector<std::string> words{program, "--vdev=net_null0"};  // EAL keeps pointers
  std::istringstream stream(arguments);
  for (std::string word; stream >> word;) words.push_back(word);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  if (rte_eal_init(static_cast<int>(argv.size()), argv.data()) < 0)
    throw std::runtime_error("EAL does not start with: " + arguments);
}

Options parse(int argc, char** argv) {
  static const char usage[] =
      "usage: driver_alone [options]\n"
      "What burst functions cost without a card: instructions and TSC cycles a packet.\n"
      "  --peer FILE         shared object with bench_peer_get; may be repeated (default: chime_peer.so "
      "beside\n"
      "                      this program)\n"
      "  --json FILE         write the results there, too\n"
      "  --burst N           packets of a call (32)\n"
      "  --ring N            entries of a ring (1024)\n"
      "  --length N          bytes of a packet (64)\n"
      "  --packets N         of one repeat (32768)\n"
      "  --repeats N         the median counts (21)\n"
      "  --no-instructions   skip the instruction count, which takes some seconds a lane\n"
      "  --eal ARGUMENTS     for EAL\n";
  Options options;
  bench::parse(argc, argv, usage,
               {{"peer", [&options](const char* value) { options.peers.emplace_back(value); }},
                {"no-instructions", [&options](const char*) { options.instructions = false; }, false},
                text("json", options.json),
                text("eal", options.eal),
                number("burst", options.setting.burst),
                number("ring", options.setting.ring),
                number("length", options.setting.length),
                number("packets", options.packets),
                number("repeats", options.repeats)});
  const Setting& setting = options.setting;
  if (setting.burst == 0 || setting.burst > max_burst || setting.burst * 4 > setting.ring ||
      setting.length < 14 || setting.length > 1518 || options.repeats == 0 || options.packets < setting.burst)
    throw std::runtime_error("bursts of 1 to 256, a ring of 4 bursts or more, packets of 14 to 1518 bytes");
  if (options.peers.empty()) {
    char self[4096];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    const std::string path(self, length > 0 ? static_cast<std::size_t>(length) : 0);
    options.peers.push_back(path.substr(0, path.rfind('/') + 1) + "chime_peer.so");
  }
  return options;
}

int run(int argc, char** argv) {
  const Options options = parse(argc, argv);
  start_eal(argv[0], options.eal.empty() ? default_eal() : options.eal);
  rte_mempool* pool = rte_pktmbuf_pool_create("bench", 16383, 256, 0, RTE_MBUF_DEFAULT_BUF_SIZE,
                                              static_cast<int>(rte_socket_id()));
  if (pool == nullptr) throw std::runtime_error("no memory for 16383 mbufs");

  std::vector<std::unique_ptr<Lane>> lanes = lanes_of_port("net_null0", pool, options.setting);
  lanes.push_back(lane_of_mempool(pool, options.setting));
  for (const std::string& peer : options.peers) {
    for (auto& lane : lanes_of_peer(peer, pool, options.setting)) lanes.push_back(std::move(lane));
  }

  std::vector<Row> rows;
  for (auto& lane : lanes) {
    check(*lane, options);
    rows.push_back({lane.get(), {}, 0});
  }
  measure(rows, options);
  compare(rows);
  if (options.instructions) count_instructions(rows, options);
  print(rows, options.setting);
  if (!options.json.empty()) write_json(options, rows);
  rte_eal_cleanup();
  return 0;
}

}  // namespace
}  // namespace chime::bench

int main(int argc, char** argv) {
  return chime::bench::main_of("driver_alone", chime::bench::run, argc, argv);
}
