// SPDX-License-Identifier: BSD-3-Clause
#include "atomics_peers.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <sstream>
#include <vector>

#include "atomics_add.h"
#include "atomics_queue.h"
#include "atomics_side.h"

namespace chime::app {
namespace {

/// The connection over which both agree. Lines end with a newline.
class Line {
 public:
  Line(int fd, unsigned seconds) : fd_(fd), timeout_ms_(seconds * 1000) {
    if (fd_ < 0) fail("the other process");
  }
  ~Line() { close(fd_); }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;
  int fd() const { return fd_; }
  unsigned timeout_ms() const { return timeout_ms_; }

  void say(std::string text) const {
    text += '\n';
    for (std::size_t sent = 0; sent < text.size();) {
      const ssize_t now = send(fd_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
      if (now <= 0) throw Failure("the other process hung up");
      sent += static_cast<std::size_t>(now);
    }
  }
  std::string hear() const {
    std::string text;
    for (char byte;;) {
      if (!readable(static_cast<int>(timeout_ms_))) throw Failure("the other process says nothing");
      if (recv(fd_, &byte, 1, 0) <= 0) throw Failure("the other process hung up");
      if (byte == '\n') return text;
      text += byte;
    }
  }
  /// Whether there is something to hear, be it the end.
  bool readable(int wait_ms) const {
    pollfd wanted{fd_, POLLIN, 0};
    return ::poll(&wanted, 1, wait_ms) > 0;
  }

 private:
  int fd_;
  unsigned timeout_ms_;
};

void connect(const Line& line, const Side& side, unsigned ack_timeout) {
  const rte_pmd_chime_endpoint mine = side.local();
  rte_pmd_chime_endpoint theirs;
  if (rte_pmd_chime_exchange_endpoint(line.fd(), &mine, &theirs, line.timeout_ms()) != 0) fail("exchange");
  side.connect(theirs, ack_timeout);
}

rte_pmd_chime_mem_desc exchange(const Line& line, const Shared& memory) {
  const rte_pmd_chime_mem_desc mine = memory.descriptor();
  rte_pmd_chime_mem_desc theirs;
  if (rte_pmd_chime_exchange_mem_desc(line.fd(), &mine, &theirs, line.timeout_ms()) != 0) fail("exchange");
  return theirs;
}

struct Wish {
  unsigned producers = 0;
  std::uint64_t items = 0;
};

Wish hear_wish(const Line& line) {
  std::istringstream words(line.hear());
  std::string head;
  Wish wish;
  if (!(words >> head >> wish.producers >> wish.items) || head != "queue" || wish.producers == 0 ||
      wish.producers > 64)
    throw Failure("the other process is no `chime atomics --join`");
  return wish;
}

/// One producer process. @return whether it came to its end
bool serve_one(const Line& line, const AtomicsOptions& options, std::uint16_t port, const Shared& memory,
               Consumer& consumer, AtomicsResult& result) {
  const Wish wish = hear_wish(line);
  std::string next = "next";
  for (unsigned i = 0; i < wish.producers; ++i) next += fmt::format(" {}", consumer.next(i));
  line.say(next);
  std::vector<std::unique_ptr<Side>> sides;
  for (unsigned i = 0; i < wish.producers; ++i) {
    sides.push_back(std::make_unique<Side>(port));
    connect(line, *sides.back(), options.ack_timeout);
  }
  Eal::wait_for_link(port, options.seconds);
  exchange(line, memory);
  const auto began = std::chrono::steady_clock::now();
  bool left = false, done = false;
  while (!left) {
    const std::uint64_t taken = consumer.step();
    result.items += taken;
    if (taken == 0) idle();
    if (!line.readable(0)) continue;
    try {
      done = line.hear() == "done";
    } catch (const Failure&) {
    }
    left = true;
  }
  // No producer's packets reach the memory any more once these are gone.
  sides.clear();
  result.items += consumer.step();
  result.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  consumer.repair();
  if (done && result.items != wish.items)
    throw Failure(fmt::format("{} items came, {} were sent", result.items, wish.items));
  if (done) line.say(fmt::format("verified {}", result.items));
  return done;
}

}  // namespace

AtomicsResult serve_queue(const AtomicsOptions& options) {
  const Eal eal(options.devices, options.eal);
  const std::uint16_t port = Eal::port("net_chime0");
  const Shared memory(port, sizeof(Queue));
  Consumer consumer(*memory.as<Queue>());
  // A queue pair keeps the wire going from here on: a memif turns clients away for good before its server
  // runs.
  const Side wire(port);
  AtomicsResult result;
  for (bool done = false; !done;) {
    const Line line(rte_pmd_chime_exchange_accept(options.serve.c_str(), options.seconds * 1000),
                    options.seconds);
    try {
      done = serve_one(line, options, port, memory, consumer, result);
      if (!done) fmt::print(stderr, "the producers went after {} items; waiting for others\n", result.items);
    } catch (const Failure& failure) {
      // What is wrong with the items is everybody's; what is wrong with a peer, its own.
      if (line.readable(0)) {
        fmt::print(stderr, "a peer went while it connected: {}\n", failure.what());
        continue;
      }
      throw;
    }
  }
  result.counter = memory.as<Queue>()->counter;
  return result;
}

AtomicsResult join_queue(const AtomicsOptions& options) {
  const Eal eal(options.devices, options.eal);
  const std::uint16_t port = Eal::port("net_chime0");
  const Shared scratch(port, options.producers * (Producer::batch + 1) * sizeof(std::uint64_t));
  const Line line(rte_pmd_chime_exchange_reach(options.join.c_str(), options.seconds * 1000),
                  options.seconds);
  line.say(fmt::format("queue {} {}", options.producers, options.items));
  std::istringstream words(line.hear());
  std::string head;
  words >> head;
  std::vector<std::uint64_t> next(options.producers);
  for (std::uint64_t& n : next)
    if (!(words >> n)) throw Failure("the other process is no `chime atomics --serve`");
  std::vector<std::unique_ptr<Side>> sides;
  for (unsigned i = 0; i < options.producers; ++i) {
    sides.push_back(std::make_unique<Side>(port));
    connect(line, *sides.back(), options.ack_timeout);
  }
  Eal::wait_for_link(port, options.seconds);
  const rte_pmd_chime_mem_desc queue = exchange(line, scratch);

  AtomicsResult result;
  result.additions = options.count;
  if (options.count != 0) result.counter = add_and_read_back(*sides[0], queue, scratch, options.count);
  std::vector<Producer> producers;
  for (unsigned i = 0; i < options.producers; ++i) {
    if (next[i] > items_of(options, i))
      throw Failure(
          fmt::format("producer {} put {} items in already, and has {}", i, next[i], items_of(options, i)));
    producers.emplace_back(*sides[i], queue, scratch,
                           ProducerSetting{i, next[i], items_of(options, i), options.tail_probe});
  }
  const auto began = std::chrono::steady_clock::now();
  std::uint64_t told = 0;
  for (bool all = false; !all;) {
    all = true;
    std::uint64_t items = 0;
    bool busy = false;
    for (Producer& producer : producers) {
      busy = producer.step() || busy;
      all = all && producer.done();
      items += producer.put();
    }
    if (!busy) idle();
    constexpr std::uint64_t parts = 8;
    if (options.json || options.items < parts || items < options.items / parts * (told + 1)) continue;
    told = items * parts / std::max<std::uint64_t>(options.items, 1);
    fmt::print("{} of {} items are in the queue\n", items, options.items);
    std::fflush(stdout);
  }
  line.say("done");
  const std::string verdict = line.hear();
  if (verdict != fmt::format("verified {}", options.items))
    throw Failure(fmt::format("the other process says: {}", verdict));
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  result.items = options.items;
  for (const Producer& producer : producers) result.retries += producer.retries();
  return result;
}

}  // namespace chime::app
