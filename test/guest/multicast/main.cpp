// SPDX-License-Identifier: BSD-3-Clause
// Datagrams to multicast groups, through stock rdma-core: what two members of a group on one device get of
// what another device sends.
#include <arpa/inet.h>
#include <sched.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>

#include "../owners.h"

namespace chime::test {
namespace {

constexpr std::uint8_t port = 1;
constexpr std::uint32_t qkey = 0x11111111, multicast_qpn = 0xffffff, grh = 40, length = 64;
constexpr int depth = 16;
constexpr auto patience = std::chrono::seconds(20);

template <class T>
T must(T result, const char* what) {
  if (!result) throw std::runtime_error(std::string(what) + ": " + std::strerror(errno));
  return result;
}
void must_be_0(int error, const char* what) {
  if (error) throw std::runtime_error(std::string(what) + ": " + std::strerror(error));
}

ibv_context* open(const char* name) {
  ibv_context* context = nullptr;
  ibv_device** const list = ibv_get_device_list(nullptr);
  for (ibv_device** device = list; device && *device; ++device) {
    if (std::strcmp(ibv_get_device_name(*device), name) == 0) context = ibv_open_device(*device);
  }
  if (list) ibv_free_device_list(list);
  return must(context, name);
}

/// A UD queue pair with memory.
class Datagrams {
 public:
  explicit Datagrams(const char* device)
      : context_(open(device)),
        pd_(must(ibv_alloc_pd(context_.get()), "PD")),
        mr_(must(ibv_reg_mr(pd_.get(), memory_.data(), sizeof memory_, int{IBV_ACCESS_LOCAL_WRITE}), "MR")),
        cq_(must(ibv_create_cq(context_.get(), 2 * depth, nullptr, nullptr, 0), "CQ")) {
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = cq_.get();
    init.cap.max_send_wr = init.cap.max_recv_wr = depth;
    init.cap.max_send_sge = init.cap.max_recv_sge = 1;
    init.qp_type = IBV_QPT_UD;
    init.sq_sig_all = 1;
    qp_.reset(must(ibv_create_qp(pd_.get(), &init), "QP"));
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = port;
    attr.qkey = qkey;
    modify(attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
    attr.qp_state = IBV_QPS_RTR;
    modify(attr, IBV_QP_STATE);
    attr.qp_state = IBV_QPS_RTS;
    modify(attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
  }

  void join(ibv_gid group) { must_be_0(ibv_attach_mcast(qp_.get(), &group, 0), "ibv_attach_mcast"); }
  void leave(ibv_gid group) { must_be_0(ibv_detach_mcast(qp_.get(), &group, 0), "ibv_detach_mcast"); }

  void send(ibv_gid group, unsigned gid_index, std::uint8_t mark) {
    ibv_ah_attr attr{};
    attr.is_global = 1;
    attr.port_num = port;
    attr.grh.dgid = group;
    attr.grh.sgid_index = static_cast<std::uint8_t>(gid_index);
    attr.grh.hop_limit = 4;
    const Handle<ibv_ah> ah(must(ibv_create_ah(pd_.get(), &attr), "address handle"));
    memory_.fill(mark);
    ibv_sge piece = at(0, length);
    ibv_send_wr request{}, *bad;
    request.sg_list = &piece;
    request.num_sge = 1;
    request.opcode = IBV_WR_SEND;
    request.wr.ud.ah = ah.get();
    request.wr.ud.remote_qpn = multicast_qpn;
    request.wr.ud.remote_qkey = qkey;
    must_be_0(ibv_post_send(qp_.get(), &request, &bad), "ibv_post_send");
    wait();
  }

  void post_receive() {
    ibv_sge piece = at(0, grh + length);
    ibv_recv_wr request{}, *bad;
    request.sg_list = &piece;
    request.num_sge = 1;
    must_be_0(ibv_post_recv(qp_.get(), &request, &bad), "ibv_post_recv");
  }
  void expect(std::uint8_t mark) {
    const ibv_wc done = wait();
    if (done.byte_len != grh + length) throw std::runtime_error("length " + std::to_string(done.byte_len));
    for (std::uint32_t i = grh; i < grh + length; ++i) {
      if (memory_[i] != mark) throw std::runtime_error("byte " + std::to_string(i) + " is another's");
    }
  }
  bool idle() {
    ibv_wc done;
    return ibv_poll_cq(cq_.get(), 1, &done) == 0;
  }

 private:
  void modify(ibv_qp_attr& attr, int mask) {
    must_be_0(ibv_modify_qp(qp_.get(), &attr, mask), "ibv_modify_qp");
  }
  ibv_sge at(std::size_t i, std::uint32_t bytes) {
    return {reinterpret_cast<std::uintptr_t>(&memory_[i]), bytes, mr_->lkey};
  }
  ibv_wc wait() {
    const auto end = std::chrono::steady_clock::now() + patience;
    ibv_wc done;
    while (ibv_poll_cq(cq_.get(), 1, &done) == 0) {
      if (std::chrono::steady_clock::now() > end) throw std::runtime_error("nothing came");
      sched_yield();
    }
    if (done.status != IBV_WC_SUCCESS) throw std::runtime_error(ibv_wc_status_str(done.status));
    return done;
  }

  alignas(64) std::array<std::uint8_t, 4096> memory_{};
  Handle<ibv_context> context_;
  Handle<ibv_pd> pd_;
  Handle<ibv_mr> mr_;
  Handle<ibv_cq> cq_;
  Handle<ibv_qp> qp_;
};

void check(Datagrams& from, Datagrams& first, Datagrams& second, const char* text, unsigned gid_index) {
  ibv_gid group;
  if (inet_pton(AF_INET6, text, group.raw) != 1) throw std::runtime_error(text);
  first.join(group);
  second.join(group);
  for (Datagrams* member : {&first, &second}) member->post_receive();
  from.send(group, gid_index, 0xa1);
  for (Datagrams* member : {&first, &second}) member->expect(0xa1);

  first.leave(group);
  for (Datagrams* member : {&first, &second}) member->post_receive();
  from.send(group, gid_index, 0xb2);
  second.expect(0xb2);
  if (!first.idle()) throw std::runtime_error("one that left the group got its datagram");
  second.leave(group);
}

}  // namespace
}  // namespace chime::test

int main(int count, char** arguments) {
  using namespace chime::test;
  if (count != 3) {
    std::fprintf(stderr, "usage: %s SENDER RECEIVER   (RDMA devices)\n", arguments[0]);
    return 2;
  }
  try {
    Datagrams from(arguments[1]), first(arguments[2]), second(arguments[2]);
    check(from, first, second, "ff0e::1234", 0);
    // The request that was not used is still there: what is posted next is used after it.
    check(from, second, first, "::ffff:239.1.2.3", 1);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
