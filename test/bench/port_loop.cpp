// SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "eal.h"
#include "looped_port.h"
#include "memory_use.h"
#include "program.h"

/// @file
/// An application with one looped port, for measurements that testpmd can't make: how long the port takes to
/// start, what memory it holds, and at what rate packets go round when there are many queues or flow rules.
///
/// Results are lines of JSON on standard output, commands are lines on standard input, so that two of these
/// can take turns:
///
///     run SECONDS    sends and receives; prints the rate
///     quit

namespace chime::bench {
namespace {

struct Options {
  PortSetting port;
  std::string eal;
};

Options parse(int argc, char** argv) {
  static const char usage[] =
      "usage: port_loop [options]\n"
      "Starts one looped port and prints how long that took and what memory it holds; then reads commands:\n"
      "'run SECONDS' sends packets round and prints the rate, 'quit' ends.\n"
      "  --vdev DEVICE     the port (net_chime0)\n"
      "  --queues N        each way; the first is used (1)\n"
      "  --flows N         rte_flow rules: UDP port to the first queue; packets go to all of them in turn "
      "(0)\n"
      "  --length N        bytes of a packet, without FCS (60)\n"
      "  --window N        packets under way (512)\n"
      "  --eal ARGUMENTS   for EAL\n";
  Options options;
  bench::parse(
      argc, argv, usage,
      {text("vdev", options.port.device), text("eal", options.eal),
       number("queues", options.port.queues, 1, 1024), number("flows", options.port.flows, 0, 60000),
       number("length", options.port.length, 60, 1518), number("window", options.port.window, 32, 992)});
  return options;
}

void print_start(const StartTimes& times, const MemoryUse& before, const MemoryUse& after) {
  std::printf(
      "{\"probe_ms\": %.3f, \"configure_ms\": %.3f, \"start_ms\": %.3f, \"flows_ms\": %.3f, "
      "\"port_resident_kb\": %ld, \"port_huge_kb\": %ld, \"process_resident_kb\": %ld, "
      "\"process_huge_kb\": %ld}\n",
      times.probe_ms, times.configure_ms, times.start_ms, times.flows_ms,
      after.resident_kb - before.resident_kb, after.huge_kb - before.huge_kb, after.resident_kb,
      after.huge_kb);
  std::fflush(stdout);
}

void serve(LoopedPort& port) {
  char line[128];
  while (std::fgets(line, sizeof line, stdin) != nullptr) {
    double seconds = 0;
    if (std::strncmp(line, "quit", 4) == 0) return;
    if (std::sscanf(line, "run %lf", &seconds) != 1 || seconds <= 0 || seconds > 600)
      throw std::runtime_error(std::string("neither 'run SECONDS' nor 'quit': ") + line);
    const LoopResult result = port.run(seconds);
    std::printf("{\"packets\": %llu, \"seconds\": %.6f, \"lost\": %llu}\n",
                static_cast<unsigned long long>(result.packets), result.seconds,
                static_cast<unsigned long long>(result.lost));
    std::fflush(stdout);
  }
}

int run(int argc, char** argv) {
  const Options options = parse(argc, argv);
  start_eal(argv[0], options.eal);
  {
    const MemoryUse before = memory_use();
    LoopedPort port(options.port);
    print_start(port.times(), before, memory_use());
    serve(port);
  }
  rte_eal_cleanup();
  return 0;
}

}  // namespace
}  // namespace chime::bench

int main(int argc, char** argv) {
  return chime::bench::main_of("port_loop", chime::bench::run, argc, argv);
}
