// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/core.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "atomics_add.h"
#include "atomics_options.h"
#include "atomics_peers.h"
#include "atomics_queue.h"
#include "subcommands.h"

/// @file
/// `chime atomics`: additions that are read back, and a queue with many producers; in one process over a
/// cable, or between two.

namespace chime::app {
namespace {

void print(const AtomicsOptions& options, const AtomicsResult& result) {
  const double rate = result.seconds > 0 ? static_cast<double>(result.items) / result.seconds : 0;
  if (options.json) {
    fmt::print("{}\n", nlohmann::json{{"additions", result.additions},
                                      {"counter", result.counter},
                                      {"items", result.items},
                                      {"producers", options.producers},
                                      {"retries", result.retries},
                                      {"seconds", result.seconds}}
                           .dump(2));
    return;
  }
  if (result.additions != 0)
    fmt::print("{} fetch-and-adds of 1, every answer right; read back: {}\n", result.additions,
               result.counter);
  if (result.items != 0)
    fmt::print(
        "queue: {} items of {} producers, none lost or doubled; {:.2f} s, {:.0f} items/s, {} retries\n",
        result.items, options.producers, result.seconds, rate, result.retries);
}

AtomicsResult in_one_process(const AtomicsOptions& options) {
  const std::string more = options.faults.empty() ? "" : "," + options.faults;
  const Eal eal({"net_chime0,wire=cable:atomics" + more, "net_chime1,wire=cable:atomics" + more},
                options.eal);
  const std::uint16_t near = Eal::port("net_chime0"), far = Eal::port("net_chime1");
  const Shared memory(far, sizeof(Queue));
  const Shared scratch(near, options.producers * (Producer::batch + 1) * sizeof(std::uint64_t));
  Queue& queue = *memory.as<Queue>();
  std::vector<std::unique_ptr<Side>> sides;
  for (unsigned i = 0; i < options.producers; ++i) {
    sides.push_back(std::make_unique<Side>(near));
    sides.push_back(std::make_unique<Side>(far));
    sides[2 * i]->connect(sides[2 * i + 1]->local(), options.ack_timeout);
    sides[2 * i + 1]->connect(sides[2 * i]->local(), options.ack_timeout);
  }

  AtomicsResult result;
  result.additions = options.count;
  if (options.count != 0) {
    result.counter = add_and_read_back(*sides[0], memory.descriptor(), scratch, options.count);
    if (result.counter != queue.counter)
      throw Failure(fmt::format("the memory has {}, and {} was read", queue.counter, result.counter));
  }

  Consumer consumer(queue);
  std::vector<Producer> producers;
  for (unsigned i = 0; i < options.producers; ++i)
    producers.emplace_back(*sides[2 * i], memory.descriptor(), scratch,
                           ProducerSetting{i, 0, items_of(options, i), options.tail_probe});
  const auto began = std::chrono::steady_clock::now();
  while (result.items != options.items) {
    bool busy = false;
    for (Producer& producer : producers) busy = producer.step() || busy;
    const std::uint64_t taken = consumer.step();
    result.items += taken;
    if (!busy && taken == 0) idle();
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  for (const Producer& producer : producers) result.retries += producer.retries();
  return result;
}

int run(const AtomicsOptions& options) {
  try {
    const AtomicsResult result = !options.serve.empty()  ? serve_queue(options)
                                 : !options.join.empty() ? join_queue(options)
                                                         : in_one_process(options);
    print(options, result);
    return 0;
  } catch (const std::runtime_error& failure) {
    fmt::print(stderr, "chime atomics: {}\n", failure.what());
    return 1;
  }
}

}  // namespace

void add_atomics(CLI::App& app, int& status) {
  auto options = std::make_shared<AtomicsOptions>();
  CLI::App* command =
      app.add_subcommand("atomics",
                         "Adds 1 many times and reads back; then a lock-free queue with many producers and a "
                         "checker. In one process "
                         "over two software HCAs and a cable; with --serve and --join between two.");
  command->add_option("--count", options->count, "fetch-and-adds of 1 (0: none)")->capture_default_str();
  command->add_option("--items", options->items, "items through the queue (0: none)")->capture_default_str();
  command->add_option("--producers", options->producers, "queue pairs that put items in")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  command->add_option("--faults", options->faults, "of both wires, as device arguments: loss=1%,reorder=1%");
  auto* serve =
      command->add_option("--serve", options->serve,
                          "HOST:PORT: own the queue and take items out; wait for the other process there");
  auto* join =
      command->add_option("--join", options->join, "HOST:PORT: put items into the queue served there");
  serve->excludes(join);
  command->add_option("--device", options->devices,
                      "EAL device, net_chime0 and its wire among them (with --serve and --join): "
                      "net_memif0,role=server,socket=/run/a.sock net_chime0,wire=net_memif0");
  command->add_option("--timeout", options->seconds, "seconds to wait for the other process")
      ->capture_default_str();
  command
      ->add_option(
          "--ack-timeout", options->ack_timeout,
          "lost packets are sent again after 4.096 us << this, and 8 times this is the end: short for "
          "bad wires, long where the other process may have to wait for its CPU")
      ->check(CLI::Range(1, 20))
      ->capture_default_str();
  command->add_flag("--tail-probe", options->tail_probe,
                    "the queue's producers post a WRITE of no bytes behind every burst: a loss is told of at "
                    "once instead of after the acknowledgement timeout");
  command->add_option("--eal", options->eal, "further EAL arguments");
  command->add_flag("--json", options->json, "prints JSON");
  command->callback([options, &status] { status = run(*options); });
}

}  // namespace chime::app
