// SPDX-License-Identifier: BSD-3-Clause
#include <rte_errno.h>

#include <cstring>

#include "cards.h"
#include "rdma/diagnosis.h"

/// @file
/// Connections end to end: bytes, errors and their diagnosis, resets, ends.

namespace chime::rdma::test {
namespace {

class Connection : public Cards {
 protected:
  /// One operation that must fail so.
  void fails(const Operation& operation, prm::cqe_syndrome syndrome, Finding finding) {
    const auto done = run(operation);
    ASSERT_EQ(done.size(), 1u);
    EXPECT_EQ(done[0].status, static_cast<unsigned>(syndrome));
    EXPECT_EQ(done[0].cookie, 42u);
    auto status = a.qp->object->query();
    ASSERT_TRUE(status) << why(status);
    EXPECT_EQ(status->card.state, hca::QueuePair::State::err);
    const Diagnosis diagnosis = diagnose(*status, a.session->keys());
    EXPECT_EQ(diagnosis.finding, finding) << diagnosis.text;
    EXPECT_GT(std::strlen(diagnosis.text), 40u);
    // What comes behind is flushed.
    ASSERT_EQ(post(a.fast(), &operation, 1), 1);
    EXPECT_EQ(wait(a, 1)[0].status, static_cast<unsigned>(prm::cqe_syndrome::flushed));
    works_after_a_reset();
  }
  void works_after_a_reset() {
    ASSERT_TRUE(a.qp->object->reset());
    ASSERT_TRUE(b.qp->object->reset());
    connect();
    Operation add = operation(Opcode::fetch_add, 8, 0, 1024);
    add.local = 0;
    add.operand[0].value = 5;
    const std::uint64_t before = b.at<std::uint64_t>(1024);
    const auto done = run(add);
    ASSERT_EQ(done.size(), 1u);
    EXPECT_EQ(done[0].status, 0) << "after the reset";
    EXPECT_EQ(done[0].original, before);
    EXPECT_EQ(b.at<std::uint64_t>(1024), before + 5);
  }
  void fill(const End& end, std::size_t offset, std::size_t length) {
    for (std::size_t i = 0; i < length; ++i)
      end.at<std::uint8_t>(offset + i) = static_cast<std::uint8_t>(i * 7);
  }
};

TEST_F(Connection, WritesAndReadsMoveBytes) {
  connect();
  for (std::uint32_t length : {0u, 1u, 7u, 64u, 1000u, 1024u, 1025u, 4096u}) {
    fill(a, 0, length);
    std::memset(b.bytes, 0, End::size);
    ASSERT_EQ(run(operation(Opcode::write, length, 0, 5)).front().status, 0);
    EXPECT_EQ(std::memcmp(a.bytes, b.bytes + 5, length), 0) << length;
    EXPECT_EQ(b.at<std::uint8_t>(4), 0);
    EXPECT_EQ(b.at<std::uint8_t>(5 + length), 0);
    ASSERT_EQ(run(operation(Opcode::read, length, 8192, 5)).front().status, 0);
    EXPECT_EQ(std::memcmp(a.bytes + 8192, b.bytes + 5, length), 0) << length;
  }
}

TEST_F(Connection, InlineBytesAreTakenAtOnce) {
  connect();
  char text[] = "no key needed";
  Operation write = operation(Opcode::write, sizeof text, 0, 100);
  write.flags |= in_line;
  write.local = reinterpret_cast<std::uintptr_t>(text);
  write.lkey = 0;
  ASSERT_EQ(post(a.fast(), &write, 1), 1);
  std::memset(text, 0, sizeof text);
  ASSERT_EQ(wait(a, 1)[0].status, 0);
  EXPECT_STREQ(&b.at<char>(100), "no key needed");
}

TEST_F(Connection, SendsAndImmediatesAreReceived) {
  const Receive receives[] = {{.cookie = 1, .local = b.address(0), .length = 64, .lkey = b.key()},
                              {.cookie = 2, .local = b.address(64), .length = 64, .lkey = b.key()},
                              {.cookie = 3, .local = 0, .length = 0, .lkey = 0}};
  ASSERT_EQ(post_receives(b.fast(), receives, 3), 3) << "also before it is connected";
  connect();
  fill(a, 0, 40);
  Operation send = operation(Opcode::send, 30), imm = operation(Opcode::send_imm, 40),
            write = operation(Opcode::write_imm, 40, 0, 4096);
  imm.imm = 0x01020304;
  write.imm = 0xfffefdfc;
  const Operation all[] = {send, imm, write};
  ASSERT_EQ(post(a.fast(), all, 3), 3);
  EXPECT_EQ(wait(a, 3).back().status, 0);
  const auto got = wait(b, 3);
  ASSERT_EQ(got.size(), 3u);
  EXPECT_EQ(got[0].kind, receive_send);
  EXPECT_EQ(got[0].length, 30u);
  EXPECT_EQ(got[0].cookie, 1u);
  EXPECT_EQ(got[1].kind, receive_send_imm);
  EXPECT_EQ(got[1].imm, 0x01020304u);
  EXPECT_EQ(got[2].kind, receive_write_imm);
  EXPECT_EQ(got[2].imm, 0xfffefdfcu);
  EXPECT_EQ(got[2].length, 40u);
  EXPECT_EQ(std::memcmp(a.bytes, b.bytes + 64, 40), 0);
  EXPECT_EQ(std::memcmp(a.bytes, b.bytes + 4096, 40), 0);
}

TEST_F(Connection, AStaleRemoteKey) {
  connect();
  const Operation add = operation(Opcode::fetch_add, 8);
  Session::free(b.memory);
  const auto done = run(add);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].status, static_cast<unsigned>(prm::cqe_syndrome::remote_access));
  auto memory = b.session->make_memory(b.bytes, End::size, all_rights);
  ASSERT_TRUE(memory);
  b.memory = *memory;
  works_after_a_reset();
}

