// SPDX-License-Identifier: BSD-3-Clause
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "../guest/owners.h"
#include "instruction_counter.h"

/// @file
/// Instructions to post and poll an 8-byte fetch-and-add by rdma-core: ibv_wr_*() on an RC queue pair of the
/// first RDMA device, which is connected to itself over a looped wire, and ibv_poll_cq(). What posting_cost
/// counts of Chime, counted in the same way, arguments at hand.

namespace chime::bench {
namespace {

using chime::test::Handle;

constexpr std::uint8_t port = 1;
constexpr std::uint32_t depth = 64, psn = 0x100;

[[noreturn]] void give_up(const char* what) {
  std::fprintf(stderr, "verbs_posting_cost: %s\n", what);
  std::exit(1);
}

Handle<ibv_context> open_first() {
  ibv_device** list = ibv_get_device_list(nullptr);
  Handle<ibv_context> context(list && *list ? ibv_open_device(*list) : nullptr);
  if (list) ibv_free_device_list(list);
  if (!context) give_up("no RDMA device; modprobe mlx5_ib ib_uverbs");
  return context;
}

class Loop {
 public:
  Loop() : context_(open_first()), pd_(ibv_alloc_pd(context_.get())) {
    mr_.reset(ibv_reg_mr(pd_.get(), words_.data(), sizeof words_,
                         IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC));
    cq_.reset(ibv_create_cq(context_.get(), depth, nullptr, nullptr, 0));
    ibv_qp_init_attr_ex init{};
    init.send_cq = init.recv_cq = cq_.get();
    init.cap = {
        .max_send_wr = depth, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};
    init.qp_type = IBV_QPT_RC;
    init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    init.pd = pd_.get();
    init.send_ops_flags = IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
    qp_.reset(mr_ && cq_ ? ibv_create_qp_ex(context_.get(), &init) : nullptr);
    if (!qp_) give_up("no queue pair with ibv_wr_atomic_fetch_add()");
    connect();
  }

  struct Cost {
    double post, poll;
  };
  Cost measure(std::uint32_t burst) {
    constexpr unsigned rounds = 8;
    // What an application has at hand.
    ibv_qp_ex* const qp = ibv_qp_to_qp_ex(qp_.get());
    ibv_cq* const cq = cq_.get();
    const std::uint32_t lkey = mr_->lkey, rkey = mr_->rkey;
    const auto target = reinterpret_cast<std::uintptr_t>(&words_[0]);
    const auto original = reinterpret_cast<std::uintptr_t>(&words_[1]);
    std::array<ibv_wc, depth> completions;
    std::uint64_t post = 0, poll = 0;
    for (unsigned round = 0; round <= rounds; ++round) {
      int posted = 0, got = 0;
      const std::uint64_t posting = InstructionCounter::of([&]() __attribute__((always_inline)) {
        ibv_wr_start(qp);
        for (std::uint32_t i = 0; i < burst; ++i) {
          qp->wr_id = i;
          qp->wr_flags = IBV_SEND_SIGNALED;
          ibv_wr_atomic_fetch_add(qp, rkey, target, 1);
          ibv_wr_set_sge(qp, lkey, original, sizeof words_[0]);
        }
        posted = ibv_wr_complete(qp);
      });
      if (posted != 0) give_up("ibv_wr_complete() failed");
      await(burst);
      const std::uint64_t polling = InstructionCounter::of([&]() __attribute__((always_inline)) {
        got = ibv_poll_cq(cq, static_cast<int>(burst), completions.data());
      });
      if (got != static_cast<int>(burst)) give_up("completions are missing");
      if (std::any_of(completions.begin(), completions.begin() + burst,
                      [](const ibv_wc& wc) { return wc.status != IBV_WC_SUCCESS; }))
        give_up("an error completion");
      if (round == 0) continue;  // the first finds cold paths
      post += posting;
      poll += polling;
    }
    const double n = double{rounds} * burst;
    return {static_cast<double>(post) / n, static_cast<double>(poll) / n};
  }

 private:
  void connect() {
    ibv_gid_entry gid{};
    int error = -1;
    for (std::uint32_t i = 0; i < 16 && (error != 0 || gid.gid_type != IBV_GID_TYPE_ROCE_V2); ++i)
      error = ibv_query_gid_ex(context_.get(), port, i, &gid, 0);
    if (error != 0) give_up("no RoCE v2 GID; ip link set NETDEV up");
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = port;
    attr.qp_access_flags = IBV_ACCESS_REMOTE_ATOMIC;
    change(attr, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    attr.qp_state = IBV_QPS_RTR;
    attr.path_mtu = IBV_MTU_1024;
    attr.dest_qp_num = qp_->qp_num;
    attr.rq_psn = attr.sq_psn = psn;
    attr.max_dest_rd_atomic = attr.max_rd_atomic = 16;
    attr.ah_attr.is_global = 1;
    attr.ah_attr.port_num = port;
    attr.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(gid.gid_index);
    attr.ah_attr.grh.hop_limit = 64;
    attr.ah_attr.grh.dgid = gid.gid;
    change(attr, IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
                     IBV_QP_MIN_RNR_TIMER);
    attr.qp_state = IBV_QPS_RTS;
    attr.timeout = 18;
    attr.retry_cnt = attr.rnr_retry = 7;
    change(attr,
           IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
  }
  void change(ibv_qp_attr& attr, int mask) {
    if (ibv_modify_qp(qp_.get(), &attr, IBV_QP_STATE | mask) != 0)
      give_up("the queue pair can't be connected");
  }

  /// Until the card has executed them; their CQEs come with the answer, which the word is no sign of.
  void await(std::uint32_t count) {
    expected_ += count;
    for (unsigned ms = 0; __atomic_load_n(&words_[0], __ATOMIC_ACQUIRE) != expected_; ++ms) {
      if (ms == 10'000) give_up("the additions were not executed");
      usleep(1000);
    }
    usleep(20'000);
  }

  alignas(64) std::array<std::uint64_t, 8> words_{};
  std::uint64_t expected_ = 0;
  Handle<ibv_context> context_;
  Handle<ibv_pd> pd_;
  Handle<ibv_mr> mr_;
  Handle<ibv_cq> cq_;
  Handle<ibv_qp> qp_;
};

/// Prints JSON, as posting_cost writes.
int run() {
  const InstructionCounter counter;
  if (!counter.ok()) give_up("instructions can't be counted here (a debugger has the trap flag)");
  const auto loop = std::make_unique<Loop>();
  std::printf("{\"cases\": [");
  const char* separator = "";
  for (const std::uint32_t burst : {1u, 4u, 32u}) {
    const Loop::Cost cost = loop->measure(burst);
    std::printf("%s\n  {\"burst\": %u, \"post\": %.1f, \"poll\": %.1f}", separator, burst, cost.post,
                cost.poll);
    separator = ",";
  }
  std::printf("\n]}\n");
  return 0;
}

}  // namespace
}  // namespace chime::bench

int main(int argc, char** argv) {
  if (argc == 1) return chime::bench::run();
  std::printf(
      "usage: verbs_posting_cost\n\nInstructions to post and poll an 8-byte fetch-and-add by rdma-core, as "
      "JSON.\n");
  return std::strcmp(argv[1], "--help") == 0 ? 0 : 2;
}
