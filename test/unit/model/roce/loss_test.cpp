// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

#include "pair.h"

/// What the wire loses, repeats or permutes: the requester sends again, nothing is executed twice.

namespace chime {
namespace {

using prm::wqe_opcode;
using test::Bytes;
using test::pointer;
using test::QueuePair;
using test::RoceRig;
using test::Wqe;

struct Loss : ::testing::Test {
  RoceRig rig;
  QueuePair a = rig.make_qp(), b = rig.make_qp();
  std::uint64_t target = rig.memory.allocate(65536, 4096);
  std::uint64_t local = rig.memory.allocate(65536, 4096);
  std::mt19937 engine{4711};

  void SetUp() override {
    rig.connect(a, b);
    rig.wire.loop = false;
    rig.wire.keep = true;
  }
  bool chance(unsigned percent) { return engine() % 100 < percent; }

  void post_add() { a.post(test::fetch_add(1, target, rig.rkey(), local, rig.lkey())); }

  /// Exchanges frames and lets timers end until `count` requests are completed without error.
  template <class Change>
  unsigned complete(unsigned count, Change&& change) {
    unsigned done = 0;
    for (unsigned i = 0; i < 20000 && done < count; ++i) {
      rig.exchange(change);
      prm::Cqe cqe;
      bool any = false;
      while (a.send_cq.poll(cqe)) {
        EXPECT_EQ(prm::cqe_opcode_of(cqe.op_own), prm::cqe_opcode::requester);
        ++done;
        any = true;
      }
      a.send_cq.publish();
      if (!any) rig.clock.now += 5'000'000;
    }
    return done;
  }
};

TEST_F(Loss, AThousandAddsOverABadWire) {
  model::QpAttributes next = a.qp->attributes;
  next.retry_count = 7;
  a.modify(model::QpState::rts, next);
  unsigned total = 0;
  const auto bad_wire = [&](std::vector<Bytes>& frames) {
    std::vector<Bytes> arriving;
    for (Bytes& frame : frames) {
      if (chance(4)) continue;
      if (chance(4)) arriving.push_back(frame);
      arriving.push_back(std::move(frame));
    }
    for (std::size_t i = 1; i < arriving.size(); ++i) {
      if (chance(5)) std::swap(arriving[i - 1], arriving[i]);
    }
    frames = std::move(arriving);
  };
  while (total < 1000) {
    for (unsigned i = 0; i < 20; ++i) post_add();
    a.ring();
    const unsigned done = complete(20, bad_wire);
    ASSERT_EQ(done, 20u);
    total += done;
  }
  EXPECT_EQ(rig.u64(target), 1000u);
}

TEST_F(Loss, MixedOperationsOverABadWire) {
  const auto bad_wire = [&](std::vector<Bytes>& frames) {
    std::vector<Bytes> arriving;
    for (Bytes& frame : frames) {
      if (chance(2)) continue;
      if (chance(2)) arriving.push_back(frame);
      arriving.push_back(std::move(frame));
    }
    frames = std::move(arriving);
  };
  unsigned adds = 0;
  for (unsigned round = 0; round < 100; ++round) {
    Bytes data(6000);
    for (std::byte& byte : data) byte = static_cast<std::byte>(engine());
    rig.memory.write(local + 8192, data);
    rig.memory.write(local + 20000, Bytes(6000));
    b.post_receive({pointer(rig, target + 16384, 6000)});
    a.post(
        Wqe(wqe_opcode::rdma_write).remote(target + 4096, rig.rkey()).data(local + 8192, 6000, rig.lkey()));
    post_add();
    a.post(Wqe(wqe_opcode::send).data(local + 8192, 6000, rig.lkey()));
    a.post(
        Wqe(wqe_opcode::rdma_read).remote(target + 4096, rig.rkey()).data(local + 20000, 6000, rig.lkey()));
    post_add();
    adds += 2;
    a.ring();
    ASSERT_EQ(complete(5, bad_wire), 5u) << round;
    ASSERT_EQ(rig.memory.read(target + 4096, 6000), data);
    ASSERT_EQ(rig.memory.read(target + 16384, 6000), data);
    ASSERT_EQ(rig.memory.read(local + 20000, 6000), data);
    prm::Cqe cqe;
    ASSERT_TRUE(b.receive_cq.poll(cqe));
    ASSERT_FALSE(b.receive_cq.poll(cqe));
    b.receive_cq.publish();
  }
  EXPECT_EQ(rig.u64(target), adds);
}

TEST_F(Loss, ARepeatedAtomicIsAnsweredFromMemoryOfIt) {
  post_add();
  a.ring();
  rig.run();
  ASSERT_EQ(rig.wire.sent.size(), 1u);
  const Bytes request = rig.wire.sent[0];
  rig.wire.sent.clear();
  for (unsigned i = 0; i < 5; ++i) {
    rig.wire.deliver(request);
    rig.run();
  }
  EXPECT_EQ(rig.u64(target), 1u);
  ASSERT_EQ(rig.wire.sent.size(), 5u);
  for (const Bytes& answer : rig.wire.sent) EXPECT_EQ(answer, rig.wire.sent[0]);
  // Only the first one counts.
  for (const Bytes& answer : std::vector<Bytes>(rig.wire.sent)) rig.wire.deliver(answer);
  rig.run();
  prm::Cqe cqe;
  EXPECT_TRUE(a.send_cq.poll(cqe));
  EXPECT_FALSE(a.send_cq.poll(cqe));
}

TEST_F(Loss, ARepeatedReadIsAnsweredAgain) {
  for (std::uint32_t length : {0u, 8u, 3000u}) {
    Wqe wqe(wqe_opcode::rdma_read);
    wqe.remote(target, rig.rkey());
    if (length != 0) wqe.data(local, length, rig.lkey());
    a.post(wqe);
    a.ring();
    rig.run();
    ASSERT_EQ(rig.wire.sent.size(), 1u);
    const Bytes request = rig.wire.sent[0];
    rig.wire.sent.clear();
    rig.wire.deliver(request);
    rig.run();
    const std::vector<Bytes> answer = std::move(rig.wire.sent);
    rig.wire.sent.clear();
    EXPECT_EQ(answer.size(), std::max(1u, (length + 1023) / 1024));
    rig.wire.deliver(request);
    rig.run();
    EXPECT_EQ(rig.wire.sent, answer);
    EXPECT_EQ(complete(1, [](std::vector<Bytes>&) {}), 1u);
  }
}

TEST_F(Loss, AGapIsReportedOnce) {
  for (unsigned i = 0; i < 6; ++i) {
    a.post(Wqe(wqe_opcode::rdma_write).remote(target, rig.rkey()).data(local, 8, rig.lkey()));
  }
  a.ring();
  rig.run();
  ASSERT_EQ(rig.wire.sent.size(), 6u);
  std::vector<Bytes> frames = std::move(rig.wire.sent);
  rig.wire.sent.clear();
  for (std::size_t i = 1; i < 6; ++i) rig.wire.deliver(frames[i]);
  rig.run();
  ASSERT_EQ(rig.wire.sent.size(), 1u);
  EXPECT_EQ(test::opcode_of(rig.wire.sent[0]), 0x11u);
  EXPECT_EQ(test::psn_of(rig.wire.sent[0]), 0xfffff0u);
  // All six go again, without waiting for a timer.
  EXPECT_EQ(complete(6, [](std::vector<Bytes>&) {}), 6u);
}

TEST_F(Loss, TimeoutSendsAgainAfterItsTime) {
  post_add();
  a.ring();
  rig.run();
  rig.wire.sent.clear();
  constexpr std::uint64_t timeout = 4096u << 10;
  rig.clock.now += timeout - 100'000;
  rig.run();
  EXPECT_TRUE(rig.wire.sent.empty());
  rig.clock.now += 200'000;
  rig.run();
  EXPECT_EQ(rig.wire.sent.size(), 1u);
}

TEST_F(Loss, NobodyAnswers) {
  model::QpAttributes next = a.qp->attributes;
  next.retry_count = 3;
  a.modify(model::QpState::rts, next);
  post_add();
  post_add();
  a.ring();
  unsigned sent = 0;
  for (unsigned i = 0; i < 10; ++i) {
    rig.run();
    sent += static_cast<unsigned>(rig.wire.sent.size());
    rig.wire.sent.clear();
    rig.clock.now += 5'000'000;
  }
  EXPECT_EQ(sent, 2u * 4);
  const prm::ErrorCqe error = a.send_cq.poll_error();
  EXPECT_EQ(error.syndrome, static_cast<std::uint8_t>(prm::cqe_syndrome::transport_retry_exceeded));
  EXPECT_EQ(error.vendor_err_synd, static_cast<std::uint8_t>(model::Fault::retries_exceeded));
  EXPECT_EQ(a.send_cq.poll_error().syndrome, static_cast<std::uint8_t>(prm::cqe_syndrome::flushed));
  EXPECT_EQ(a.qp->state, model::QpState::err);
  EXPECT_EQ(rig.diagnostics.count("remote.no-answer"), 1u);
}

/// A peer that disappears is reported when the first sending and retry_count more have each had their
/// 4.096 us << ack_timeout, not before and not later.
TEST_F(Loss, NobodyAnswersIsToldWithinTheConfiguredTime) {
  for (const std::uint8_t ack_timeout : std::array<std::uint8_t, 4>{1, 4, 10, 14}) {
    for (const std::uint8_t retry_count : std::array<std::uint8_t, 4>{0, 1, 3, 7}) {
      SCOPED_TRACE("ack_timeout " + std::to_string(ack_timeout) + ", retry_count " +
                   std::to_string(retry_count));
      QueuePair c = rig.make_qp(), d = rig.make_qp();
      rig.connect(c, d);
      model::QpAttributes next = c.qp->attributes;
      next.path.ack_timeout = ack_timeout;
      next.retry_count = retry_count;
      c.modify(model::QpState::rts, next);
      rig.wire.sent.clear();
      c.post(test::fetch_add(1, target, rig.rkey(), local, rig.lkey()));
      c.ring();
      rig.run();
      const std::uint64_t timeout = std::uint64_t{4096} << ack_timeout;
      const std::uint64_t began = rig.clock.now;
      const std::uint64_t step = timeout / 16;
      while (c.qp->state == model::QpState::rts && rig.clock.now - began <= 16 * timeout) {
        rig.clock.now += step;
        rig.run();
      }
      EXPECT_EQ(c.qp->state, model::QpState::err);
      EXPECT_GE(rig.clock.now - began, (retry_count + 1u) * timeout) << "nobody is given up early";
      // Each sending is seen at the step behind its time; timers have ticks.
      constexpr std::uint64_t tick = 16'384;
      EXPECT_LE(rig.clock.now - began, (retry_count + 1u) * (timeout + 2 * step + tick));
      EXPECT_EQ(rig.wire.sent.size(), retry_count + 1u);
      EXPECT_EQ(c.send_cq.poll_error().syndrome,
                static_cast<std::uint8_t>(prm::cqe_syndrome::transport_retry_exceeded));
    }
  }
}

TEST_F(Loss, WorksAgainAfterReset) {
  a.qp->attributes.retry_count = 0;
  a.modify(model::QpState::rts);
  post_add();
  a.ring();
  rig.run();
  rig.wire.sent.clear();
  rig.clock.now += 50'000'000;
  rig.run();
  EXPECT_EQ(a.qp->state, model::QpState::err);
  a.send_cq.poll_error();
  for (QueuePair* qp : {&a, &b}) qp->modify(model::QpState::reset);
  rig.connect(a, b);
  post_add();
  a.ring();
  EXPECT_EQ(complete(1, [](std::vector<Bytes>&) {}), 1u);
  EXPECT_EQ(rig.u64(target), 1u);
}

TEST_F(Loss, ReceiverNotReady) {
  model::QpAttributes next = b.qp->attributes;
  next.min_rnr_nak = 14;  // 1.28 ms
  b.modify(model::QpState::rts, next);
  a.post(Wqe(wqe_opcode::send).data(local, 100, rig.lkey()));
  post_add();
  a.ring();
  rig.exchange();
  EXPECT_EQ(rig.u64(target), 0u);
  EXPECT_EQ(rig.diagnostics.count("receive.missing"), 1u);
  rig.clock.now += 1'000'000;
  rig.exchange();
  EXPECT_EQ(rig.u64(target), 0u);
  b.post_receive({pointer(rig, target + 4096, 100)});
  rig.clock.now += 400'000;
  rig.exchange();
  EXPECT_EQ(rig.u64(target), 1u);
  prm::Cqe cqe;
  EXPECT_TRUE(a.send_cq.poll(cqe));
  EXPECT_TRUE(a.send_cq.poll(cqe));
  EXPECT_TRUE(b.receive_cq.poll(cqe));
}

TEST_F(Loss, ReceiverNeverReady) {
  model::QpAttributes next = a.qp->attributes;
  next.rnr_retry = 2;
  a.modify(model::QpState::rts, next);
  a.post(Wqe(wqe_opcode::send).data(local, 100, rig.lkey()));
  a.ring();
  for (unsigned i = 0; i < 5; ++i) {
    rig.exchange();
    rig.clock.now += 100'000;
  }
  const prm::ErrorCqe error = a.send_cq.poll_error();
  EXPECT_EQ(error.syndrome, static_cast<std::uint8_t>(prm::cqe_syndrome::rnr_retry_exceeded));
  EXPECT_EQ(a.qp->state, model::QpState::err);
  EXPECT_EQ(b.qp->state, model::QpState::rts);
}

TEST_F(Loss, ALostResponseInALongRead) {
  Bytes data(10000);
  for (std::byte& byte : data) byte = static_cast<std::byte>(engine());
  rig.memory.write(target, data);
  a.post(Wqe(wqe_opcode::rdma_read).remote(target, rig.rkey()).data(local, 10000, rig.lkey()));
  a.ring();
  bool lost = false;
  const unsigned done = complete(1, [&](std::vector<Bytes>& frames) {
    if (frames.size() > 5 && !lost) {
      frames.erase(frames.begin() + 4);
      lost = true;
    }
  });
  EXPECT_TRUE(lost);
  EXPECT_EQ(done, 1u);
  EXPECT_EQ(rig.memory.read(local, 10000), data);
}

}  // namespace
}  // namespace chime
