// SPDX-License-Identifier: BSD-3-Clause
#include <getopt.h>
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <unistd.h>
#include <x86intrin.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "instruction_counter.h"
#include "lane.h"

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
  std::uint64_t packets = 1u << 18;  ///< of one repeat
  unsigned repeats = 11;
  bool instructions = true;
};

struct Cost {
  double instructions = -1;   ///< a packet; negative: not counted
  double cycles = 0;          ///< of the TSC, a packet; median of the repeats
  double cycles_flushed = 0;  ///< the same when CQEs are not in a cache
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

double cycles_a_call(Lane& lane, const Options& options, bool flush) {
  std::vector<double> means;
  const std::uint64_t calls = options.packets / options.setting.burst;
  for (unsigned repeat = 0; repeat < options.repeats; ++repeat) {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < calls; ++i) {
      lane.prepare(flush);
      const std::uint64_t before = cycles_before();
      lane.call();
      sum += cycles_after() - before;
      lane.finish();
    }
    means.push_back(static_cast<double>(sum) / static_cast<double>(calls));
  }
  std::nth_element(means.begin(), means.begin() + static_cast<long>(means.size() / 2), means.end());
  return means[means.size() / 2];
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

Cost measure(Lane& lane, Lane& empty, const Options& options, InstructionCounter* counter) {
  const double packets = options.setting.burst;
  Cost cost;
  cost.cycles = (cycles_a_call(lane, options, false) - cycles_a_call(empty, options, false)) / packets;
  cost.cycles_flushed = (cycles_a_call(lane, options, true) - cycles_a_call(empty, options, false)) / packets;
  if (counter != nullptr)
    cost.instructions =
        (instructions_a_call(lane, *counter) - instructions_a_call(empty, *counter)) / packets;
  return cost;
}

struct Row {
  std::string name, configuration;
  bool rx;
  Cost cost;
  double ratio;  ///< cycles to those of net_null in the same direction
};

void write_json(const Options& options, const std::vector<Row>& rows) {
  std::FILE* file = std::fopen(options.json.c_str(), "w");
  if (file == nullptr) throw std::runtime_error("cannot write " + options.json);
  std::fprintf(
      file, "{\n  \"tsc_hz\": %llu,\n  \"burst\": %u,\n  \"ring\": %u,\n  \"length\": %u,\n  \"lanes\": [\n",
      static_cast<unsigned long long>(rte_get_tsc_hz()), options.setting.burst, options.setting.ring,
      options.setting.length);
  for (const Row& row : rows) {
    std::fprintf(
        file,
        "    {\"name\": \"%s\", \"configuration\": \"%s\", \"direction\": \"%s\", \"instructions\": %s, "
        "\"cycles\": %.2f, \"cycles_flushed\": %.2f, \"ratio_to_net_null\": %.3f}%s\n",
        row.name.c_str(), row.configuration.c_str(), row.rx ? "rx" : "tx",
        row.cost.instructions < 0 ? "null" : std::to_string(row.cost.instructions).c_str(), row.cost.cycles,
        row.cost.cycles_flushed, row.ratio, &row == &rows.back() ? "" : ",");
  }
  std::fprintf(file, "  ]\n}\n");
  if (std::fclose(file) != 0) throw std::runtime_error("cannot write " + options.json);
}

void print_row(const Row& row) {
  char instructions[16] = "-";
  if (row.cost.instructions >= 0)
    std::snprintf(instructions, sizeof instructions, "%.1f", row.cost.instructions);
  std::printf("%-30s %13s %8.1f %10.1f %9.2f  %s\n", row.name.c_str(), instructions, row.cost.cycles,
              row.cost.cycles_flushed, row.ratio, row.configuration.c_str());
  std::fflush(stdout);
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
      "  --packets N         of one repeat (262144)\n"
      "  --repeats N         the median counts (11)\n"
      "  --no-instructions   skip the instruction count, which takes some seconds a lane\n"
      "  --eal ARGUMENTS     for EAL\n";
  static const option known[] = {{"peer", 1, nullptr, 'p'},    {"json", 1, nullptr, 'j'},
                                 {"burst", 1, nullptr, 'b'},   {"ring", 1, nullptr, 'r'},
                                 {"length", 1, nullptr, 'l'},  {"packets", 1, nullptr, 'n'},
                                 {"repeats", 1, nullptr, 'm'}, {"no-instructions", 0, nullptr, 'i'},
                                 {"eal", 1, nullptr, 'e'},     {"help", 0, nullptr, 'h'},
                                 {nullptr, 0, nullptr, 0}};
  Options options;
  const auto number = [] { return static_cast<unsigned>(std::strtoul(optarg, nullptr, 0)); };
  for (int c; (c = getopt_long(argc, argv, "", known, nullptr)) != -1;) {
    switch (c) {
      case 'p':
        options.peers.emplace_back(optarg);
        break;
      case 'j':
        options.json = optarg;
        break;
      case 'b':
        options.setting.burst = number();
        break;
      case 'r':
        options.setting.ring = number();
        break;
      case 'l':
        options.setting.length = number();
        break;
      case 'n':
        options.packets = number();
        break;
      case 'm':
        options.repeats = number();
        break;
      case 'i':
        options.instructions = false;
        break;
      case 'e':
        options.eal = optarg;
        break;
      default:
        std::fputs(usage, c == 'h' ? stdout : stderr);
        std::exit(c == 'h' ? 0 : 2);
    }
  }
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
  std::unique_ptr<InstructionCounter> counter;
  if (options.instructions) counter = std::make_unique<InstructionCounter>();
  if (counter && !counter->ok()) {
    std::printf("No instruction counts: no trap flag here (a debugger?).\n");
    counter.reset();
  }
  start_eal(argv[0], options.eal.empty() ? default_eal() : options.eal);
  rte_mempool* pool = rte_pktmbuf_pool_create("bench", 16383, 256, 0, RTE_MBUF_DEFAULT_BUF_SIZE,
                                              static_cast<int>(rte_socket_id()));
  if (pool == nullptr) throw std::runtime_error("no memory for 16383 mbufs");

  std::vector<std::unique_ptr<Lane>> lanes = lanes_of_port("net_null0", pool, options.setting);
  lanes.push_back(lane_of_mempool(pool, options.setting));
  for (const std::string& peer : options.peers) {
    for (auto& lane : lanes_of_peer(peer, pool, options.setting)) lanes.push_back(std::move(lane));
  }

  EmptyLane empty(options.setting.burst);
  std::vector<Row> rows;
  std::printf("%u-byte packets, burst %u, ring %u; a packet costs\n", options.setting.length,
              options.setting.burst, options.setting.ring);
  std::printf("%-30s %13s %8s %10s %9s\n", "", "instructions", "cycles", "CQE cold", "/net_null");
  double null_cycles[2] = {1, 1};
  for (auto& lane : lanes) {
    check(*lane, options);
    Row row{lane->name(), lane->configuration(), lane->is_rx(), measure(*lane, empty, options, counter.get()),
            0};
    if (rows.size() < 2) null_cycles[row.rx] = row.cost.cycles;
    row.ratio = row.cost.cycles / null_cycles[row.rx];
    print_row(row);
    rows.push_back(std::move(row));
  }
  if (!options.json.empty()) write_json(options, rows);
  counter.reset();
  rte_eal_cleanup();
  return 0;
}

}  // namespace
}  // namespace chime::bench

int main(int argc, char** argv) {
  try {
    return chime::bench::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "driver_alone: %s\n", error.what());
    return 1;
  }
}
