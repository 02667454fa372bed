// SPDX-License-Identifier: BSD-3-Clause
#include "receiver.h"

#include <rte_malloc.h>

#include <array>
#include <atomic>
#include <cstring>
#include <utility>

#include "hca/model/testing.h"

namespace chime::test {

namespace {

constexpr std::uint8_t log_size = 4;
constexpr unsigned ring_size = 1u << log_size;
constexpr std::size_t buffer = 2048;

template <class T>
void take(T& where, Result<T> made) {
  ASSERT_TRUE(made) << why(made);
  where = std::move(*made);
}

const prm::Cqe* poll(hca::CompletionQueue& cq, std::uint32_t& consumer) {
  prm::Cqe& cqe = cq.ring()[consumer % ring_size];
  const std::uint8_t op_own = std::atomic_ref(cqe.op_own).load(std::memory_order_acquire);
  if (prm::cqe_opcode_of(op_own) == prm::cqe_opcode::invalid) return nullptr;
  if ((op_own & prm::cqe_owner) != (consumer >> log_size & 1)) return nullptr;
  ++consumer;
  std::atomic_ref(cq.record()->consumer.raw).store(prm::host_to_be(consumer & 0xffffff));
  return &cqe;
}

}  // namespace

struct Receiver::Queue {
  hca::CompletionQueue cq;
  hca::ReceiveQueue rq;
  std::uint32_t consumer = 0;
  std::uint16_t posted = 0;
};

struct Receiver::State {
  ~State() {
    region.mkey = {};
    region.umem = {};
    rte_free(memory);
  }

  std::byte* memory = nullptr;
  hca::Object pd, tis, q_counter;
  hca::Uar uar;
  hca::MemoryRegion region;
  hca::CompletionQueue send_cq;
  hca::SendQueue sq;
  hca::Doorbell doorbell;
  std::uint16_t sent = 0;
  std::uint32_t send_consumer = 0;
  std::array<Queue, queues> receive;

