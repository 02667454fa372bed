// SPDX-License-Identifier: BSD-3-Clause
// Memory keys that UMR requests change, keys on keys, and receive requests that queue pairs share.
#include <gtest/gtest.h>

#include <cstring>

#include "model/packet/bytes.h"
#include "pair.h"
#include "prm/layouts.h"

namespace chime {
namespace {

using model::Mkey;
using model::QpService;
using model::QpState;
using model::Srq;
using prm::wqe_opcode;
using test::Bytes;
using test::QueuePair;
using test::RoceRig;
using test::Wqe;
using M = prm::mkc;

constexpr std::uint64_t page = 4096;
constexpr std::uint64_t va = 0x7000'0000'0000;

/// What follows the control segment of a UMR request.
struct Umr {
  Bytes bytes = Bytes(sizeof(prm::WqeUmr) + M::size);

  Umr(std::uint64_t mask, std::uint8_t flags = 0) {
    head().mkey_mask = mask;
    head().flags = flags;
  }
  prm::WqeUmr& head() { return *reinterpret_cast<prm::WqeUmr*>(bytes.data()); }
  prm::View<M> context() { return prm::View<M>(std::span(bytes).subspan(sizeof(prm::WqeUmr))); }
  Umr& translations(std::initializer_list<std::uint64_t> pages, std::uint32_t offset = 0) {
    head().octwords = static_cast<std::uint16_t>(pages.size() / 2);
    head().octword_offset = static_cast<std::uint16_t>(offset);
    head().flags |= prm::umr_inline | prm::umr_offset;
    for (std::uint64_t one : pages) {
      bytes.resize(bytes.size() + 8);
      net::store_be(bytes.data() + bytes.size() - 8, one);
    }
    return *this;
  }
};

struct Shared : ::testing::Test {
  RoceRig rig;
  QueuePair a = rig.make_qp(), b = rig.make_qp();
  std::uint64_t local = rig.memory.allocate(65536, page);
  // In the wrong order, so that they are not one piece.
  std::uint64_t second = rig.memory.allocate(page, page), first = rig.memory.allocate(2 * page, page);

  void SetUp() override { rig.connect(a, b); }

  Mkey* make_key(Mkey::Mode mode, std::uint32_t octwords) {
    auto key = make_owned<Mkey>("a key");
    (*key)->mode = mode;
    (*key)->pd = model::Ref<model::Pd>(rig.pd);
    (*key)->umr_enabled = (*key)->is_free = true;
    (*key)->octwords = octwords;
    return *rig.card->mkeys.insert(std::move(*key));
  }
  std::uint64_t& word(std::uint64_t address) { return rig.memory.at<std::uint64_t>(address); }
  static std::uint32_t name(const Mkey& key) { return key.number << 8 | key.key_byte; }

