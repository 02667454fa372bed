// SPDX-License-Identifier: BSD-3-Clause
#include <rte_eal.h>
#include <rte_log.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "../unit/hca/path.h"
#include "hca/command.h"
#include "hca/model/testing.h"
#include "hca/runtime.h"

/// @file
/// The worked example of doc/guide/debugging.rst: a send queue driven by hand, right or with one typical
/// mistake, and all that can be seen of it. test/examples/check_guide.py compares the guide with what this
/// prints.

namespace chime::test {
namespace {

/// An Ethernet SEND as it is posted: one basic block.
struct Wqe {
  prm::WqeCtrl ctrl;
  prm::WqeEth eth;
  prm::WqeData data;
};

/// A port that loops back, with one queue each way, stepped by hand.
struct Bench {
  Owned<hca::Runtime> runtime;
  Owned<hca::Device> device;
  Path path;

  void settle() {
    while (runtime->step() != 0) {
    }
  }
};

/// The request that a right driver posts.
Wqe good_request(Path& path) {
  Wqe wqe{};
  wqe.ctrl.opmod_idx_opcode = prm::wqe_opmod_idx_opcode(0, path.sent, prm::wqe_opcode::send);
  wqe.ctrl.qpn_ds = prm::wqe_qpn_ds(path.sq.number(), sizeof wqe / prm::wqe_unit);
  wqe.ctrl.fm_ce_se = static_cast<std::uint8_t>(prm::wqe_ce::always);
  wqe.data.byte_count = 98;
  wqe.data.lkey = path.packets.lkey();
  wqe.data.address = reinterpret_cast<std::uintptr_t>(path.packets.at(0));
  return wqe;
}

void put(Path& path, const Wqe& wqe) {
  std::memcpy(path.sq.ring() + path.sent % 64 * prm::wqebb_size, &wqe, sizeof wqe);
  ++path.sent;
}

/// Doorbell record, then doorbell.
void ring(Path& path, const Wqe& wqe, std::uint32_t record) {
  std::uint64_t value;
  std::memcpy(&value, &wqe, sizeof value);
  path.doorbell.ring(&path.sq.record()->send.raw, prm::host_to_be(record), value);
}

void post(Path& path, const Wqe& wqe) {
  put(path, wqe);
  ring(path, wqe, path.sent);
}

void show_completions(Path& path) {
  bool any = false;
  while (const prm::Cqe* cqe = path.poll_send()) {
    any = true;
    if (prm::cqe_opcode_of(cqe->op_own) == prm::cqe_opcode::requester) {
      std::printf("send CQE: request %u is done\n", unsigned{cqe->wqe_counter});
      continue;
    }
    prm::ErrorCqe error;
    std::memcpy(&error, cqe, sizeof error);
    std::printf("send CQE: request %u failed, syndrome %#x, vendor syndrome %#x\n",
                unsigned{error.wqe_counter}, unsigned{error.syndrome}, unsigned{error.vendor_err_synd});
  }
  if (!any) std::printf("send CQE: none\n");
  while (const prm::Cqe* cqe = path.poll_receive())
    std::printf("receive CQE: %u bytes\n", static_cast<unsigned>(cqe->byte_cnt));
}

void send_and_show(Bench& bench, const Wqe& wqe) {
  post(bench.path, wqe);
  bench.settle();
  show_completions(bench.path);
}

void none(Bench& bench) {
  send_and_show(bench, good_request(bench.path));
}

void key_in_host_order(Bench& bench) {
  Wqe wqe = good_request(bench.path);
  const std::uint32_t lkey = bench.path.packets.lkey();
  std::memcpy(&wqe.data.lkey, &lkey, sizeof lkey);
  send_and_show(bench, wqe);
}

void size_in_bytes(Bench& bench) {
  Wqe wqe = good_request(bench.path);
  wqe.ctrl.qpn_ds = prm::wqe_qpn_ds(bench.path.sq.number(), sizeof wqe);
  send_and_show(bench, wqe);
}

void index_not_counted(Bench& bench) {
  post(bench.path, good_request(bench.path));
  Wqe second = good_request(bench.path);
  second.ctrl.opmod_idx_opcode = prm::wqe_opmod_idx_opcode(0, 0, prm::wqe_opcode::send);
  send_and_show(bench, second);
}

void buffer_past_region(Bench& bench) {
  Wqe wqe = good_request(bench.path);
  wqe.data.address = reinterpret_cast<std::uintptr_t>(bench.path.packets.at(0)) - 64;
  send_and_show(bench, wqe);
}

void record_not_written(Bench& bench) {
  const Wqe wqe = good_request(bench.path);
  put(bench.path, wqe);
  ring(bench.path, wqe, 0);
  bench.settle();
  show_completions(bench.path);
}

void queue_not_ready(Bench& bench) {
  if (auto back = bench.path.sq.modify(hca::QueueState::ready, hca::QueueState::reset); !back)
    std::printf("error: %s\n", back.error().text);
  send_and_show(bench, good_request(bench.path));
}

void after_an_error(Bench& bench) {
  Wqe wrong = good_request(bench.path);
  wrong.data.lkey = 0;
  post(bench.path, wrong);
  send_and_show(bench, good_request(bench.path));
}

void no_receive_request(Bench& bench) {
  for (int i = 0; i < 5; ++i) post(bench.path, good_request(bench.path));
  bench.settle();
  show_completions(bench.path);
  if (auto dropped = hca::query_out_of_buffer(bench.path.q_counter))
    std::printf("out_of_buffer of the Q counter: %u\n", *dropped);
}

void completions_not_polled(Bench& bench) {
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 40; ++i) post(bench.path, good_request(bench.path));
    bench.settle();
  }
}