TEST_F(Connection, AStaleLocalKey) {
  connect();
  Operation add = operation(Opcode::fetch_add, 8);
  Session::free(a.memory);
  auto memory = a.session->make_memory(a.bytes, End::size, all_rights);
  ASSERT_TRUE(memory);
  a.memory = *memory;
  if (a.key() == add.lkey) GTEST_SKIP() << "the card gave the same key again";
  fails(add, prm::cqe_syndrome::local_protection, Finding::stale_key);
}

TEST_F(Connection, ByteSwappedKeysAndAddresses) {
  connect();
  Operation add = operation(Opcode::fetch_add, 8);
  add.lkey = __builtin_bswap32(add.lkey);
  fails(add, prm::cqe_syndrome::local_protection, Finding::byte_order);
  add = operation(Opcode::fetch_add, 8, 0, 0x108);  // reversed, no user address
  add.remote = __builtin_bswap64(add.remote) & ~std::uint64_t{7};
  fails(add, prm::cqe_syndrome::remote_access, Finding::byte_order);
}

TEST_F(Connection, OutsideOfTheTarget) {
  connect();
  fails(operation(Opcode::fetch_add, 8, 0, End::size), prm::cqe_syndrome::remote_access, Finding::other);
  fails(operation(Opcode::write, 16, 0, End::size - 8), prm::cqe_syndrome::remote_access, Finding::other);
}

TEST_F(Connection, NoRoomForTheResult) {
  connect();
  auto read_only = a.session->make_memory(a.bytes + 4096, 4096, remote_read);
  ASSERT_TRUE(read_only) << why(read_only);
  Operation add = operation(Opcode::fetch_add, 8, 4096);
  add.lkey = (*read_only)->object->part(0).region.lkey;
  fails(add, prm::cqe_syndrome::local_protection, Finding::no_room_for_result);
  Session::free(*read_only);
}

TEST_F(Connection, MemoryWithoutTheRight) {
  connect();
  auto plain = b.session->make_memory(b.bytes + 4096, 4096, local_write | remote_read | remote_write);
  ASSERT_TRUE(plain);
  Operation add = operation(Opcode::fetch_add, 8, 0, 4096);
  add.rkey = (*plain)->object->part(0).region.rkey;
  const auto done = run(add);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].status, static_cast<unsigned>(prm::cqe_syndrome::remote_access));
  Session::free(*plain);
  works_after_a_reset();
}

TEST_F(Connection, AQueuePairWithoutTheRight) {
  Session::free(b.qp);
  QpControl::Config config = usual_qp();
  config.rights = remote_read;
  auto qp = b.session->make_qp(*b.worker, config);
  ASSERT_TRUE(qp);
  b.qp = *qp;
  connect();
  const auto done = run(operation(Opcode::fetch_add, 8));
  ASSERT_EQ(done.size(), 1u);
  EXPECT_NE(done[0].status, 0);
  EXPECT_EQ(b.at<std::uint64_t>(0), 0u);
}

TEST_F(Connection, APeerThatDisappears) {
  QpControl::Path path = usual_path();
  path.ack_timeout = 4;  // 65 us
  path.retry_count = 2;
  connect(path);
  ASSERT_TRUE(b.qp->object->reset());
  const auto done = run(operation(Opcode::fetch_add, 8));
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].status, static_cast<unsigned>(prm::cqe_syndrome::transport_retry_exceeded));
  works_after_a_reset();
}

TEST_F(Connection, AReceiverThatIsNotReady) {
  QpControl::Path path = usual_path();
  path.rnr_retry = 1;
  connect(path);
  const auto done = run(operation(Opcode::send, 8));
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].status, static_cast<unsigned>(prm::cqe_syndrome::rnr_retry_exceeded));
  works_after_a_reset();
}