  prm::cqe_opcode go(QueuePair& qp, const Wqe& wqe, prm::ErrorCqe* error = nullptr) {
    qp.post(wqe);
    qp.ring();
    rig.run();
    prm::Cqe cqe{};
    EXPECT_TRUE(qp.send_cq.poll(cqe));
    qp.send_cq.publish();
    if (error) std::memcpy(error, &cqe, sizeof *error);
    return prm::cqe_opcode_of(cqe.op_own);
  }
  prm::cqe_opcode go(QueuePair& qp, const Mkey& key, Umr& umr, prm::ErrorCqe* error = nullptr) {
    return go(qp, Wqe(wqe_opcode::umr, Wqe::signalled, name(key)).operands(umr.bytes), error);
  }
  /// A key of two pages, and all rights.
  Mkey* two_pages() {
    Mkey* const key = make_key(Mkey::Mode::translations, 4);
    Umr umr(prm::umr_mask_len | prm::umr_mask_start_addr | prm::umr_mask_page_size | prm::umr_mask_free |
                prm::umr_mask_lr | prm::umr_mask_lw | prm::umr_mask_rw | prm::umr_mask_en_rinval,
            prm::umr_check_not_free);
    umr.context().set(M::len, 2 * page).set(M::start_addr, va).set(M::log_page_size, 12);
    umr.context().set(M::lr, 1).set(M::lw, 1).set(M::rw, 1).set(M::en_rinval, 1);
    umr.translations({first, second});
    EXPECT_EQ(go(a, *key, umr), prm::cqe_opcode::requester);
    return key;
  }
  Wqe write(const Mkey& key, std::uint64_t to, std::uint32_t length) {
    return Wqe(wqe_opcode::rdma_write).remote(to, name(key)).data(local, length, rig.lkey());
  }
};

TEST_F(Shared, UmrMakesAKeyUsable) {
  Mkey* const key = two_pages();
  EXPECT_FALSE(key->is_free);
  word(local) = 1, word(local + 8) = 2;
  EXPECT_EQ(go(a, write(*key, va + page - 8, 16)), prm::cqe_opcode::requester);
  EXPECT_EQ(rig.u64(first + page - 8), 1u);
  EXPECT_EQ(rig.u64(second), 2u);
}

TEST_F(Shared, UmrReplacesTranslationsAtAnOffset) {
  Mkey* const key = two_pages();
  Umr more(prm::umr_mask_len);
  more.context().set(M::len, 4 * page);
  more.translations({first + page, first}, 1);
  ASSERT_EQ(go(a, *key, more), prm::cqe_opcode::requester);
  word(local) = 7;
  EXPECT_EQ(go(a, write(*key, va + 2 * page, 8)), prm::cqe_opcode::requester);
  EXPECT_EQ(rig.u64(first + page), 7u);
  EXPECT_EQ(go(a, write(*key, va + 3 * page + 8, 8)), prm::cqe_opcode::requester);
  EXPECT_EQ(rig.u64(first + 8), 7u);
}

TEST_F(Shared, UmrReadsTranslationsFromMemory) {
  Mkey* const key = two_pages();
  const std::uint64_t list = rig.memory.allocate(page, 64);
  net::store_be(rig.memory.page_at(list), second);
  net::store_be(rig.memory.page_at(list + 8), first);
  Umr umr(0);
  umr.head().octwords = 1;
  ASSERT_EQ(
      go(a, Wqe(wqe_opcode::umr, Wqe::signalled, name(*key)).operands(umr.bytes).data(list, 16, rig.lkey())),
      prm::cqe_opcode::requester);
  word(local) = 9;
  EXPECT_EQ(go(a, write(*key, va + 16, 8)), prm::cqe_opcode::requester);
  EXPECT_EQ(rig.u64(second + 16), 9u);
}

TEST_F(Shared, UmrChecksTheState) {
  Mkey* const key = two_pages();
  Umr umr(prm::umr_mask_free, prm::umr_check_not_free);
  prm::ErrorCqe error{};
  EXPECT_EQ(go(a, *key, umr, &error), prm::cqe_opcode::requester_error);
  EXPECT_EQ(error.syndrome, static_cast<std::uint8_t>(prm::cqe_syndrome::memory_window_bind));
  EXPECT_EQ(error.vendor_err_synd, static_cast<std::uint8_t>(model::Fault::umr_state));
}

TEST_F(Shared, UmrKeepsToTheKeysRoom) {
  Mkey* const key = two_pages();
  Umr umr(0);
  umr.translations({first, first}, 4);
  prm::ErrorCqe error{};
  EXPECT_EQ(go(a, *key, umr, &error), prm::cqe_opcode::requester_error);
  EXPECT_EQ(error.vendor_err_synd, static_cast<std::uint8_t>(model::Fault::umr_room));
}

TEST_F(Shared, KeysMayLeadToKeys) {
  Mkey* const below = two_pages();
  Mkey* const key = make_key(Mkey::Mode::pieces, 4);
  Umr umr(prm::umr_mask_len | prm::umr_mask_free | prm::umr_mask_rw, prm::umr_inline);
  umr.context().set(M::len, 24).set(M::rw, 1);
  umr.head().octwords = 2;
  // 8 bytes of the second page, then 16 of the first.
  for (const auto& [address, length] : {std::pair{va + page, 8u}, {va, 16u}}) {
    prm::KeyEntry entry;
    entry.byte_count = length;
    entry.key = name(*below);
    entry.address = address;
    const auto* raw = reinterpret_cast<const std::byte*>(&entry);
    umr.bytes.insert(umr.bytes.end(), raw, raw + sizeof entry);
  }
  ASSERT_EQ(go(a, *key, umr), prm::cqe_opcode::requester);
  for (unsigned i = 0; i < 3; ++i) word(local + 8 * i) = i + 1;
  EXPECT_EQ(go(a, write(*key, 0, 24)), prm::cqe_opcode::requester);
  EXPECT_EQ(rig.u64(second), 1u);
  EXPECT_EQ(rig.u64(first), 2u);
  EXPECT_EQ(rig.u64(first + 8), 3u);
}

TEST_F(Shared, PiecesMayRepeat) {
  Mkey key;
  key.mode = Mkey::Mode::pieces;
  key.table = std::move(*Array<model::KeyPiece>::make(3, "pieces"));
  // Two rounds of 4 bytes at 0x1000 and 8 at 0x2000, which go on by 16 and 32.
  key.table[0] = {std::uint64_t{2} << 32 | 2, model::KeyPiece::repeats, 12};
  key.table[1] = {0x1000, 0x100, 16u << 16 | 4};
  key.table[2] = {0x2000, 0x200, 32u << 16 | 8};
  model::KeyPiece found;
  ASSERT_TRUE(key.locate(5, found));
  EXPECT_EQ(found.address, 0x2001u);
  EXPECT_EQ(found.length, 7u);
  ASSERT_TRUE(key.locate(12, found));
  EXPECT_EQ(found.address, 0x1010u);
  EXPECT_EQ(found.key, 0x100u);
  ASSERT_TRUE(key.locate(23, found));
  EXPECT_EQ(found.address, 0x2027u);
  EXPECT_FALSE(key.locate(24, found));
}

TEST_F(Shared, CompletionQueuesGoOnInAnotherRing) {
  // One that is not consumed, then the end of the ring, then the new one.
  a.post(Wqe(wqe_opcode::nop));
  a.ring();
  rig.run();
  model::Ring next;
  const std::uint64_t ring = rig.memory.allocate(page, page);
  next.buffer = rig.buffer(ring, page);
  next.log_size = next.log_stride = 6;
  ASSERT_TRUE(rig.card->engine->resize(*a.send_cq.cq, std::move(next)));
  prm::Cqe cqe{};
  ASSERT_TRUE(a.send_cq.poll(cqe));
  EXPECT_EQ(prm::cqe_opcode_of(cqe.op_own), prm::cqe_opcode::requester);
  ASSERT_TRUE(a.send_cq.poll(cqe));
  EXPECT_EQ(prm::cqe_opcode_of(cqe.op_own), prm::cqe_opcode::resize_cq);
  a.post(Wqe(wqe_opcode::nop));
  a.ring();
  rig.run();
  EXPECT_FALSE(a.send_cq.poll(cqe));
  const auto& last = rig.memory.at<prm::Cqe>(ring + 2 * sizeof(prm::Cqe));
  EXPECT_EQ(prm::cqe_opcode_of(last.op_own), prm::cqe_opcode::requester);
}

TEST_F(Shared, TheOtherEndMayInvalidateAKey) {
  Mkey* const key = two_pages();
  b.post_receive({{.address = local + 1024, .length = 64, .lkey = rig.lkey()}});
  EXPECT_EQ(go(a, Wqe(wqe_opcode::send_inval, Wqe::signalled, name(*key)).data(local, 8, rig.lkey())),
            prm::cqe_opcode::requester);
  prm::Cqe cqe{};
  ASSERT_TRUE(b.receive_cq.poll(cqe));
  EXPECT_EQ(prm::cqe_opcode_of(cqe.op_own), prm::cqe_opcode::responder_send_inval);
  EXPECT_EQ(cqe.imm_inval_pkey, name(*key));
  EXPECT_TRUE(key->is_free);
  EXPECT_EQ(go(a, write(*key, va, 8)), prm::cqe_opcode::requester_error);
}

/// A shared receive queue of four requests, and software's side of it.
struct SharedQueue {
  static constexpr unsigned log_size = 2, log_stride = 5;

