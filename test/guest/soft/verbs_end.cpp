// SPDX-License-Identifier: BSD-3-Clause
#include "verbs_end.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <string>

namespace chime::test {
namespace {

constexpr auto patience = std::chrono::seconds(60);
constexpr unsigned depth = 16, responder_depth = 4;
constexpr std::uint8_t port = 1;
constexpr std::uint8_t ack_timeout = 18;  ///< a second: one CPU serves both ends

Handle<ibv_context> open(const char* name) {
  Handle<ibv_context> context;
  ibv_device** list = ibv_get_device_list(nullptr);
  for (ibv_device** device = list; device && *device; ++device) {
    if (std::strcmp(ibv_get_device_name(*device), name) == 0) context.reset(ibv_open_device(*device));
  }
  if (list) ibv_free_device_list(list);
  return context;
}

}  // namespace

VerbsEnd::VerbsEnd(const char* device, unsigned gid_index, unsigned remote_access) : context_(open(device)) {
  if (!context_) throw std::runtime_error(std::string("no RDMA device ") + device);
  pd_.reset(ibv_alloc_pd(context_.get()));
  mr_.reset(ibv_reg_mr(pd_.get(), memory_.data(), sizeof memory_,
                       static_cast<int>(IBV_ACCESS_LOCAL_WRITE | remote_access)));
  cq_.reset(ibv_create_cq(context_.get(), 2 * depth, nullptr, nullptr, 0));
  if (!mr_ || !cq_ || ibv_query_gid(context_.get(), port, static_cast<int>(gid_index), &gid_) != 0) {
    throw std::runtime_error("memory, completion queue or GID");
  }
  ibv_qp_init_attr init{};
  init.send_cq = init.recv_cq = cq_.get();
  init.cap = {
      .max_send_wr = depth, .max_recv_wr = depth, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};
  init.qp_type = IBV_QPT_RC;
  init.sq_sig_all = 1;
  qp_.reset(ibv_create_qp(pd_.get(), &init));
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = port;
  attr.qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
  if (!qp_ || ibv_modify_qp(qp_.get(), &attr,
                            IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) != 0) {
    throw std::runtime_error("queue pair");
  }
}

rte_pmd_chime_endpoint VerbsEnd::endpoint(const std::array<std::uint8_t, 6>& mac) const {
  rte_pmd_chime_endpoint endpoint{};
  endpoint.qpn = qp_->qp_num;
  endpoint.psn = first_psn;
  std::copy_n(gid_.raw, sizeof gid_.raw, endpoint.gid);
  std::ranges::copy(mac, endpoint.mac);
  endpoint.mtu = 1024;
  endpoint.depth = responder_depth;
  rte_pmd_chime_endpoint_seal(&endpoint);
  return endpoint;
}

void VerbsEnd::connect(const rte_pmd_chime_endpoint& remote, unsigned gid_index) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTR;
  attr.path_mtu = IBV_MTU_1024;
  attr.dest_qp_num = remote.qpn;
  attr.rq_psn = remote.psn;
  attr.max_dest_rd_atomic = responder_depth;
  attr.min_rnr_timer = 12;
  attr.ah_attr.is_global = 1;
  attr.ah_attr.port_num = port;
  attr.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(gid_index);
  attr.ah_attr.grh.hop_limit = 64;
  std::copy_n(remote.gid, sizeof remote.gid, attr.ah_attr.grh.dgid.raw);
  ASSERT_EQ(ibv_modify_qp(qp_.get(), &attr,
                          IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                              IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
            0);
  attr.qp_state = IBV_QPS_RTS;
  attr.sq_psn = first_psn;
  attr.max_rd_atomic = responder_depth;
  attr.timeout = ack_timeout;
  attr.retry_cnt = attr.rnr_retry = 7;
  ASSERT_EQ(ibv_modify_qp(qp_.get(), &attr,
                          IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                              IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC),
            0);
}

ibv_wc_status VerbsEnd::execute(ibv_wr_opcode opcode, std::uint32_t length, std::uint64_t remote,
                                std::uint32_t rkey, std::uint64_t operand, std::uint64_t swap) {
  ibv_sge sge{reinterpret_cast<std::uintptr_t>(memory_.data()), length, mr_->lkey};
  ibv_send_wr request{}, *bad = nullptr;
  request.sg_list = &sge;
  request.num_sge = 1;
  request.opcode = opcode;
  if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
    request.wr.atomic = {.remote_addr = remote, .compare_add = operand, .swap = swap, .rkey = rkey};
  } else {
    request.wr.rdma = {.remote_addr = remote, .rkey = rkey};
  }
  EXPECT_EQ(ibv_post_send(qp_.get(), &request, &bad), 0);
  return wait().status;
}

void VerbsEnd::post_receive() {
  ibv_sge sge{reinterpret_cast<std::uintptr_t>(memory_.data()), sizeof memory_, mr_->lkey};
  ibv_recv_wr request{}, *bad = nullptr;
  request.sg_list = &sge;
  request.num_sge = 1;
  EXPECT_EQ(ibv_post_recv(qp_.get(), &request, &bad), 0);
}

ibv_wc VerbsEnd::wait() {
  ibv_wc wc{};
  const auto end = std::chrono::steady_clock::now() + patience;
  while (ibv_poll_cq(cq_.get(), 1, &wc) == 0) {
    if (std::chrono::steady_clock::now() > end) {
      ADD_FAILURE() << "no completion of rdma-core's";
      wc.status = IBV_WC_GENERAL_ERR;
      break;
    }
    sched_yield();
  }
  return wc;
}

}  // namespace chime::test
