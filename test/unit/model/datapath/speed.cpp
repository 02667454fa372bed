// SPDX-License-Identifier: BSD-3-Clause
//
// What the model's thread spends on a packet that is looped from a send queue to a receive queue: TSC cycles
// between doorbell and the end of the step, median over bursts; the software's own work is left out.
//
//     model-speed [number of the case, -1 for all [bursts]]

#include <x86intrin.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "rig.h"

namespace chime::test {
namespace {

constexpr unsigned log_ring = 10, ring_size = 1u << log_ring, burst = 32;

struct Options {
  const char* name;
  std::size_t length = 64;
  std::size_t inline_header = 0;
  unsigned cs_flags = 0;
  unsigned queues = 1;   ///< receive queues spread over by RSS
  unsigned idle = 0;     ///< queue pairs that exist besides
  unsigned entries = 0;  ///< flow entries by UDP port in front of the one that matches all
};

double ghz() {
  const auto t0 = std::chrono::steady_clock::now();
  const std::uint64_t c0 = __rdtsc();
  while (std::chrono::steady_clock::now() - t0 < std::chrono::milliseconds(50)) {
  }
  const std::uint64_t c1 = __rdtsc();
  const std::chrono::duration<double, std::nano> ns = std::chrono::steady_clock::now() - t0;
  return static_cast<double>(c1 - c0) / ns.count();
}

struct Setup {
  explicit Setup(const Options& o) : options(o) {
    rig.wire.loop = true;
    rig.wire.keep = false;
    std::vector<ReceiveQueue*> table;
    rx.reserve(o.queues);
    rx_cq.reserve(o.queues);
    for (unsigned i = 0; i < o.queues; ++i) {
      rx_cq.push_back(rig.make_cq(log_ring));
      rx.push_back(rig.make_rq(log_ring, 1, rx_cq[i]));
      for (unsigned n = 0; n < ring_size; ++n) rx[i].post({pointer(rig, rig.memory.allocate(2048), 2048)});
    }
    for (ReceiveQueue& queue : rx) {
      queue.write_record();
      table.push_back(&queue);
    }
    for (unsigned i = 0; i < o.idle; ++i) {
      CompletionQueue cq = rig.make_cq(4);
      rig.make_sq(4, cq);
      rig.make_rq(4, 1, cq);
    }
    model::Tir* tir = o.queues == 1 ? rig.make_tir(rx[0]) : rig.make_rss(table, 0xf);
    tir->outer.udp = true;
    model::FlowTable* root = rig.make_table();
    if (o.entries != 0) {
      model::FlowGroup* group =
          rig.make_group(*root, 0, 65535, {{7, prm::host_to_be(std::uint32_t{0xffff})}, {15, 0xffffffff}});
      for (unsigned i = 0; i < o.entries; ++i) {
        const std::uint32_t address = prm::host_to_be(std::uint32_t{0x0a000002});
        auto* entry = rig.make_entry(*group, i, {prm::host_to_be(std::uint32_t{2000 + i}), address}, 0);
        rig.add_destination(*entry, nullptr, tir);
      }
    }
    rig.add_destination(*rig.make_entry(*rig.make_group(*root, 70000, 70000), 70000, {}, 0), nullptr, tir);
    rig.card->root[0] = model::Ref(root);

    tx_cq = rig.make_cq(log_ring);
    sq = rig.make_sq(log_ring, tx_cq);
    for (unsigned i = 0; i < ring_size; ++i) {
      Bytes frame = udp4_frame(o.length, i);
      if (o.entries != 0) {
        const unsigned port = 2000 + i * 37 % o.entries;
        frame[36] = static_cast<std::byte>(port >> 8);
        frame[37] = static_cast<std::byte>(port & 0xff);
      }
      const auto cut = static_cast<std::ptrdiff_t>(o.inline_header);
      sq.post({pointer(rig, Bytes(frame.begin() + cut, frame.end()))},
              {.inline_header = Bytes(frame.begin(), frame.begin() + cut), .cs_flags = o.cs_flags});
    }
    sq.producer = 0;
  }

  /// @return cycles of the card
  std::uint64_t once() {
    for (unsigned i = 0; i < burst; ++i) {
      auto& ctrl = rig.memory.at<prm::WqeCtrl>(sq.ring + (sq.producer & (ring_size - 1)) * 64ul);
      ctrl.opmod_idx_opcode = prm::wqe_opmod_idx_opcode(0, sq.producer, prm::wqe_opcode::send);
      ctrl.fm_ce_se = static_cast<std::uint8_t>(i == burst - 1 ? prm::wqe_ce::always : prm::wqe_ce::on_error);
      sq.last = sq.producer++;
    }
    sq.write_record();
    const std::uint64_t doorbell = sq.doorbell();
    const std::uint64_t start = __rdtsc();
    rig.hca->doorbell(rig.uar->number, prm::uar_blueflame, doorbell);
    rig.hca->step();
    const std::uint64_t cycles = __rdtsc() - start;
    prm::Cqe cqe;
    while (tx_cq.poll(cqe)) {
    }
    tx_cq.publish();
    for (std::size_t i = 0; i < rx.size(); ++i) {
      while (rx_cq[i].poll(cqe)) {
        ++rx[i].producer;
        ++received;
      }
      rx[i].write_record();
      rx_cq[i].publish();
    }
    return cycles;
  }

  Options options;
  Rig rig;
  std::vector<CompletionQueue> rx_cq;
  std::vector<ReceiveQueue> rx;
  CompletionQueue tx_cq;
  SendQueue sq;
  std::uint64_t received = 0;
};

void measure(const Options& options, double rate, unsigned bursts) {
  Setup setup(options);
  std::vector<std::uint64_t> cycles(bursts);
  for (unsigned i = 0; i < bursts / 4; ++i) setup.once();
  for (std::uint64_t& c : cycles) c = setup.once();
  std::sort(cycles.begin(), cycles.end());
  const double median = static_cast<double>(cycles[bursts / 2]) / burst;
  const double best = static_cast<double>(cycles[bursts / 20]) / burst;
  const bool all = setup.received == std::uint64_t{burst} * (bursts + bursts / 4);
  std::printf("%-44s %7.1f cycles/packet (fastest twentieth %7.1f) %7.2f Mpps%s\n", options.name, median,
              best, rate * 1e3 / median, all ? "" : "  (packets were lost)");
}

}  // namespace
}  // namespace chime::test

int main(int argc, char** argv) {
  using chime::test::Options;
  const double rate = chime::test::ghz();
  std::printf("TSC %.2f GHz\n", rate);
  const Options all[] = {
      {.name = "64 B, pointer"},
      {.name = "64 B, 18 B inline header", .inline_header = 18},
      {.name = "64 B, L3 and L4 checksum", .cs_flags = 0xc0},
      {.name = "64 B, RSS over 4 queues", .queues = 4},
      {.name = "64 B, 63 idle queue pairs", .idle = 63},
      {.name = "64 B, 10 flow entries", .entries = 10},
      {.name = "64 B, 10,000 flow entries", .entries = 10000},
      {.name = "1500 B, pointer", .length = 1500},
      {.name = "1500 B, L3 and L4 checksum", .length = 1500, .cs_flags = 0xc0},
  };
  const unsigned bursts = argc < 3 ? 4000 : static_cast<unsigned>(std::atoi(argv[2]));
  int i = 0;
  for (const Options& options : all) {
    if (argc < 2 || std::atoi(argv[1]) < 0 || std::atoi(argv[1]) == i)
      chime::test::measure(options, rate, bursts);
    ++i;
  }
  return 0;
}