  SharedQueue(RoceRig& r, Srq::Type type) : rig(r) {
    auto made = make_owned<Srq>("a shared receive queue");
    Srq& s = **made;
    ring = rig.memory.allocate(page, page);
    record = rig.memory.allocate(64, 64);
    s.type = type;
    s.ring.buffer = rig.buffer(ring, 1u << (log_size + log_stride));
    s.ring.log_size = log_size;
    s.ring.log_stride = log_stride;
    s.record = rig.buffer(record, 8);
    s.pd = model::Ref<model::Pd>(rig.pd);
    s.user_index = 0x77;
    srq = *rig.card->srqs.insert(std::move(*made));
  }
  /// Request `index`, which `next` follows.
  void post(std::uint16_t index, std::uint16_t next, std::uint64_t address, std::uint32_t length) {
    const std::uint64_t at = ring + (std::uint64_t{index} << log_stride);
    rig.memory.at<prm::WqeNext>(at).next_wqe_index = next;
    auto& data = rig.memory.at<prm::WqeData>(at + Srq::next_segment);
    data.byte_count = length;
    data.lkey = rig.lkey();
    data.address = address;
    rig.memory.at<prm::Be32>(record) = ++posted;
  }

  RoceRig& rig;
  Srq* srq;
  std::uint64_t ring, record;
  std::uint32_t posted = 0;
};

TEST_F(Shared, QueuesServeSeveralQueuePairs) {
  SharedQueue shared(rig, Srq::Type::pool);
  QueuePair c = rig.make_qp(), d = rig.make_qp();
  rig.connect(c, d);
  for (QueuePair* qp : {&b, &d}) {
    qp->qp->has_receive = false;
    qp->qp->srq = model::Ref<Srq>(shared.srq);
  }
  shared.post(0, 2, local + 1024, 64);
  shared.post(2, 1, local + 2048, 64);
  word(local) = 5;
  EXPECT_EQ(go(a, Wqe(wqe_opcode::send).data(local, 8, rig.lkey())), prm::cqe_opcode::requester);
  word(local) = 6;
  EXPECT_EQ(go(c, Wqe(wqe_opcode::send).data(local, 8, rig.lkey())), prm::cqe_opcode::requester);
  EXPECT_EQ(rig.u64(local + 1024), 5u);
  EXPECT_EQ(rig.u64(local + 2048), 6u);
  prm::Cqe cqe{};
  ASSERT_TRUE(b.receive_cq.poll(cqe));
  EXPECT_EQ(cqe.wqe_counter, 0u);
  EXPECT_EQ(cqe.srqn, 0x55u) << "of the queue pair";
  ASSERT_TRUE(d.receive_cq.poll(cqe));
  EXPECT_EQ(cqe.wqe_counter, 2u) << "the list's order, not the ring's";
  EXPECT_EQ(shared.srq->head, 1u);
}

TEST_F(Shared, QueuesTellWhenFewRequestsAreLeft) {
  SharedQueue shared(rig, Srq::Type::pool);
  auto events = rig.make_eq(4, std::uint64_t{1} << static_cast<unsigned>(prm::event_type::srq_rq_limit));
  b.qp->has_receive = false;
  b.qp->srq = model::Ref<Srq>(shared.srq);
  shared.srq->limit = 1;
  shared.post(0, 1, local + 1024, 64);
  shared.post(1, 2, local + 1024, 64);
  prm::Eqe eqe{};
  EXPECT_EQ(go(a, Wqe(wqe_opcode::send).data(local, 8, rig.lkey())), prm::cqe_opcode::requester);
  EXPECT_FALSE(events.poll(eqe));
  EXPECT_EQ(go(a, Wqe(wqe_opcode::send).data(local, 8, rig.lkey())), prm::cqe_opcode::requester);
  ASSERT_TRUE(events.poll(eqe));
  EXPECT_EQ(eqe.data[prm::eqe_number], shared.srq->number);
  EXPECT_EQ(shared.srq->limit, 0u) << "once";
}

TEST_F(Shared, XrcPacketsNameTheirQueue) {
  auto domain = rig.card->xrcds.insert(std::move(*make_owned<model::Xrcd>("a domain")));
  SharedQueue shared(rig, Srq::Type::xrc);
  auto cq = rig.make_cq(4);
  shared.srq->cq = model::Ref<model::Cq>(cq.cq);
  shared.srq->xrcd = model::Ref<model::Xrcd>(*domain);
  QueuePair initiator = rig.make_qp({.service = QpService::xrc}),
            target = rig.make_qp({.service = QpService::xrc});
  for (QueuePair* qp : {&initiator, &target}) {
    qp->qp->xrcd = model::Ref<model::Xrcd>(*domain);
    qp->qp->has_receive = false;
  }
  rig.connect(initiator, target);
  shared.post(0, 1, local + 1024, 64);
  word(local) = 8;
  Bytes segment(16);
  net::store_be(segment.data(), shared.srq->number);
  EXPECT_EQ(go(initiator, Wqe(wqe_opcode::send).operands(segment).data(local, 8, rig.lkey())),
            prm::cqe_opcode::requester);
  EXPECT_EQ(rig.u64(local + 1024), 8u);
  prm::Cqe cqe{};
  ASSERT_TRUE(cq.poll(cqe));
  EXPECT_EQ(cqe.srqn, 0x77u) << "of the shared receive queue";
  EXPECT_EQ(cqe.byte_cnt, 8u);

  net::store_be(segment.data(), std::uint32_t{0x1234});
  EXPECT_EQ(go(initiator, Wqe(wqe_opcode::send).operands(segment).data(local, 8, rig.lkey())),
            prm::cqe_opcode::requester_error);
}

}  // namespace
}  // namespace chime