  void post(Queue& queue) {
    auto& wqe = reinterpret_cast<prm::WqeData*>(queue.rq.ring())[queue.posted % ring_size];
    wqe.byte_count = static_cast<std::uint32_t>(buffer);
    wqe.lkey = region.lkey;
    wqe.address = reinterpret_cast<std::uintptr_t>(memory + buffer);
    ++queue.posted;
    std::atomic_ref(queue.rq.record()->receive.raw)
        .store(prm::host_to_be(std::uint32_t{queue.posted}), std::memory_order_release);
  }
};

Receiver::Receiver() = default;
Receiver::~Receiver() = default;

void Receiver::SetUp() {
  take(runtime, hca::Runtime::create());
  if (HasFatalFailure()) return;
  take(device, runtime->open({.name = "test0", .model_thread = "caller"}));
  if (HasFatalFailure()) return;
  take(failing, make_owned<FailingDevice>("test", *device));
  take(state_, make_owned<State>("test"));
  State& s = *state_;
  std::uint32_t eqn = 0;
  take(eqn, device->query_eqn(0));
  take(s.pd, hca::alloc_pd(*device));
  take(transport_domain, hca::alloc_transport_domain(*device));
  take(s.tis, hca::create_tis(*device, transport_domain.number()));
  take(s.q_counter, hca::alloc_q_counter(*device));
  take(s.uar, device->alloc_uar());
  s.memory = static_cast<std::byte*>(rte_zmalloc("test", 2 * buffer, 4096));
  take(s.region, device->register_memory(s.pd, s.memory, 2 * buffer, {.local_write = true}));
  const hca::CompletionQueue::Config cq{
      .log_size = log_size, .uar_page = s.uar.page_id(), .eqn = eqn, .socket = SOCKET_ID_ANY};
  take(s.send_cq, hca::CompletionQueue::create(*device, cq));
  take(s.sq, hca::SendQueue::create(*device, {.log_size = log_size,
                                              .cqn = s.send_cq.number(),
                                              .uar_page = s.uar.page_id(),
                                              .pd = s.pd.number(),
                                              .tisn = s.tis.number(),
                                              .min_inline_mode = 0,
                                              .allow_multi_packet = false,
                                              .socket = SOCKET_ID_ANY}));
  ASSERT_TRUE(s.sq.modify(hca::QueueState::reset, hca::QueueState::ready));
  s.doorbell = s.uar.send;
  for (Queue& queue : s.receive) {
    take(queue.cq, hca::CompletionQueue::create(*device, cq));
    take(queue.rq, hca::ReceiveQueue::create(
                       *device, {.log_size = log_size,
                                 .log_stride = 4,
                                 .cqn = queue.cq.number(),
                                 .pd = s.pd.number(),
                                 .vlan_strip = false,
                                 .scatter_fcs = false,
                                 .counter_set_id = static_cast<std::uint8_t>(s.q_counter.number()),
                                 .socket = SOCKET_ID_ANY}));
    ASSERT_TRUE(queue.rq.modify(hca::QueueState::reset, hca::QueueState::ready));
    rqns.push_back(queue.rq.number());
    for (unsigned i = 0; i < ring_size / 2; ++i) s.post(queue);
  }
  objects_at_start = objects();
}

void Receiver::TearDown() {
  if (!device) return;
  EXPECT_EQ(objects(), objects_at_start);
  EXPECT_EQ(hca::embedded::refused_destroys(*device), 0u);
  state_.reset();
  transport_domain = {};
}

std::vector<Arrival> Receiver::send(const Frame& frame) {
  struct Wqe {
    prm::WqeCtrl ctrl;
    prm::WqeEth eth;
    prm::WqeData data;
  };
  State& s = *state_;
  std::memcpy(s.memory, frame.data(), frame.size());
  Wqe wqe{};
  wqe.ctrl.opmod_idx_opcode = prm::wqe_opmod_idx_opcode(0, s.sent, prm::wqe_opcode::send);
  wqe.ctrl.qpn_ds = prm::wqe_qpn_ds(s.sq.number(), sizeof wqe / prm::wqe_unit);
  wqe.ctrl.fm_ce_se = static_cast<std::uint8_t>(prm::wqe_ce::always);
  wqe.data.byte_count = static_cast<std::uint32_t>(frame.size());
  wqe.data.lkey = s.region.lkey;
  wqe.data.address = reinterpret_cast<std::uintptr_t>(s.memory);
  std::memcpy(s.sq.ring() + s.sent % ring_size * prm::wqebb_size, &wqe, sizeof wqe);
  ++s.sent;
  std::uint64_t value;
  std::memcpy(&value, &wqe, sizeof value);
  s.doorbell.ring(&s.sq.record()->send.raw, prm::host_to_be(std::uint32_t{s.sent}), value);
  for (int i = 0; i < 1000 && runtime->step() != 0; ++i) {
  }
  EXPECT_NE(poll(s.send_cq, s.send_consumer), nullptr);

  std::vector<Arrival> arrivals;
  for (unsigned q = 0; q < queues; ++q) {
    while (const prm::Cqe* cqe = poll(s.receive[q].cq, s.receive[q].consumer)) {
      EXPECT_EQ(prm::cqe_opcode_of(cqe->op_own), prm::cqe_opcode::responder_send);
      EXPECT_EQ(cqe->byte_cnt, frame.size());
      arrivals.push_back({q, cqe->sop_drop_qpn & 0xffffff, cqe->rss_hash_result, cqe->rss_hash_type});
      s.post(s.receive[q]);
    }
  }
  return arrivals;
}

int Receiver::queue_of(const Frame& frame) {
  const std::vector<Arrival> arrivals = send(frame);
  if (arrivals.empty()) return nowhere;
  return arrivals.size() == 1 ? static_cast<int>(arrivals[0].queue) : several;
}

Objects Receiver::objects() const {
  std::array<model::ObjectCount, 64> counts;
  const std::size_t kinds = hca::embedded::count_objects(*device, counts);
  Objects live;
  for (std::size_t i = 0; i < kinds; ++i)
    if (counts[i].live != 0) live[counts[i].kind] = counts[i].live;
  return live;
}

}  // namespace chime::test