void ring_past_umem(Bench& bench) {
  hca::Command<prm::create_cq> create;
  create.in.at(prm::create_cq_in::cq_context)
      .set(prm::cqc::log_cq_size, 20)
      .set(prm::cqc::uar_page, bench.path.uar.page_id())
      .set(prm::cqc::c_eqn_or_apu_element, bench.device->query_eqn(0).value_or(0));
  auto memory = hca::QueueMemory::make(*bench.device, 4096, SOCKET_ID_ANY, "example");
  if (!memory) return;
  create.in.set(prm::create_cq_in::cq_umem_id, memory->umem_id());
  create.in.at(prm::create_cq_in::cq_context).set(prm::cqc::dbr_umem_id, memory->umem_id());
  if (auto made = create.create(*bench.device); !made) std::printf("error: %s\n", made.error().text);
}

void used_object_ended(Bench& bench) {
  bench.path.pd = {};
}

void show_objects(Bench& bench) {
  std::array<model::ObjectCount, 64> counts;
  const std::size_t kinds = hca::embedded::count_objects(*bench.device, counts);
  for (std::size_t i = 0; i < kinds; ++i)
    if (counts[i].live != 0) std::printf("%s: %u\n", counts[i].kind, unsigned{counts[i].live});
}

struct Mistake {
  std::string_view name;
  void (*make)(Bench&);
};
constexpr Mistake mistakes[] = {
    {"none", none},
    {"key-in-host-order", key_in_host_order},
    {"size-in-bytes", size_in_bytes},
    {"index-not-counted", index_not_counted},
    {"buffer-outside-region", buffer_past_region},
    {"record-not-written", record_not_written},
    {"queue-not-ready", queue_not_ready},
    {"after-an-error", after_an_error},
    {"no-receive-request", no_receive_request},
    {"completions-not-polled", completions_not_polled},
    {"ring-past-umem", ring_past_umem},
    {"used-object-ended", used_object_ended},
    {"objects", show_objects},
};

int run(const Mistake& mistake) {
  auto runtime = hca::Runtime::create();
  if (!runtime) return 1;
  auto device = (*runtime)->open({.name = "example", .model_thread = "caller"});
  if (!device) {
    std::printf("error: %s\n", device.error().text);
    return 1;
  }
  auto path = Path::make(**device);
  if (!path) {
    std::printf("error: %s\n", path.error().text);
    return 1;
  }
  Bench bench{std::move(*runtime), std::move(*device), std::move(*path)};
  if (mistake.make != no_receive_request) bench.path.post_receives(32);
  std::memset(bench.path.packets.at(0), 0xff, 6);
  mistake.make(bench);
  std::fflush(stdout);
  return 0;
}

int main_of(int argc, char** argv) {
  const std::string_view wanted = argc > 1 ? argv[1] : "";
  for (const Mistake& mistake : mistakes) {
    if (mistake.name != wanted) continue;
    std::vector<std::string> words = {argv[0],
                                      "--no-huge",
                                      "--no-pci",
                                      "--no-shconf",
                                      "-m",
                                      "64",
                                      "-l",
                                      "0",
                                      "--no-telemetry",
                                      "--log-level=lib.eal:error",
                                      "--log-level=pmd.net.chime.model:debug",
                                      "--file-prefix=example" + std::to_string(getpid())};
    words.insert(words.end(), argv + 2, argv + argc);
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    rte_openlog_stream(stdout);
    if (rte_eal_init(static_cast<int>(words.size()), arguments.data()) < 0) return 1;
    rte_openlog_stream(stdout);
    const int status = run(mistake);
    rte_eal_cleanup();
    return status;
  }
  std::printf("usage: mistakes NAME [EAL arguments]; names:");
  for (const Mistake& mistake : mistakes)
    std::printf(" %.*s", static_cast<int>(mistake.name.size()), mistake.name.data());
  std::printf("\n");
  return 2;
}

}  // namespace
}  // namespace chime::test

int main(int argc, char** argv) {
  return chime::test::main_of(argc, argv);
}
