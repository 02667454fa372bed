// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <rte_errno.h>

#include "ring.h"

/// @file
/// Work requests, byte for byte, as the layouts of the manual have them.

namespace chime::rdma::test {
namespace {

constexpr std::string_view remote_segment =
    "0000123456789a00"
    "1122334400000000";

std::string result_segment(const char* bytes) {
  return std::string("000000") + bytes +
         "aabbccdd"
         "00007f0011223344";
}

TEST(Request, PlainFetchAdd) {
  Ring ring;
  Operation add = atomic(Opcode::fetch_add, 8);
  add.operand[0].value = 0x0102030405060708;
  ASSERT_TRUE(ring.post(add));
  EXPECT_EQ(hex(ring.posted(0, 64)), std::string("00000012"
                                                 "80012304"
                                                 "00000008"
                                                 "00000000\n") +
                                         std::string(remote_segment) + "\n" +
                                         "0102030405060708"
                                         "0000000000000000\n" +
                                         result_segment("08"));
  EXPECT_EQ(ring.record.send, 1u);
  std::uint64_t first;
  std::memcpy(&first, ring.wqes.data(), sizeof first);
  EXPECT_EQ(ring.uar, first) << "the doorbell is the first 8 bytes of the control segment";
}

TEST(Request, PlainCompareSwap) {
  Ring ring;
  Operation swap = atomic(Opcode::compare_swap, 8);
  swap.flags = signaled | fenced;
  swap.operand[0].value = 0xa1a2a3a4a5a6a7a8;
  swap.operand[1].value = 0xb1b2b3b4b5b6b7b8;
  ASSERT_TRUE(ring.post(swap));
  EXPECT_EQ(hex(ring.posted(0, 64)), std::string("00000011"
                                                 "80012304"
                                                 "00000048"
                                                 "00000000\n") +
                                         std::string(remote_segment) + "\n" +
                                         "a1a2a3a4a5a6a7a8"
                                         "b1b2b3b4b5b6b7b8\n" +
                                         result_segment("08"));
}

TEST(Request, MaskedFetchAddOf4) {
  Ring ring;
  Operation add = atomic(Opcode::masked_fetch_add, 4);
  add.operand[0].value = 0x01020304;
  add.operand[1].value = 0x80808080;
  ASSERT_TRUE(ring.post(add));
  EXPECT_EQ(hex(ring.posted(0, 64)), std::string("08000015"
                                                 "80012304"
                                                 "00000008"
                                                 "00000000\n") +
                                         std::string(remote_segment) + "\n" +
                                         "01020304"
                                         "80808080"
                                         "0000000000000000\n" +
                                         result_segment("04"));
}

TEST(Request, MaskedFetchAddOf8) {
  Ring ring;
  Operation add = atomic(Opcode::masked_fetch_add, 8);
  add.operand[0].value = 0x01;
  add.operand[1].value = 0x8000000080000000;
  ASSERT_TRUE(ring.post(add));
  EXPECT_EQ(hex(ring.posted(0, 64)), std::string("09000015"
                                                 "80012304"
                                                 "00000008"
                                                 "00000000\n") +
                                         std::string(remote_segment) + "\n" +
                                         "0000000000000001"
                                         "8000000080000000\n" +
                                         result_segment("08"));
}

TEST(Request, MaskedCompareSwapOf4) {
  Ring ring;
  Operation swap = atomic(Opcode::masked_compare_swap, 4);
  swap.operand[0].value = 0x11111111;
  swap.operand[1].value = 0x22222222;
  swap.operand[2].value = 0x33333333;
  swap.operand[3].value = 0x44444444;
  ASSERT_TRUE(ring.post(swap));
  EXPECT_EQ(hex(ring.posted(0, 64)), std::string("08000014"
                                                 "80012304"
                                                 "00000008"
                                                 "00000000\n") +
                                         std::string(remote_segment) + "\n" +
                                         "11111111"
                                         "22222222"
                                         "33333333"
                                         "44444444\n" +
                                         result_segment("04"));
}

TEST(Request, MaskedCompareSwapOf8RunsOverTheEndOfTheRing) {
  Ring ring;
  Operation nothing = atomic(Opcode::fetch_add, 8);
  nothing.local = 0;
  for (int i = 0; i < 15; ++i) ASSERT_TRUE(ring.post(nothing));
  for (std::uint16_t i = 0; i < 15; ++i) ring.complete(i);
  ASSERT_EQ(ring.poll().size(), 15u);

  Operation swap = atomic(Opcode::masked_compare_swap, 8);
  swap.operand[0].value = 0x1111111111111111;
  swap.operand[1].value = 0x2222222222222222;
  swap.operand[2].value = 0x3333333333333333;
  swap.operand[3].value = 0x4444444444444444;
  ASSERT_TRUE(ring.post(swap));
  EXPECT_EQ(hex(ring.posted(15, 80)), std::string("09000f14"
                                                  "80012305"
                                                  "00000008"
                                                  "00000000\n") +
                                          std::string(remote_segment) + "\n" +
                                          "1111111111111111"
                                          "2222222222222222\n"
                                          "3333333333333333"
                                          "4444444444444444\n" +
                                          result_segment("08"));
  EXPECT_EQ(ring.record.send, 17u);
}

TEST(Request, FetchAddOf16HasItsWordsInTheTargetsOrder) {
  Ring ring;
  const std::uint64_t words[] = {0x0102030405060708, 0x1112131415161718};
  Operation add = atomic(Opcode::fetch_add, 16);
  add.operand[0].words = words;
  ASSERT_TRUE(ring.post(add));
  EXPECT_EQ(hex(ring.posted(0, 96)), std::string("0a000015"
                                                 "80012305"
                                                 "00000008"
                                                 "00000000\n") +
                                         std::string(remote_segment) + "\n" +
                                         "0102030405060708"
                                         "1112131415161718\n" +
                                         "0000000000000000"
                                         "0000000000000000\n" +
                                         result_segment("10") + "\n" + "00000000000000000000000000000000");
}

TEST(Request, OperandsThatNoRequestHoldsLieBesideIt) {
  Ring ring;
  std::vector<std::uint64_t> swap(32, 0x0102030405060708), compare(32, 0x1112131415161718);
  std::vector<std::byte> beside(16 * wide_operands);
  Operation operation = atomic(Opcode::compare_swap, 256);
  operation.operand[0].words = swap.data();
  operation.operand[1].words = compare.data();
  EXPECT_FALSE(ring.post(operation));
  EXPECT_EQ(ring.qp.refusal, Refusal::not_wide);
  ring.qp.operands = beside.data();
  ring.qp.operands_lkey = prm::host_to_be(std::uint32_t{0x5555});
  ASSERT_TRUE(ring.post(operation));
  const auto wqe = ring.posted(0, 64);
  EXPECT_EQ(hex(std::span(wqe).first(8)), "0f00001480012304");
  EXPECT_EQ(hex(std::span(wqe).subspan(32, 8)), "0000040000005555") << "1024 bytes";
  EXPECT_EQ(hex(std::span(wqe).subspan(48, 8)), "00000100aabbccdd");
  EXPECT_EQ(hex(std::span(beside).subspan(0, 8)), "0102030405060708");
  EXPECT_EQ(hex(std::span(beside).subspan(256, 8)), "1112131415161718");
  EXPECT_EQ(hex(std::span(beside).subspan(1016, 8)), "ffffffffffffffff");
}

struct Named {
  Opcode opcode;
  const char* control;   ///< first word, and the last byte of the second
  const char* operands;  ///< of value 0x0f0f0f0f
};

TEST(Request, NamedFormsOf4AreMaskedOnes) {
  const Named forms[] = {
      {Opcode::fetch_add, "08000015", "0f0f0f0f000000000000000000000000"},
      {Opcode::fetch_xor, "08000015", "0f0f0f0fffffffff0000000000000000"},
      {Opcode::fetch_and, "08000014", "0f0f0f0f00000000f0f0f0f000000000"},
      {Opcode::fetch_or, "08000014", "0f0f0f0f000000000f0f0f0f00000000"},
      {Opcode::swap, "08000014", "0f0f0f0f00000000ffffffff00000000"},
      {Opcode::compare_swap, "08000014", "0f0f0f0f12345678ffffffffffffffff"},
  };
  for (const Named& form : forms) {
    Ring ring;
    Operation operation = atomic(form.opcode, 4);
    operation.operand[0].value = 0x0f0f0f0f;
    operation.operand[1].value = 0x12345678;
    ASSERT_TRUE(ring.post(operation));
    EXPECT_EQ(hex(ring.posted(0, 4)), form.control);
    const auto bytes = ring.posted(0, 48);
    EXPECT_EQ(hex(std::span(bytes).subspan(32, 16)), form.operands) << static_cast<int>(form.opcode);
  }
}

TEST(Request, WithoutLocalTheOriginalGoesToTheQueuePairsOwnRoom) {
  Ring ring;
  Operation add = atomic(Opcode::fetch_add, 8);
  add.local = 0;
  ASSERT_TRUE(ring.post(add));
  ASSERT_TRUE(ring.post(add));
  const auto& data = *reinterpret_cast<const prm::WqeData*>(ring.wqes[1].bytes + 48);
  EXPECT_EQ(data.lkey, 0x7777u);
  EXPECT_EQ(data.address, reinterpret_cast<std::uintptr_t>(&ring.results[1]));
}

TEST(Request, WritesReadsAndSends) {
  struct Case {
    Opcode opcode;
    const char* first;
    const char* imm;
    bool remote;
  };
  for (const Case& c : {Case{Opcode::write, "0000000880012303", "00000000", true},
                        Case{Opcode::write_imm, "0000000980012303", "deadbeef", true},
                        Case{Opcode::read, "0000001080012303", "00000000", true},
                        Case{Opcode::send, "0000000a80012302", "00000000", false},
                        Case{Opcode::send_imm, "0000000b80012302", "deadbeef", false}}) {
    Ring ring;
    Operation operation = atomic(c.opcode, 0x1000);
    operation.flags = solicited;
    if (c.opcode == Opcode::write_imm || c.opcode == Opcode::send_imm) operation.imm = 0xdeadbeef;
    ASSERT_TRUE(ring.post(operation));
    std::string wanted = std::string(c.first) + "00000002" + c.imm + "\n";
    if (c.remote) wanted += std::string(remote_segment) + "\n";
    wanted +=
        "00001000"
        "aabbccdd"
        "00007f0011223344";
    EXPECT_EQ(hex(ring.posted(0, c.remote ? 48 : 32)), wanted) << static_cast<int>(c.opcode);
  }
}

TEST(Request, InlineBytesFollowTheirCountOverTheEndOfTheRing) {
  std::vector<std::uint8_t> bytes(100);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i);
  for (std::uint32_t length : {1u, 11u, 12u, 13u, 28u, 29u, 100u}) {
    Ring ring;
    Operation write = atomic(Opcode::write, length);
    write.flags = signaled | in_line;
    write.local = reinterpret_cast<std::uintptr_t>(bytes.data());
    for (int i = 0; i < 15; ++i) ASSERT_TRUE(ring.post(atomic(Opcode::write, 8)));
    for (std::uint16_t i = 0; i < 15; ++i) ring.complete(i);
    ring.poll();
    ASSERT_TRUE(ring.post(write));
    const auto wqe = ring.posted(15, 32 + 4 + length);
    const auto& control = *reinterpret_cast<const prm::WqeCtrl*>(wqe.data());
    EXPECT_EQ(control.qpn_ds & 0x3f, 2 + (length + 4 + 15) / 16);
    prm::Be32 count;
    std::memcpy(&count, wqe.data() + 32, 4);
    EXPECT_EQ(count, 0x80000000u | length);
    EXPECT_EQ(std::memcmp(wqe.data() + 36, bytes.data(), length), 0) << length;
  }
}

TEST(Request, NoBytesAreNoDataSegment) {
  Ring ring;
  ASSERT_TRUE(ring.post(atomic(Opcode::write, 0)));
  ASSERT_TRUE(ring.post(atomic(Opcode::send, 0)));
  EXPECT_EQ(hex(ring.posted(0, 8)), "0000000880012302");
  EXPECT_EQ(hex(ring.posted(1, 8)), "0000010a80012301");
}

TEST(Request, WhatIsImpossibleIsRefusedWithItsReason) {
  const auto refusal = [](Operation operation, std::uint8_t flags = qp_plain_atomics) {
    Ring ring(16, flags);
    ring.worker.atomics.sizes[static_cast<int>(Opcode::fetch_or)] = 0x8;
    EXPECT_FALSE(ring.post(operation));
    EXPECT_EQ(rte_errno, errno_of(ring.qp.refusal));
    EXPECT_EQ(ring.record.send, 0u) << "no doorbell for nothing";
    EXPECT_GT(std::strlen(text_of(ring.qp.refusal)), 20u);
    return ring.qp.refusal;
  };
  Operation operation = atomic(static_cast<Opcode>(13), 8);
  EXPECT_EQ(refusal(operation), Refusal::opcode);
  for (std::uint32_t size : {0u, 1u, 2u, 3u, 12u, 512u})
    EXPECT_EQ(refusal(atomic(Opcode::swap, size)), Refusal::size) << size;
  EXPECT_EQ(refusal(atomic(Opcode::fetch_or, 4)), Refusal::not_offered);
  for (unsigned off : {1u, 2u, 4u, 7u}) {
    operation = atomic(Opcode::fetch_add, 8);
    operation.remote += off;
    EXPECT_EQ(refusal(operation), Refusal::misaligned) << off;
    EXPECT_EQ(refusal(operation, 0), Refusal::misaligned) << off;
  }
  operation = atomic(Opcode::fetch_add, 16);
  operation.local = 0;
  EXPECT_EQ(refusal(operation), Refusal::no_result);
  EXPECT_EQ(refusal(atomic(Opcode::fetch_add, 16)), Refusal::no_operand);
  operation = atomic(Opcode::write, 513);
  operation.flags = in_line;
  EXPECT_EQ(refusal(operation), Refusal::too_long);
  EXPECT_EQ(refusal(atomic(Opcode::send, (1u << 30) + 1)), Refusal::too_long);
  EXPECT_EQ(refusal(atomic(Opcode::fetch_add, 8), qp_plain_atomics | qp_checked), Refusal::stale_key);
  EXPECT_EQ(refusal(atomic(Opcode::read, 8), qp_checked), Refusal::stale_key);
}

TEST(Request, CheckedWorkersTakeLiveKeysOnly) {
  Ring ring(16, qp_plain_atomics | qp_checked);
  ASSERT_TRUE(
      ring.keys.add({.key = 0xaabbccdd, .rights = local_write, .address = 0x7f0011223300, .length = 0x100}));
  EXPECT_TRUE(ring.post(atomic(Opcode::fetch_add, 8)));
  Operation outside = atomic(Opcode::read, 0xbd);
  EXPECT_FALSE(ring.post(outside)) << "one byte too many";
  outside.length = 0xbc;
  EXPECT_TRUE(ring.post(outside));
  ring.keys.end(0xaabbccdd);
  EXPECT_FALSE(ring.post(outside));
  EXPECT_EQ(rte_errno, EKEYEXPIRED);
}

}  // namespace
}  // namespace chime::rdma::test
