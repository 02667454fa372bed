// SPDX-License-Identifier: BSD-3-Clause
#include "cards.h"

#include <rte_malloc.h>

#include <chrono>
#include <cstring>

namespace chime::rdma::test {

Objects objects(hca::Device& device) {
  std::array<model::ObjectCount, 64> counts;
  const std::size_t kinds = hca::embedded::count_objects(device, counts);
  Objects live;
  for (std::size_t i = 0; i < kinds; ++i)
    if (counts[i].live != 0) live[counts[i].kind] = counts[i].live;
  return live;
}

QpControl::Config usual_qp() {
  return {.send_depth = 64,
          .receive_depth = 16,
          .most_inline = 256,
          .signal_all = false,
          .initiator_depth = 16,
          .responder_depth = 16,
          .rights = remote_read | remote_write | remote_atomic,
          .atomic_writes = false,
          .wide = true,
          .gid_index = 0,
          .socket = SOCKET_ID_ANY};
}

QpControl::Path usual_path() {
  return {.mtu = 0,
          .udp_source_port = 0,
          .traffic_class = 0,
          .hop_limit = 0,
          .ack_timeout = 14,
          .retry_count = 7,
          .rnr_retry = 7,
          .min_rnr_timer = 1};
}

void Cards::make_end(End& end, const char* name, const char* wire) {
  static std::uint32_t seed = 0;
  auto device = runtime->open({.name = name, .wire = wire, .model_thread = "caller", .mac_seed = ++seed});
  ASSERT_TRUE(device) << why(device);
  end.device = std::move(*device);
  auto pd = hca::alloc_pd(*end.device);
  ASSERT_TRUE(pd) << why(pd);
  end.pd = std::move(*pd);
  auto session = Session::create(*end.device, end.pd);
  ASSERT_TRUE(session) << why(session);
  end.session = std::move(*session);
  objects_before[end.device.get()] = objects(*end.device);
  end.bytes = static_cast<std::byte*>(rte_zmalloc("test", End::size, 4096));
  ASSERT_NE(end.bytes, nullptr);
}

void Cards::make_objects(End& end, const QpControl::Config& config) {
  auto worker = end.session->make_worker(
      {.completions = 256, .thread_safe = false, .checked = false, .socket = SOCKET_ID_ANY});
  ASSERT_TRUE(worker) << why(worker);
  end.worker = *worker;
  auto qp = end.session->make_qp(*end.worker, config);
  ASSERT_TRUE(qp) << why(qp);
  end.qp = *qp;
  auto memory = end.session->make_memory(end.bytes, End::size, all_rights);
  ASSERT_TRUE(memory) << why(memory);
  end.memory = *memory;
}

void Cards::SetUp() {
  auto made = hca::Runtime::create();
  ASSERT_TRUE(made) << why(made);
  runtime = std::move(*made);
  make_end(a, "a", "cable:test");
  make_end(b, "b", "cable:test");
  if (HasFatalFailure()) return;
  make_objects(a, usual_qp());
  make_objects(b, usual_qp());
}

void Cards::end(End& end) {
  if (end.qp) Session::free(end.qp);
  if (end.memory) Session::free(end.memory);
  if (end.worker) {
    EXPECT_TRUE(Session::free(end.worker));
  }
  if (end.device && end.session) {
    EXPECT_EQ(end.session->handles(), 0u);
    EXPECT_EQ(objects(*end.device), objects_before[end.device.get()]);
    EXPECT_EQ(hca::embedded::refused_destroys(*end.device), 0u);
  }
  end.session.reset();
  end.pd = {};
  end.device.reset();
  rte_free(end.bytes);
}

void Cards::TearDown() {
  end(a);
  end(b);
}

void Cards::connect(const QpControl::Path& path) {
  Result<> done = a.qp->object->connect(b.qp->object->local(), path);
  ASSERT_TRUE(done) << why(done);
  done = b.qp->object->connect(a.qp->object->local(), path);
  ASSERT_TRUE(done) << why(done);
}

void Cards::settle() {
  for (int i = 0; i < 1000 && runtime->step() != 0; ++i) {
  }
}

std::vector<Completion> Cards::wait(const End& from, std::size_t count) {
  std::vector<Completion> all;
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (all.size() < count && std::chrono::steady_clock::now() < patience) {
    runtime->step();
    Completion some[8];
    const std::uint16_t got = poll(from.worker->object->fast(), some, 8);
    all.insert(all.end(), some, some + got);
  }
  EXPECT_EQ(all.size(), count);
  return all;
}

std::vector<Completion> Cards::run(const Operation& operation) {
  if (post(a.fast(), &operation, 1) != 1) {
    ADD_FAILURE() << text_of(a.fast().refusal);
    return {};
  }
  return wait(a, 1);
}

Operation Cards::operation(Opcode opcode, std::uint32_t length, std::size_t local, std::size_t remote) {
  Operation operation{};
  operation.cookie = 42;
  operation.opcode = opcode;
  operation.flags = signaled;
  operation.length = length;
  operation.local = a.address(local);
  operation.lkey = a.key();
  operation.rkey = b.key();
  operation.remote = b.address(remote);
  return operation;
}

}  // namespace chime::rdma::test
