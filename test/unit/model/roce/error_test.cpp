// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "pair.h"

/// Each mistake has its syndrome at the requester, its vendor syndrome, and its sentence.

namespace chime {
namespace {

using model::Fault;
using model::QpState;
using prm::cqe_syndrome;
using prm::wqe_opcode;
using test::Bytes;
using test::pointer;
using test::QueuePair;
using test::RoceRig;
using test::Wqe;

struct Errors : ::testing::Test {
  RoceRig rig;
  QueuePair a = rig.make_qp(), b = rig.make_qp();
  std::uint64_t target = rig.memory.allocate(65536, 4096);
  std::uint64_t local = rig.memory.allocate(65536, 4096);

  void SetUp() override { rig.connect(a, b); }

  std::uint32_t key_of(std::uint8_t rights, std::uint64_t length = 4096) {
    const model::Mkey* key = rig.make_key(target, length, rights);
    return key->number << 8 | key->key_byte;
  }

  /// Posts it and one behind it: an error, and one that is flushed; the QP is in error.
  void expect(const Wqe& wqe, cqe_syndrome syndrome, Fault fault, const char* rule) {
    a.post(wqe);
    a.post(test::fetch_add(1, target, rig.rkey(), local, rig.lkey()));
    a.ring();
    rig.run();
    const prm::ErrorCqe error = a.send_cq.poll_error();
    EXPECT_EQ(prm::cqe_opcode_of(error.op_own), prm::cqe_opcode::requester_error);
    EXPECT_EQ(error.syndrome, static_cast<std::uint8_t>(syndrome));
    EXPECT_EQ(error.vendor_err_synd, static_cast<std::uint8_t>(fault));
    EXPECT_EQ(error.wqe_counter, 0);
    EXPECT_EQ(error.s_wqe_opcode_qpn & 0xffffff, a.qp->number);
    EXPECT_EQ(rig.diagnostics.count(rule), 1u) << rule;
    const prm::ErrorCqe flushed = a.send_cq.poll_error();
    EXPECT_EQ(flushed.syndrome, static_cast<std::uint8_t>(cqe_syndrome::flushed));
    EXPECT_EQ(a.qp->state, QpState::err);
    prm::Cqe cqe;
    EXPECT_FALSE(a.send_cq.poll(cqe));
  }
  bool said(const char* words) {
    for (const std::string& text : rig.diagnostics.texts) {
      if (text.find(words) != std::string::npos) return true;
    }
    return false;
  }
  Wqe add(std::uint64_t address, std::uint32_t rkey) {
    return test::fetch_add(1, address, rkey, local, rig.lkey());
  }
};

TEST_F(Errors, MisalignedAtomic) {
  expect(add(target + 4, rig.rkey()), cqe_syndrome::remote_invalid_request, Fault::remote_misaligned,
         "target.misaligned");
  EXPECT_EQ(b.qp->state, QpState::err);
  EXPECT_EQ(rig.u64(target), 0u);
}

TEST_F(Errors, KeyWithoutAtomicRight) {
  expect(add(target, key_of(model::local_write | model::remote_read | model::remote_write)),
         cqe_syndrome::remote_access, Fault::remote_access, "target.key");
  EXPECT_TRUE(said("no a"));
}

TEST_F(Errors, QueuePairWithoutAtomics) {
  model::QpAttributes next = b.qp->attributes;
  next.remote_atomic = false;
  b.modify(QpState::rts, next);
  expect(add(target, rig.rkey()), cqe_syndrome::remote_access, Fault::remote_access, "target.right");
}

TEST_F(Errors, StaleKey) {
  expect(add(target, rig.rkey() ^ 1), cqe_syndrome::remote_access, Fault::remote_access, "target.key");
  EXPECT_TRUE(said("stale"));
}

TEST_F(Errors, KeyInTheWrongByteOrder) {
  expect(add(target, prm::swap_bytes(rig.rkey())), cqe_syndrome::remote_access, Fault::remote_access,
         "target.key");
  EXPECT_TRUE(said("byte order"));
}

TEST_F(Errors, AddressOutsideOfTheKey) {
  expect(add(target + 4096, key_of(model::remote_atomic)), cqe_syndrome::remote_access, Fault::remote_access,
         "target.key");
}

TEST_F(Errors, AtomicModeWithoutMasked) {
  model::QpAttributes next = b.qp->attributes;
  next.atomic_mode = prm::atomic_mode::ib_spec;
  b.modify(QpState::rts, next);
  expect(test::masked(wqe_opcode::atomic_masked_fa, 8, Bytes(16), target, rig.rkey(), local, rig.lkey()),
         cqe_syndrome::remote_invalid_request, Fault::remote_invalid_request, "target.atomic");
}

TEST_F(Errors, SizeThatTheCardDoesNotOffer) {
  using A = prm::atomic_caps;
  prm::View<A>(rig.card->capabilities.current(static_cast<unsigned>(prm::hca_cap_type::atomic)))
      .set(A::atomic_size_qp, 0x8);
  expect(test::masked(wqe_opcode::atomic_masked_fa, 16, Bytes(32), target, rig.rkey(), local, rig.lkey()),
         cqe_syndrome::local_qp_operation, Fault::atomic_size, "atomic.size");
}

TEST_F(Errors, NoRoomForTheResult) {
  Wqe wqe(wqe_opcode::atomic_fa);
  wqe.remote(target, rig.rkey()).operands(Bytes(16)).data(local, 4, rig.lkey());
  expect(wqe, cqe_syndrome::local_length, Fault::atomic_result_room, "atomic.result-room");
}

TEST_F(Errors, ResultKeyWithoutLocalWrite) {
  const std::uint32_t key = key_of(model::local_read);
  expect(test::fetch_add(1, target, rig.rkey(), target + 64, key), cqe_syndrome::local_protection,
         Fault::key_rights, "key.rights");
}

TEST_F(Errors, OperandsBeyondTheRequest) {
  Wqe wqe(wqe_opcode::atomic_masked_fa, Wqe::signalled, 0, 0xb);  // 32 bytes, two operands
  wqe.remote(target, rig.rkey()).data(local, 32, rig.lkey());
  expect(wqe, cqe_syndrome::local_qp_operation, Fault::atomic_operands, "atomic.operands");
}

TEST_F(Errors, UnknownOperation) {
  expect(Wqe(static_cast<wqe_opcode>(0x0c)), cqe_syndrome::local_qp_operation, Fault::wqe_opcode,
         "wqe.opcode");
}

TEST_F(Errors, WriteWithoutRight) {
  expect(Wqe(wqe_opcode::rdma_write)
             .remote(target, key_of(model::remote_read | model::remote_atomic))
             .data(local, 8, rig.lkey()),
         cqe_syndrome::remote_access, Fault::remote_access, "target.key");
  EXPECT_TRUE(said("no rw"));
}

TEST_F(Errors, ReadWithoutRight) {
  model::QpAttributes next = b.qp->attributes;
  next.remote_read = false;
  b.modify(QpState::rts, next);
  expect(Wqe(wqe_opcode::rdma_read).remote(target, rig.rkey()).data(local, 8, rig.lkey()),
         cqe_syndrome::remote_access, Fault::remote_access, "target.right");
}

TEST_F(Errors, SourceKeyIsUnknown) {
  expect(Wqe(wqe_opcode::rdma_write).remote(target, rig.rkey()).data(local, 8, 0x12345600),
         cqe_syndrome::local_protection, Fault::key_unknown, "key.unknown");
}

TEST_F(Errors, NoAddressToSendFrom) {
  model::QpAttributes next = a.qp->attributes;
  next.path.gid_index = 3;
  a.modify(QpState::rts, next);
  expect(add(target, rig.rkey()), cqe_syndrome::local_qp_operation, Fault::qp_address, "qp.address");
}

TEST_F(Errors, MessageLongerThanTheReceiveRequest) {
  b.post_receive({pointer(rig, target, 100)});
  b.post_receive({pointer(rig, target, 100)});
  expect(Wqe(wqe_opcode::send).data(local, 200, rig.lkey()), cqe_syndrome::remote_invalid_request,
         Fault::remote_invalid_request, "receive.room");
  const prm::ErrorCqe error = b.receive_cq.poll_error();
  EXPECT_EQ(prm::cqe_opcode_of(error.op_own), prm::cqe_opcode::responder_error);
  EXPECT_EQ(error.syndrome, static_cast<std::uint8_t>(cqe_syndrome::local_length));
  EXPECT_EQ(b.receive_cq.poll_error().syndrome, static_cast<std::uint8_t>(cqe_syndrome::flushed));
  EXPECT_EQ(b.qp->state, QpState::err);
}

TEST_F(Errors, ReceiveRequestWithoutAccess) {
  b.post_receive({{{}, target, 100, key_of(model::local_read)}});
  expect(Wqe(wqe_opcode::send).data(local, 50, rig.lkey()), cqe_syndrome::remote_operation,
         Fault::remote_operation, "key.rights");
  EXPECT_EQ(b.receive_cq.poll_error().syndrome, static_cast<std::uint8_t>(cqe_syndrome::local_protection));
}

TEST_F(Errors, ErrorsComeInTheirTurn) {
  a.post(add(target, rig.rkey()));
  a.post(Wqe(static_cast<wqe_opcode>(0x0c)));
  a.post(add(target, rig.rkey()));
  a.ring();
  rig.run();
  prm::Cqe cqe;
  ASSERT_TRUE(a.send_cq.poll(cqe));
  EXPECT_EQ(prm::cqe_opcode_of(cqe.op_own), prm::cqe_opcode::requester);
  EXPECT_EQ(a.send_cq.poll_error().syndrome, static_cast<std::uint8_t>(cqe_syndrome::local_qp_operation));
  EXPECT_EQ(a.send_cq.poll_error().syndrome, static_cast<std::uint8_t>(cqe_syndrome::flushed));
  EXPECT_EQ(rig.u64(target), 1u);
}

TEST_F(Errors, ToErrorFlushesBothRings) {
  rig.wire.loop = false;
  for (unsigned i = 0; i < 3; ++i) a.post(add(target, rig.rkey()));
  a.ring();
  rig.run();
  a.post_receive({pointer(rig, target, 100)});
  a.post_receive({pointer(rig, target, 100)});
  a.modify(QpState::err);
  for (unsigned i = 0; i < 3; ++i) {
    EXPECT_EQ(a.send_cq.poll_error().syndrome, static_cast<std::uint8_t>(cqe_syndrome::flushed));
  }
  for (unsigned i = 0; i < 2; ++i) {
    EXPECT_EQ(a.receive_cq.poll_error().syndrome, static_cast<std::uint8_t>(cqe_syndrome::flushed));
  }
  // What is posted later is flushed too.
  a.post(add(target, rig.rkey()));
  a.ring();
  rig.run();
  EXPECT_EQ(a.send_cq.poll_error().syndrome, static_cast<std::uint8_t>(cqe_syndrome::flushed));
}

TEST_F(Errors, DoorbellBeforeTheRecord) {
  a.post(add(target, rig.rkey()));
  const std::uint64_t at = a.send;
  rig.hca->doorbell(rig.uar->number, prm::uar_blueflame, rig.memory.at<std::uint64_t>(at));
  rig.run();
  EXPECT_EQ(rig.diagnostics.count("doorbell.ahead-of-record"), 1u);
  EXPECT_EQ(rig.u64(target), 0u);
}

TEST_F(Errors, DoorbellInTheWrongState) {
  QueuePair c = rig.make_qp();
  c.post(add(target, rig.rkey()));
  c.ring();
  EXPECT_EQ(rig.diagnostics.count("doorbell.queue-state"), 1u);
}

TEST_F(Errors, OperandInTheHostsOrder) {
  a.post(test::fetch_add(prm::swap_bytes(std::uint64_t{1}), target, rig.rkey(), local, rig.lkey()));
  a.ring();
  rig.run();
  EXPECT_EQ(rig.diagnostics.count("atomic.operand-order"), 1u);
}

TEST_F(Errors, ForeignPacketsAreDropped) {
  rig.wire.loop = false;
  rig.wire.keep = true;
  a.post(add(target, rig.rkey()));
  a.ring();
  rig.run();
  ASSERT_EQ(rig.wire.sent.size(), 1u);
  const Bytes frame = rig.wire.sent[0];
  Bytes changed = frame;
  changed[60] ^= std::byte{1};  // a remote address's byte: the ICRC is wrong
  rig.wire.deliver(changed);
  EXPECT_EQ(rig.diagnostics.count("roce.icrc"), 1u);
  rig.run();
  EXPECT_EQ(rig.u64(target), 0u);
  rig.card->qps.erase(*std::exchange(b.qp, nullptr));
  rig.wire.deliver(frame);
  EXPECT_EQ(rig.diagnostics.count("roce.unknown-qp"), 1u);
}

// ---- the unreliable services ----

struct Unreliable : Errors {
  void SetUp() override {}
};

TEST_F(Unreliable, ConnectedSendAndWrite) {
  QueuePair c = rig.make_qp({.service = model::QpService::uc}),
            d = rig.make_qp({.service = model::QpService::uc});
  rig.connect(c, d);
  rig.memory.write(local, Bytes(3000, std::byte{0x5e}));
  d.post_receive({pointer(rig, target, 4096)});
  c.post(Wqe(wqe_opcode::send_imm, Wqe::signalled, 77).data(local, 3000, rig.lkey()));
  c.post(Wqe(wqe_opcode::rdma_write).remote(target + 8192, rig.rkey()).data(local, 2000, rig.lkey()));
  c.ring();
  rig.run();
  prm::Cqe cqe;
  EXPECT_TRUE(c.send_cq.poll(cqe));
  EXPECT_TRUE(c.send_cq.poll(cqe));
  ASSERT_TRUE(d.receive_cq.poll(cqe));
  EXPECT_EQ(cqe.byte_cnt, 3000u);
  EXPECT_EQ(cqe.imm_inval_pkey, 77u);
  EXPECT_EQ(rig.memory.read(target, 3000), Bytes(3000, std::byte{0x5e}));
  EXPECT_EQ(rig.memory.read(target + 8192, 2000), Bytes(2000, std::byte{0x5e}));
}

TEST_F(Unreliable, ConnectedHasNoAtomics) {
  QueuePair c = rig.make_qp({.service = model::QpService::uc}),
            d = rig.make_qp({.service = model::QpService::uc});
  rig.connect(c, d);
  d.post_receive({pointer(rig, target, 4096)});
  c.post(add(target, rig.rkey()));
  c.ring();
  rig.run();
  const prm::ErrorCqe error = c.send_cq.poll_error();
  EXPECT_EQ(error.syndrome, static_cast<std::uint8_t>(cqe_syndrome::local_qp_operation));
  EXPECT_EQ(error.vendor_err_synd, static_cast<std::uint8_t>(Fault::qp_operation));
  EXPECT_EQ(c.qp->state, QpState::sqer);
  // Software brings the send queue back.
  c.modify(QpState::rts);
  c.post(Wqe(wqe_opcode::send).data(local, 30, rig.lkey()));
  c.ring();
  rig.run();
  prm::Cqe cqe;
  EXPECT_TRUE(c.send_cq.poll(cqe));
  EXPECT_TRUE(d.receive_cq.poll(cqe));
}

TEST_F(Unreliable, DatagramsCarryTheirNetworkHeader) {
  QueuePair c = rig.make_qp({.service = model::QpService::ud}),
            d = rig.make_qp({.service = model::QpService::ud});
  rig.connect(c, d);
  for (unsigned gid : {0u, 1u}) {
    rig.memory.write(local, Bytes(500, std::byte{0x5e}));
    d.post_receive({pointer(rig, target, 4096)});
    c.post(Wqe(wqe_opcode::send_imm, Wqe::signalled, 9)
               .vector(rig.card->roce_addresses[gid], d.qp->number, 0x1234, gid)
               .data(local, 500, rig.lkey()));
    c.ring();
    rig.run();
    prm::Cqe cqe;
    ASSERT_TRUE(c.send_cq.poll(cqe));
    EXPECT_EQ(prm::cqe_opcode_of(cqe.op_own), prm::cqe_opcode::requester);
    ASSERT_TRUE(d.receive_cq.poll(cqe));
    EXPECT_EQ(cqe.byte_cnt, 540u);
    EXPECT_EQ(cqe.flags_rqpn & 0xffffff, c.qp->number);
    EXPECT_EQ(cqe.flags_rqpn >> 28 & 3, 1u);
    EXPECT_EQ(rig.memory.read(target + 40, 500), Bytes(500, std::byte{0x5e}));
    EXPECT_EQ(rig.memory.read(target + (gid ? 0 : 20), 1)[0], gid ? std::byte{0x60} : std::byte{0x45});
  }
  c.post(Wqe(wqe_opcode::send)
             .vector(rig.card->roce_addresses[0], d.qp->number, 0x999)
             .data(local, 5, rig.lkey()));
  c.ring();
  rig.run();
  EXPECT_EQ(rig.diagnostics.count("roce.qkey"), 1u);
}

TEST_F(Unreliable, DatagramsToAGroupReachItsMembers) {
  constexpr model::RoceAddress group4{.gid = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 1, 2, 3},
                                      .mac = {1, 0, 0x5e, 1, 2, 3}};
  constexpr model::RoceAddress group6{.gid = {0xff, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7},
                                      .mac = {0x33, 0x33, 0, 0, 0, 7}};
  QueuePair from = rig.make_qp({.service = model::QpService::ud});
  RoceRig::bring_up(from, rig.attributes(from));
  QueuePair members[] = {rig.make_qp({.service = model::QpService::ud}),
                         rig.make_qp({.service = model::QpService::ud}),
                         rig.make_qp({.service = model::QpService::ud})};
  for (QueuePair& member : members) {
    RoceRig::bring_up(member, rig.attributes(from));
    for (int i = 0; i < 3; ++i) member.post_receive({pointer(rig, target, 4096)});
  }
  auto& groups = rig.card->multicast;
  auto send = [&](const model::RoceAddress& group, unsigned gid) {
    from.post(
        Wqe(wqe_opcode::send).vector(group, model::multicast_qpn, 0x1234, gid).data(local, 100, rig.lkey()));
    from.ring();
    rig.run();
    prm::Cqe cqe;
    std::string got;
    for (QueuePair& member : members) got += member.receive_cq.poll(cqe) ? '1' : '0';
    return got;
  };
  EXPECT_EQ(send(group4, 0), "000");
  EXPECT_EQ(send(rig.card->roce_addresses[0], 0), "000");
  EXPECT_EQ(rig.diagnostics.count("roce.unknown-qp"), 1u) << "the groups' number at the port's own address";
  ASSERT_TRUE(groups.attach(group4.gid, *members[0].qp));
  ASSERT_TRUE(groups.attach(group4.gid, *members[2].qp));
  ASSERT_TRUE(groups.attach(group6.gid, *members[1].qp));
  EXPECT_EQ(send(group4, 0), "101");
  EXPECT_EQ(send(group6, 1), "010");
  EXPECT_TRUE(groups.detach(group4.gid, *members[0].qp));
  EXPECT_EQ(send(group4, 0), "001");
  // One without a receive request, or in no state to receive, takes nothing from the others.
  ASSERT_TRUE(groups.attach(group6.gid, *members[2].qp));
  members[1].modify(QpState::err);
  EXPECT_EQ(members[1].receive_cq.poll_error().syndrome, static_cast<std::uint8_t>(cqe_syndrome::flushed));
  EXPECT_EQ(members[1].receive_cq.poll_error().syndrome, static_cast<std::uint8_t>(cqe_syndrome::flushed));
  EXPECT_EQ(send(group6, 1), "001");
}

TEST_F(Unreliable, DatagramLongerThanThePathMtu) {
  QueuePair c = rig.make_qp({.service = model::QpService::ud});
  RoceRig::bring_up(c, rig.attributes(c));
  c.post(Wqe(wqe_opcode::send)
             .vector(rig.card->roce_addresses[0], c.qp->number, 0x1234)
             .data(local, 1025, rig.lkey()));
  c.post(Wqe(wqe_opcode::send)
             .vector(rig.card->roce_addresses[0], c.qp->number, 0x1234)
             .data(local, 5, rig.lkey()));
  c.ring();
  rig.run();
  const prm::ErrorCqe error = c.send_cq.poll_error();
  EXPECT_EQ(error.vendor_err_synd, static_cast<std::uint8_t>(Fault::qp_message_length));
  EXPECT_EQ(c.send_cq.poll_error().syndrome, static_cast<std::uint8_t>(cqe_syndrome::flushed));
  EXPECT_EQ(c.qp->state, QpState::sqer);

  // What SQERR2RTS does: the queue goes on behind what was flushed.
  c.modify(QpState::rts);
  c.post(Wqe(wqe_opcode::send)
             .vector(rig.card->roce_addresses[0], c.qp->number, 0x1234)
             .data(local, 5, rig.lkey()));
  c.ring();
  rig.run();
  prm::Cqe cqe;
  ASSERT_TRUE(c.send_cq.poll(cqe));
  EXPECT_EQ(prm::cqe_opcode_of(cqe.op_own), prm::cqe_opcode::requester);
  EXPECT_EQ(c.qp->state, QpState::rts);
}

}  // namespace
}  // namespace chime
