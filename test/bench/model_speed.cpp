// SPDX-License-Identifier: BSD-3-Clause
#include <x86intrin.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "looped_card.h"
#include "program.h"

/// @file
/// What the model's thread spends on a packet that goes from a send queue over a looped wire to a receive
/// queue: TSC cycles between doorbell and the end of the step. The software's own work is left out, and there
/// is no driver.

namespace chime::bench {
namespace {

const CardSetting settings[] = {
    {.name = "64 B", .description = "pointer"},
    {.name = "64 B, inline L2", .description = "18 bytes of header in line", .inline_header = 18},
    {.name = "64 B, checksums", .description = "L3 and L4 written", .cs_flags = 0xc0},
    {.name = "64 B, RSS", .description = "spread over 4 queues", .queues = 4},
    {.name = "64 B, 64 queues", .description = "63 queue pairs are idle", .idle = 63},
    {.name = "64 B, 10 rules", .description = "flow entries by UDP port", .entries = 10},
    {.name = "64 B, 10000 rules", .description = "the same", .entries = 10000},
    {.name = "1500 B", .description = "pointer", .length = 1500},
    {.name = "1500 B, checksums", .description = "L3 and L4 written", .length = 1500, .cs_flags = 0xc0},
};

struct Options {
  unsigned rounds = 11;
  unsigned bursts = 400;  ///< of a round
  std::string json;
};

double tsc_ghz() {
  using Clock = std::chrono::steady_clock;
  const auto t0 = Clock::now();
  const std::uint64_t c0 = __rdtsc();
  while (Clock::now() - t0 < std::chrono::milliseconds(50)) {
  }
  const std::chrono::duration<double, std::nano> elapsed = Clock::now() - t0;
  return static_cast<double>(__rdtsc() - c0) / elapsed.count();
}

struct Case {
  explicit Case(const CardSetting& setting) : card(setting) {}

  LoopedCard card;
  std::vector<double> cycles;  ///< a packet, median of each round
};

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<long>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Median over bursts: what an interrupt or another process took from one burst does not count.
void round_of(Case& one, unsigned bursts) {
  for (unsigned i = 0; i < bursts / 4; ++i) one.card.burst();
  std::vector<double> cycles(bursts);
  for (double& c : cycles) c = static_cast<double>(one.card.burst()) / LoopedCard::burst_size;
  one.cycles.push_back(median(std::move(cycles)));
}

void write_json(const char* path, double ghz, const std::vector<std::unique_ptr<Case>>& cases) {
  std::FILE* file = std::fopen(path, "w");
  if (file == nullptr) throw std::runtime_error(std::string("cannot write ") + path);
  std::fprintf(file, "{\n  \"tsc_hz\": %.0f,\n  \"cases\": [\n", ghz * 1e9);
  for (const auto& one : cases) {
    const CardSetting& setting = one->card.setting();
    std::fprintf(file, "    {\"name\": \"%s\", \"configuration\": \"%s\", \"length\": %zu, \"cycles\": [",
                 setting.name, setting.description, setting.length);
    for (std::size_t i = 0; i < one->cycles.size(); ++i)
      std::fprintf(file, "%s%.2f", i == 0 ? "" : ", ", one->cycles[i]);
    std::fprintf(file, "]}%s\n", &one == &cases.back() ? "" : ",");
  }
  std::fprintf(file, "  ]\n}\n");
  if (std::fclose(file) != 0) throw std::runtime_error(std::string("cannot write ") + path);
}

Options parse(int argc, char** argv) {
  static const char usage[] =
      "usage: model_speed [options]\n"
      "TSC cycles that the software HCA spends on a looped packet. Cases take turns.\n"
      "  --rounds N   of all cases (11)\n"
      "  --bursts N   of 32 packets, of a case in a round (400)\n"
      "  --json FILE  write the results there, too\n";
  Options options;
  bench::parse(
      argc, argv, usage,
      {number("rounds", options.rounds), number("bursts", options.bursts), text("json", options.json)});
  if (options.rounds == 0 || options.bursts < 4)
    throw std::runtime_error("at least one round and four bursts");
  return options;
}

int run(int argc, char** argv) {
  const Options options = parse(argc, argv);
  const double ghz = tsc_ghz();
  std::vector<std::unique_ptr<Case>> cases;
  for (const CardSetting& setting : settings) cases.push_back(std::make_unique<Case>(setting));
  for (unsigned round = 0; round < options.rounds; ++round) {
    for (auto& one : cases) round_of(*one, options.bursts);
  }
  std::printf("bursts of %u, TSC at %.2f GHz; the model spends on a packet\n", LoopedCard::burst_size, ghz);
  std::printf("%-20s %8s %8s %8s\n", "", "cycles", "Mpps", "Gbit/s");
  for (const auto& one : cases) {
    const CardSetting& setting = one->card.setting();
    const double cycles = median(one->cycles), mpps = ghz * 1e3 / cycles;
    std::printf("%-20s %8.1f %8.2f %8.2f  %s%s\n", setting.name, cycles, mpps,
                mpps * static_cast<double>(setting.length) * 8e-3, setting.description,
                one->card.lost() == 0 ? "" : "; PACKETS WERE LOST");
  }
  if (!options.json.empty()) write_json(options.json.c_str(), ghz, cases);
  return 0;
}

}  // namespace
}  // namespace chime::bench

int main(int argc, char** argv) {
  return chime::bench::main_of("model_speed", chime::bench::run, argc, argv);
}
