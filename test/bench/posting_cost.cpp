// SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "../unit/rdma/ring.h"
#include "instruction_counter.h"

/// @file
/// Instructions to post and poll an 8-byte fetch-and-add: no card; the completions are written between the
/// two. What an application executes, without its own loop.

namespace chime::bench {
namespace {

using rdma::test::Ring;

struct Cost {
  double post, poll;
};

Cost measure(std::uint16_t burst, bool local) {
  constexpr unsigned rounds = 8;
  const auto ring = std::make_unique<Ring>(64, rdma::qp_plain_atomics | rdma::qp_host_replies, 8);
  std::vector<rdma::Operation> operations(burst, rdma::test::atomic(rdma::Opcode::fetch_add, 8));
  std::uint64_t original = 0;
  for (auto& operation : operations)
    operation.local = local ? reinterpret_cast<std::uintptr_t>(&original) : 0;
  std::vector<rdma::Completion> completions(burst);
  // What an application has at hand.
  rdma::Qp& qp = ring->qp;
  rdma::Worker& worker = ring->worker;
  const rdma::Operation* const first = operations.data();
  rdma::Completion* const room = completions.data();
  std::uint64_t post = 0, poll = 0;
  for (unsigned round = 0; round <= rounds; ++round) {
    const std::uint64_t posting =
        InstructionCounter::of([&]() __attribute__((always_inline)) { rdma::post(qp, first, burst); });
    for (std::uint32_t block = ring->qp.produced - burst; block != ring->qp.produced; ++block)
      ring->complete(static_cast<std::uint16_t>(block));
    std::uint16_t got = 0;
    const std::uint64_t polling = InstructionCounter::of([&]() __attribute__((always_inline)) {
      got = rdma::poll(worker, room, burst);
    });
    if (got != burst) std::fprintf(stderr, "posting_cost: %u of %u came back\n", got, burst);
    if (round == 0) continue;  // the first finds no queue pair yet
    post += posting;
    poll += polling;
  }
  const double n = double{rounds} * burst;
  return {static_cast<double>(post) / n, static_cast<double>(poll) / n};
}

/// @param path of a JSON file, or nullptr
int run(const char* path) {
  const InstructionCounter counter;
  if (!counter.ok()) {
    std::fprintf(stderr, "posting_cost: instructions can't be counted here (a debugger has the trap flag)\n");
    return 1;
  }
  std::FILE* json = path != nullptr ? std::fopen(path, "w") : nullptr;
  if (path != nullptr && json == nullptr) {
    std::fprintf(stderr, "posting_cost: cannot write %s\n", path);
    return 1;
  }
  if (json != nullptr) std::fprintf(json, "{\"cases\": [");
  const char* separator = "";
  for (const bool local : {false, true}) {
    for (const std::uint16_t burst : {std::uint16_t{1}, std::uint16_t{4}, std::uint16_t{32}}) {
      const Cost cost = measure(burst, local);
      if (json != nullptr)
        std::fprintf(json, "%s\n  {\"burst\": %u, \"local\": %s, \"post\": %.1f, \"poll\": %.1f}", separator,
                     burst, local ? "true" : "false", cost.post, cost.poll);
      std::printf("burst of %2u, %-22s post %5.1f + poll %5.1f = %5.1f instructions each\n", burst,
                  local ? "into registered memory" : "into the ring's room", cost.post, cost.poll,
                  cost.post + cost.poll);
      separator = ",";
    }
  }
  if (json == nullptr) return 0;
  std::fprintf(json, "\n]}\n");
  return std::fclose(json) == 0 ? 0 : 1;
}

}  // namespace
}  // namespace chime::bench

int main(int argc, char** argv) {
  const bool json = argc == 3 && std::strcmp(argv[1], "--json") == 0;
  if (argc > 1 && !json) {
    std::printf(
        "usage: posting_cost [--json FILE]\n\nInstructions to post and poll an 8-byte fetch-and-add.\n");
    return std::strcmp(argv[1], "--help") == 0 ? 0 : 2;
  }
  return chime::bench::run(json ? argv[2] : nullptr);
}
