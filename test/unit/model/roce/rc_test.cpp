// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <random>

#include "model/packet/bytes.h"
#include "model/roce/atomic.h"
#include "pair.h"

namespace chime {
namespace {

using model::AtomicKind;
using model::QpState;
using prm::wqe_opcode;
using test::Bytes;
using test::pointer;
using test::QueuePair;
using test::RoceRig;
using test::Wqe;

/// Two connected QPs of one card, its wire looped.
struct Rc : ::testing::Test {
  RoceRig rig;
  QueuePair a = rig.make_qp(), b = rig.make_qp();
  std::uint64_t target = rig.memory.allocate(65536, 4096);
  std::uint64_t local = rig.memory.allocate(65536, 4096);

  void SetUp() override { rig.connect(a, b); }

  Bytes random_bytes(std::size_t size) {
    Bytes bytes(size);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(engine());
    return bytes;
  }
  std::mt19937_64 engine{77};

  void go(QueuePair& qp) {
    qp.ring();
    rig.run();
  }
  /// The requester's good CQE of the last request.
  prm::Cqe done(QueuePair& qp, wqe_opcode opcode) {
    prm::Cqe cqe{};
    EXPECT_TRUE(qp.send_cq.poll(cqe));
    EXPECT_EQ(prm::cqe_opcode_of(cqe.op_own), prm::cqe_opcode::requester);
    EXPECT_EQ(cqe.sop_drop_qpn, static_cast<std::uint32_t>(opcode) << 24 | qp.qp->number);
    EXPECT_EQ(cqe.srqn, 0x55u);
    qp.send_cq.publish();
    return cqe;
  }
  prm::Cqe received(QueuePair& qp, prm::cqe_opcode opcode) {
    prm::Cqe cqe{};
    EXPECT_TRUE(qp.receive_cq.poll(cqe));
    EXPECT_EQ(prm::cqe_opcode_of(cqe.op_own), opcode);
    qp.receive_cq.publish();
    return cqe;
  }
  bool quiet() { return rig.diagnostics.texts.empty(); }
};

TEST_F(Rc, FetchAdd) {
  rig.memory.at<std::uint64_t>(target) = 1000;
  a.post(test::fetch_add(5, target, rig.rkey(), local, rig.lkey()));
  go(a);
  const prm::Cqe cqe = done(a, wqe_opcode::atomic_fa);
  EXPECT_EQ(cqe.byte_cnt, 8u);
  EXPECT_EQ(cqe.wqe_counter, 0);
  EXPECT_EQ(rig.u64(target), 1005u);
  EXPECT_EQ(rig.u64(local), 1000u);  // mode 1: the host's order
  EXPECT_TRUE(quiet()) << rig.diagnostics.texts[0];
}

TEST_F(Rc, OverIpv6WithTag) {
  QueuePair c = rig.make_qp(), d = rig.make_qp();
  rig.connect(c, d, 1);
  rig.wire.keep = true;
  c.post(test::fetch_add(5, target, rig.rkey(), local, rig.lkey()));
  go(c);
  done(c, wqe_opcode::atomic_fa);
  EXPECT_EQ(rig.u64(target), 5u);
  ASSERT_EQ(rig.wire.sent.size(), 2u);
  EXPECT_EQ(rig.wire.sent[0].size(), 14u + 4 + 40 + 8 + 12 + 28 + 4);
  EXPECT_TRUE(quiet());
}

TEST_F(Rc, CompareSwap) {
  rig.memory.at<std::uint64_t>(target) = 7;
  a.post(test::compare_swap(7, 9, target, rig.rkey(), local, rig.lkey()));
  a.post(test::compare_swap(7, 11, target, rig.rkey(), local + 8, rig.lkey()));
  go(a);
  done(a, wqe_opcode::atomic_cs);
  done(a, wqe_opcode::atomic_cs);
  EXPECT_EQ(rig.u64(target), 9u);
  EXPECT_EQ(rig.u64(local), 7u);
  EXPECT_EQ(rig.u64(local + 8), 9u);
}

TEST_F(Rc, RepliesAreBigEndianInMode0) {
  using A = prm::atomic_caps;
  const auto type = static_cast<unsigned>(prm::hca_cap_type::atomic);
  prm::View<A>(rig.card->capabilities.current(type)).set(A::atomic_req_8B_endianness_mode, 0);
  rig.memory.at<std::uint64_t>(target) = 0x1122334455667788;
  a.post(test::fetch_add(1, target, rig.rkey(), local, rig.lkey()));
  go(a);
  EXPECT_EQ(rig.u64(local), prm::swap_bytes(std::uint64_t{0x1122334455667788}));
  EXPECT_EQ(rig.u64(target), 0x1122334455667789u);
  rig.card->behaviour.atomic_memory_8_mode_0 = model::AtomicOrder::big;
  a.post(test::fetch_add(1, target, rig.rkey(), local, rig.lkey()));
  go(a);
  EXPECT_EQ(rig.u64(target), 0x1122334455667789u + (std::uint64_t{1} << 56));
}

/// Every size, both masked operations; memory and result against the pure functions, which have their own
/// test.
TEST_F(Rc, MaskedAtEverySizeInlineAndByPointer) {
  const std::uint64_t operands_at = rig.memory.allocate(1024, 64);
  for (unsigned size = 4; size <= 256; size *= 2) {
    for (const auto opcode : {wqe_opcode::atomic_masked_cs, wqe_opcode::atomic_masked_fa}) {
      for (const bool by_pointer : {false, true}) {
        const auto kind = opcode == wqe_opcode::atomic_masked_cs ? AtomicKind::masked_compare_swap
                                                                 : AtomicKind::masked_fetch_add;
        Bytes operands = random_bytes(model::operand_count(kind) * size);
        const Bytes old = random_bytes(size);
        if (kind == AtomicKind::masked_compare_swap) {
          std::fill(operands.end() - size, operands.end(), std::byte{0});  // compares nothing
        }
        const bool host_order = size <= 8;
        const auto in_memory = [&](Bytes number) {
          if (host_order) std::reverse(number.begin(), number.end());
          return number;
        };
        rig.memory.write(target, in_memory(old));
        if (by_pointer) {
          rig.memory.write(operands_at, operands);
          a.post(Wqe(opcode, Wqe::signalled, 0, 0xf)
                     .remote(target, rig.rkey())
                     .data(operands_at, static_cast<std::uint32_t>(operands.size()), rig.lkey())
                     .data(local, size, rig.lkey()));
        } else {
          if (operands.size() > 900) continue;  // longer than a request can be
          a.post(test::masked(opcode, size, operands, target, rig.rkey(), local, rig.lkey()));
        }
        go(a);
        EXPECT_EQ(done(a, opcode).byte_cnt, size);
        Bytes expected = old;
        model::execute_atomic(kind, size, expected.data(), operands.data());
        EXPECT_EQ(rig.memory.read(target, size), in_memory(expected)) << size;
        // 8 bytes in the host's order, all others big-endian.
        EXPECT_EQ(rig.memory.read(local, size), size == 8 ? in_memory(old) : old) << size;
      }
    }
  }
  EXPECT_TRUE(quiet()) << rig.diagnostics.texts[0];
}

TEST_F(Rc, RequestsWrapTheRingAtEveryOffset) {
  // 16-byte masked CS by 6 units, 64-byte by 20: 2 and 5 blocks of 64 in turn with single ones.
  unsigned posted = 0;
  for (unsigned i = 0; i < 200; ++i) {
    const unsigned size = i % 3 == 0 ? 64 : i % 3 == 1 ? 16 : 8;
    const Bytes old = random_bytes(size), swap = random_bytes(size);
    Bytes number = old;
    if (size == 8) std::reverse(number.begin(), number.end());
    rig.memory.write(target, number);
    Bytes operands = swap;
    operands.insert(operands.end(), old.begin(), old.end());
    operands.insert(operands.end(), 2 * size, std::byte{0xff});
    a.post(test::masked(wqe_opcode::atomic_masked_cs, size, operands, target, rig.rkey(), local, rig.lkey()));
    go(a);
    const prm::Cqe cqe = done(a, wqe_opcode::atomic_masked_cs);
    EXPECT_EQ(cqe.wqe_counter, a.last);
    Bytes now = rig.memory.read(target, size);
    if (size == 8) std::reverse(now.begin(), now.end());
    ASSERT_EQ(now, swap) << i;
    ++posted;
  }
  EXPECT_GT(a.producer, 64 * 5);
}

TEST_F(Rc, WriteOfEveryKindOfLength) {
  for (std::uint32_t length : {0u, 1u, 2u, 3u, 4u, 255u, 1023u, 1024u, 1025u, 2048u, 5000u, 60000u}) {
    const Bytes data = random_bytes(length);
    rig.memory.write(local, data);
    rig.memory.write(target, Bytes(length + 1, std::byte{0}));
    Wqe wqe(wqe_opcode::rdma_write);
    wqe.remote(target, rig.rkey());
    if (length != 0) wqe.data(local, length, rig.lkey());
    a.post(wqe);
    go(a);
    done(a, wqe_opcode::rdma_write);
    EXPECT_EQ(rig.memory.read(target, length), data) << length;
    EXPECT_EQ(rig.memory.read(target + length, 1)[0], std::byte{0});
  }
  EXPECT_TRUE(quiet()) << rig.diagnostics.texts[0];
}

TEST_F(Rc, ReadOfEveryKindOfLength) {
  for (std::uint32_t length : {0u, 1u, 2u, 3u, 4u, 255u, 1023u, 1024u, 1025u, 2048u, 5000u, 60000u}) {
    const Bytes data = random_bytes(length);
    rig.memory.write(target, data);
    rig.memory.write(local, Bytes(length + 1, std::byte{0}));
    Wqe wqe(wqe_opcode::rdma_read);
    wqe.remote(target, rig.rkey());
    // In two segments.
    if (length > 1) wqe.data(local, length / 2, rig.lkey());
    if (length != 0) wqe.data(local + length / 2, length - length / 2, rig.lkey());
    if (length == 1) wqe = Wqe(wqe_opcode::rdma_read).remote(target, rig.rkey()).data(local, 1, rig.lkey());
    a.post(wqe);
    go(a);
    EXPECT_EQ(done(a, wqe_opcode::rdma_read).byte_cnt, length);
    EXPECT_EQ(rig.memory.read(local, length), data) << length;
    EXPECT_EQ(rig.memory.read(local + length, 1)[0], std::byte{0});
  }
  EXPECT_TRUE(quiet()) << rig.diagnostics.texts[0];
}

TEST_F(Rc, SendsFillReceiveRequests) {
  for (std::uint32_t length : {0u, 1u, 100u, 1024u, 1500u, 4096u}) {
    const Bytes data = random_bytes(length);
    rig.memory.write(local, data);
    b.post_receive({pointer(rig, target, 1000), pointer(rig, target + 8192, 4000)});
    Wqe wqe(length % 2 ? wqe_opcode::send_imm : wqe_opcode::send, Wqe::signalled | Wqe::solicited,
            0xabcd1234);
    if (length != 0) wqe.data(local, length, rig.lkey());
    a.post(wqe);
    go(a);
    done(a, length % 2 ? wqe_opcode::send_imm : wqe_opcode::send);
    const prm::Cqe cqe =
        received(b, length % 2 ? prm::cqe_opcode::responder_send_imm : prm::cqe_opcode::responder_send);
    EXPECT_EQ(cqe.byte_cnt, length);
    EXPECT_EQ(cqe.sop_drop_qpn & 0xffffff, b.qp->number);
    EXPECT_EQ(cqe.flags_rqpn & 0xffffff, a.qp->number);
    EXPECT_EQ(cqe.imm_inval_pkey, length % 2 ? 0xabcd1234u : 0u);
    Bytes got = rig.memory.read(target, std::min(length, 1000u));
    if (length > 1000) {
      const Bytes rest = rig.memory.read(target + 8192, length - 1000);
      got.insert(got.end(), rest.begin(), rest.end());
    }
    EXPECT_EQ(got, data) << length;
  }
  EXPECT_TRUE(quiet()) << rig.diagnostics.texts[0];
}

TEST_F(Rc, WriteWithImmediateTakesAReceiveRequest) {
  const Bytes data = random_bytes(3000);
  rig.memory.write(local, data);
  b.post_receive({});
  a.post(Wqe(wqe_opcode::rdma_write_imm, Wqe::signalled, 0x01020304)
             .remote(target, rig.rkey())
             .data(local, 3000, rig.lkey()));
  go(a);
  done(a, wqe_opcode::rdma_write_imm);
  const prm::Cqe cqe = received(b, prm::cqe_opcode::responder_rdma_write_imm);
  EXPECT_EQ(cqe.byte_cnt, 3000u);
  EXPECT_EQ(cqe.imm_inval_pkey, 0x01020304u);
  EXPECT_EQ(cqe.wqe_counter, 0);
  EXPECT_EQ(rig.memory.read(target, 3000), data);
}

TEST_F(Rc, InlineData) {
  for (std::size_t length : {1u, 12u, 13u, 28u, 100u, 400u}) {
    const Bytes data = random_bytes(length);
    a.post(Wqe(wqe_opcode::rdma_write).remote(target, rig.rkey()).in_line(data));
    go(a);
    done(a, wqe_opcode::rdma_write);
    EXPECT_EQ(rig.memory.read(target, length), data);
  }
}

TEST_F(Rc, OnlySignalledRequestsHaveCqes) {
  for (unsigned i = 0; i < 9; ++i) {
    a.post(test::fetch_add(1, target, rig.rkey(), local, rig.lkey(), i % 3 == 2 ? Wqe::signalled : 0));
  }
  go(a);
  for (std::uint16_t i = 2; i < 9; i = static_cast<std::uint16_t>(i + 3)) {
    EXPECT_EQ(done(a, wqe_opcode::atomic_fa).wqe_counter, i);
  }
  prm::Cqe cqe;
  EXPECT_FALSE(a.send_cq.poll(cqe));
  EXPECT_EQ(rig.u64(target), 9u);
}

TEST_F(Rc, NoMoreThanSraMaxAreOutstanding) {
  model::QpAttributes next = a.qp->attributes;
  next.log_sra_max = 1;
  a.modify(QpState::rts, next);
  rig.wire.loop = false;
  rig.wire.keep = true;
  for (unsigned i = 0; i < 6; ++i) a.post(test::fetch_add(1, target, rig.rkey(), local, rig.lkey()));
  go(a);
  EXPECT_EQ(rig.wire.sent.size(), 2u);
  std::size_t most = 0;
  rig.exchange([&](std::vector<Bytes>& frames) { most = std::max(most, frames.size()); });
  EXPECT_EQ(most, 2u);
  EXPECT_EQ(rig.u64(target), 6u);
}

TEST_F(Rc, FenceWaitsForReadsAndAtomics) {
  rig.wire.loop = false;
  rig.wire.keep = true;
  a.post(test::fetch_add(1, target, rig.rkey(), local, rig.lkey()));
  // Sends on what the atomic brought: only with the fence is it there.
  a.post(Wqe(wqe_opcode::rdma_write, Wqe::signalled | Wqe::fence)
             .remote(target + 64, rig.rkey())
             .data(local, 8, rig.lkey()));
  rig.memory.at<std::uint64_t>(target) = 42;
  go(a);
  EXPECT_EQ(rig.wire.sent.size(), 1u);
  rig.exchange();
  EXPECT_EQ(rig.u64(target + 64), 42u);
  // Without reads outstanding it waits for nothing; strong ordering waits for everything.
  a.post(Wqe(wqe_opcode::rdma_write).remote(target + 64, rig.rkey()).data(local, 8, rig.lkey()));
  a.post(Wqe(wqe_opcode::rdma_write, Wqe::signalled | Wqe::fence)
             .remote(target + 64, rig.rkey())
             .data(local, 8, rig.lkey()));
  a.post(Wqe(wqe_opcode::rdma_write, Wqe::signalled | Wqe::strong)
             .remote(target + 64, rig.rkey())
             .data(local, 8, rig.lkey()));
  go(a);
  EXPECT_EQ(rig.wire.sent.size(), 2u);
  rig.exchange();
}

TEST_F(Rc, AcknowledgementsAreCoalesced) {
  rig.wire.keep = true;
  for (unsigned i = 0; i < 30; ++i) {
    a.post(Wqe(wqe_opcode::rdma_write).remote(target, rig.rkey()).data(local, 64, rig.lkey()));
  }
  go(a);
  const auto acks = std::count_if(rig.wire.sent.begin(), rig.wire.sent.end(),
                                  [](const Bytes& f) { return test::opcode_of(f) == 0x11; });
  EXPECT_EQ(acks, 1);
  for (unsigned i = 0; i < 30; ++i) done(a, wqe_opcode::rdma_write);
}

TEST_F(Rc, ResultsInTheCqe) {
  a.qp->scatter_to_request_cqe = 32;
  b.qp->scatter_to_receive_cqe = 32;
  rig.memory.at<std::uint64_t>(target) = 0x0102030405060708;
  rig.memory.at<std::uint64_t>(local) = 99;
  a.post(test::fetch_add(1, target, rig.rkey(), local, rig.lkey()));
  go(a);
  prm::Cqe cqe = done(a, wqe_opcode::atomic_fa);
  EXPECT_EQ(cqe.op_own & 0x0c, prm::cqe_inline_32);
  // Big-endian in every mode, and not in memory.
  EXPECT_EQ(net::load_be<std::uint64_t>(reinterpret_cast<const std::byte*>(&cqe)), 0x0102030405060708u);
  EXPECT_EQ(rig.u64(local), 99u);

  const Bytes data = random_bytes(32);
  rig.memory.write(target + 64, data);
  a.post(Wqe(wqe_opcode::rdma_read).remote(target + 64, rig.rkey()).data(local, 32, rig.lkey()));
  go(a);
  cqe = done(a, wqe_opcode::rdma_read);
  EXPECT_EQ(Bytes(reinterpret_cast<std::byte*>(&cqe), reinterpret_cast<std::byte*>(&cqe) + 32), data);

  b.post_receive({pointer(rig, target + 128, 64)});
  a.post(Wqe(wqe_opcode::send).in_line(data));
  go(a);
  done(a, wqe_opcode::send);
  cqe = received(b, prm::cqe_opcode::responder_send);
  EXPECT_EQ(cqe.byte_cnt, 32u);
  EXPECT_EQ(Bytes(reinterpret_cast<std::byte*>(&cqe), reinterpret_cast<std::byte*>(&cqe) + 32), data);

  // What does not fit goes to memory.
  a.post(Wqe(wqe_opcode::rdma_read).remote(target + 64, rig.rkey()).data(local, 33, rig.lkey()));
  go(a);
  EXPECT_EQ(done(a, wqe_opcode::rdma_read).op_own & 0x0c, 0);
  EXPECT_EQ(rig.memory.read(local, 32), data);
}

TEST_F(Rc, NopCompletesInOrder) {
  a.post(test::fetch_add(1, target, rig.rkey(), local, rig.lkey()));
  a.post(Wqe(wqe_opcode::nop));
  go(a);
  done(a, wqe_opcode::atomic_fa);
  done(a, wqe_opcode::nop);
  a.post(Wqe(wqe_opcode::nop));
  go(a);
  done(a, wqe_opcode::nop);
}

TEST_F(Rc, AQpMayTalkToItself) {
  QueuePair c = rig.make_qp();
  RoceRig::bring_up(c, rig.attributes(c));
  for (unsigned i = 0; i < 40; ++i) c.post(test::fetch_add(1, target, rig.rkey(), local, rig.lkey(), 0));
  c.ring();
  rig.run();
  EXPECT_EQ(rig.u64(target), 40u);
}

TEST_F(Rc, ManyQpsOnOneCounter) {
  std::vector<std::pair<QueuePair, QueuePair>> pairs;
  for (unsigned i = 0; i < 20; ++i) {
    pairs.emplace_back(rig.make_qp(), rig.make_qp());
    rig.connect(pairs.back().first, pairs.back().second);
  }
  for (auto& pair : pairs) {
    for (unsigned i = 0; i < 50; ++i) {
      pair.first.post(test::fetch_add(1, target, rig.rkey(), local, rig.lkey(), 0));
    }
    pair.first.ring();
  }
  rig.run();
  EXPECT_EQ(rig.u64(target), 1000u);
}

TEST_F(Rc, PacketsToOtherAddressesGoToSteering) {
  test::CompletionQueue cq = rig.make_cq(6);
  test::ReceiveQueue rq = rig.make_rq(4, 1, cq);
  rig.receive_all(*rig.make_tir(rq));
  rq.post({pointer(rig, target, 2048)});
  rq.write_record();
  rig.wire.keep = true;
  rig.wire.loop = false;
  a.post(test::fetch_add(1, target, rig.rkey(), local, rig.lkey()));
  go(a);
  ASSERT_EQ(rig.wire.sent.size(), 1u);
  Bytes frame = rig.wire.sent[0];
  frame[14 + 19] = std::byte{9};  // 10.0.0.9
  rig.wire.deliver(frame);
  prm::Cqe cqe;
  EXPECT_TRUE(cq.poll(cqe));
  EXPECT_EQ(rig.u64(target + 8192), 0u);
}

}  // namespace
}  // namespace chime