TEST_F(Connection, ConnectingTwiceWronglyOrNotAtAll) {
  const Operation add = operation(Opcode::fetch_add, 8);
  EXPECT_EQ(post(a.fast(), &add, 1), 0);
  EXPECT_EQ(rte_errno, ENOTCONN);
  Endpoint nonsense = b.qp->object->local();
  nonsense.mtu = 100;
  EXPECT_EQ(a.qp->object->connect(nonsense, usual_path()).error().errnum, EBADMSG);
  seal(nonsense);
  EXPECT_EQ(a.qp->object->connect(nonsense, usual_path()).error().errnum, EINVAL);
  QpControl::Path path = usual_path();
  path.mtu = 4096;
  EXPECT_EQ(a.qp->object->connect(b.qp->object->local(), path).error().errnum, EINVAL)
      << "more than the port's";
  path = usual_path();
  path.retry_count = 8;
  EXPECT_EQ(a.qp->object->connect(b.qp->object->local(), path).error().errnum, EINVAL);
  connect();
  EXPECT_EQ(a.qp->object->connect(b.qp->object->local(), usual_path()).error().errnum, EISCONN);
  works_after_a_reset();
}

TEST_F(Connection, EverythingOutstandingIsFlushedOnDemand) {
  connect();
  ASSERT_TRUE(a.qp->object->fail_all());
  const Operation add = operation(Opcode::fetch_add, 8);
  ASSERT_EQ(post(a.fast(), &add, 1), 1);
  EXPECT_EQ(wait(a, 1)[0].status, static_cast<unsigned>(prm::cqe_syndrome::flushed));
  works_after_a_reset();
}

TEST_F(Connection, ImpossibleConfigurationsAreRefused) {
  const auto wrong = [&](auto change) {
    QpControl::Config config = usual_qp();
    change(config);
    auto qp = a.session->make_qp(*a.worker, config);
    if (qp) Session::free(*qp);
    return !qp;
  };
  EXPECT_TRUE(wrong([](auto& c) { c.send_depth = 8; }));
  EXPECT_TRUE(wrong([](auto& c) { c.send_depth = 100; }));
  EXPECT_TRUE(wrong([](auto& c) { c.send_depth = 65536; }));
  EXPECT_TRUE(wrong([](auto& c) { c.receive_depth = 2; }));
  EXPECT_TRUE(wrong([](auto& c) { c.most_inline = 5000; }));
  EXPECT_TRUE(wrong([](auto& c) { c.initiator_depth = 0; }));
  EXPECT_TRUE(wrong([](auto& c) { c.responder_depth = 3; }));
  EXPECT_TRUE(wrong([](auto& c) { c.rights = 0x10; }));
  EXPECT_TRUE(wrong([](auto& c) { c.gid_index = 77; })) << "an empty place";
  EXPECT_TRUE(wrong([](auto& c) { c.send_depth = 1024; })) << "the worker has no room";
  EXPECT_FALSE(wrong([](auto&) {}));
  EXPECT_FALSE(
      a.session->make_worker({.completions = 100, .thread_safe = false, .checked = false, .socket = -1}));
  EXPECT_FALSE(a.session->make_memory(nullptr, 8, 0));
  EXPECT_FALSE(a.session->make_memory(a.bytes, 0, 0));
  EXPECT_FALSE(a.session->make_memory(a.bytes, 8, 0x10));
  EXPECT_FALSE(a.session->make_memory(a.bytes, 8, remote_atomic)) << "without local write";
}

TEST_F(Connection, AWorkerWithQueuePairsStays) {
  EXPECT_EQ(Session::free(a.worker).error().errnum, EBUSY);
}

TEST_F(Connection, HandlesOutliveTheirSession) {
  connect();
  a.session.reset();
  const Operation add = operation(Opcode::fetch_add, 8);
  EXPECT_EQ(post(a.fast(), &add, 1), 0);
  EXPECT_EQ(rte_errno, ENODEV);
  const Receive receive{};
  EXPECT_EQ(post_receives(a.fast(), &receive, 1), 0);
  EXPECT_EQ(rte_errno, ENODEV);
  Completion completion;
  EXPECT_EQ(poll(a.worker->object->fast(), &completion, 1), 0);
  EXPECT_FALSE(a.memory->object->attached());
  EXPECT_EQ(objects(*a.device), objects_before[a.device.get()]);
}

TEST_F(Connection, EveryCommandOfSetUpMayFail) {
  const auto before = objects(*a.device);
  unsigned n = 1;
  for (;; ++n) {
    hca::embedded::fail_command(*a.device, n);
    auto worker =
        a.session->make_worker({.completions = 256, .thread_safe = false, .checked = false, .socket = -1});
    Result<HeldQp*> qp = worker ? a.session->make_qp(**worker, usual_qp()) : fail(worker.error());
    Result<> done = qp ? (*qp)->object->connect(b.qp->object->local(), usual_path()) : fail(qp.error());
    hca::embedded::fail_command(*a.device, 0);
    if (qp) Session::free(*qp);
    if (worker) {
      EXPECT_TRUE(Session::free(*worker));
    }
    ASSERT_EQ(objects(*a.device), before) << "after command " << n;
    if (done) break;
    ASSERT_LT(n, 100u);
  }
  EXPECT_GT(n, 8u);
}

}  // namespace
}  // namespace chime::rdma::test
