// SPDX-License-Identifier: BSD-3-Clause
#include "rdma/diagnosis.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "rdma/explain.h"

namespace chime::rdma {
namespace {

constexpr std::uint32_t key = 0x00123400, ended = 0x00123500, read_only = 0x00123600;

class Diagnosing : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(keys.add({.key = key, .rights = all_rights, .address = 0x7f0000001000, .length = 0x1000}));
    ASSERT_TRUE(keys.add({.key = ended, .rights = all_rights, .address = 0x7f0000004000, .length = 0x1000}));
    ASSERT_TRUE(
        keys.add({.key = read_only, .rights = remote_read, .address = 0x7f0000008000, .length = 0x1000}));
    keys.end(ended);
  }
  static Failure failure(std::uint8_t status) {
    return {.remote = 0x7f0000001008,
            .local = 0x7f0000001100,
            .rkey = key,
            .lkey = key,
            .length = 8,
            .kind = static_cast<std::uint8_t>(Opcode::fetch_add),
            .status = status,
            .vendor_syndrome = 0,
            .reserved = 0};
  }
  Finding find(const Failure& failure, const char* words = "") const {
    const Diagnosis diagnosis = diagnose(failure, keys);
    EXPECT_NE(std::strstr(diagnosis.text, words), nullptr) << diagnosis.text;
    EXPECT_GT(std::strlen(diagnosis.text), 30u);
    return diagnosis.finding;
  }
  KeyBook keys;
};

TEST_F(Diagnosing, MisalignedAddress) {
  Failure f = failure(0x12);
  f.remote += 4;
  EXPECT_EQ(find(f, "0x7f000000100c"), Finding::misaligned);
  EXPECT_EQ(find(failure(0x12)), Finding::other);
}

TEST_F(Diagnosing, StaleKeys) {
  Failure f = failure(0x13);
  f.rkey = ended;
  f.remote = 0x7f0000004000;
  EXPECT_EQ(find(f, "stale"), Finding::stale_key);
  f = failure(0x04);
  f.lkey = ended;
  EXPECT_EQ(find(f, "stale"), Finding::stale_key);
}

TEST_F(Diagnosing, SwappedByteOrder) {
  Failure f = failure(0x13);
  f.rkey = __builtin_bswap32(key);
  EXPECT_EQ(find(f, "reversed"), Finding::byte_order);
  f = failure(0x13);
  f.remote = __builtin_bswap64(f.remote);
  EXPECT_EQ(find(f, "0x7f0000001008"), Finding::byte_order);
  f = failure(0x12);
  f.remote = __builtin_bswap64(0x7f0000001008);
  EXPECT_EQ(find(f), Finding::byte_order);
  f = failure(0x04);
  f.lkey = __builtin_bswap32(key);
  EXPECT_EQ(find(f, "reversed"), Finding::byte_order);
}

TEST_F(Diagnosing, MissingRightsAtTheTarget) {
  Failure f = failure(0x13);
  f.rkey = read_only;
  f.remote = 0x7f0000008000;
  EXPECT_EQ(find(f, "RTE_PMD_CHIME_REMOTE_ATOMIC"), Finding::missing_rights);
  f.kind = static_cast<std::uint8_t>(Opcode::write);
  EXPECT_EQ(find(f, "RTE_PMD_CHIME_REMOTE_WRITE"), Finding::missing_rights);
  EXPECT_EQ(find(failure(0x13), "other queue pair"), Finding::missing_rights);
  f = failure(0x13);
  f.rkey = 0x4242;
  EXPECT_EQ(find(f, "remote access"), Finding::other) << "a key of another host";
}

TEST_F(Diagnosing, NoRoomForTheResult) {
  Failure f = failure(0x04);
  f.lkey = read_only;
  f.local = 0x7f0000008000;
  EXPECT_EQ(find(f, "RTE_PMD_CHIME_LOCAL_WRITE"), Finding::no_room_for_result);
  f = failure(0x04);
  f.local = 0x7f0000001ffc;
  EXPECT_EQ(find(f, "no room for the result"), Finding::no_room_for_result);
  EXPECT_EQ(find(failure(0x01), "no room for the result"), Finding::no_room_for_result);
  f.kind = static_cast<std::uint8_t>(Opcode::write);
  EXPECT_EQ(find(f), Finding::other);
}

TEST_F(Diagnosing, DoorbellBeforeRecord) {
  QpControl::Status status{};
  status.card.state = hca::QueuePair::State::rts;
  status.posted = status.recorded = 9;
  status.card.known_blocks = 8;
  EXPECT_EQ(diagnose(status, keys).finding, Finding::doorbell_before_record);
  status.recorded = 8;
  EXPECT_EQ(diagnose(status, keys).finding, Finding::doorbell_before_record);
  status.recorded = status.card.known_blocks = 9;
  status.outstanding = 1;
  EXPECT_EQ(diagnose(status, keys).finding, Finding::nothing);
  status.failure = failure(0x15);
  EXPECT_EQ(diagnose(status, keys).finding, Finding::other);
}

TEST(Explain, EverySyndromeHasCausesAndARemedy) {
  std::uint8_t last = 0;
  for (const Explanation& e : explanations()) {
    EXPECT_GT(e.syndrome, last);
    last = e.syndrome;
    EXPECT_STREQ(find_explanation(e.syndrome)->name, e.name);
    EXPECT_NE(std::string(e.sentence).find(e.causes), std::string::npos);
    EXPECT_NE(std::string(e.sentence).find(e.remedy), std::string::npos);
    EXPECT_STREQ(sentence_of(e.syndrome), e.sentence);
  }
  EXPECT_EQ(explanations().size(), 13u) << "as many as the manual has";
  EXPECT_STREQ(sentence_of(0), "no error");
  EXPECT_NE(std::string(sentence_of(0x77)).find("does not list"), std::string::npos);
  EXPECT_EQ(traps().size(), 5u);
  EXPECT_NE(find_trap("byte-order"), nullptr);
  EXPECT_EQ(find_trap("no-such"), nullptr);
}

TEST(KeyBook, ForgetsOldEndedKeysOnly) {
  KeyBook keys;
  for (std::uint32_t i = 0; i < 2000; ++i) {
    ASSERT_TRUE(keys.add({.key = i, .rights = 0, .address = i, .length = 1}));
    if (i % 2 == 1) keys.end(i);
  }
  KeyRecord record;
  for (std::uint32_t i = 0; i < 2000; i += 2) {
    ASSERT_TRUE(keys.find(i, record)) << i;
    EXPECT_TRUE(record.live);
  }
  EXPECT_FALSE(keys.find(1, record));
  EXPECT_TRUE(keys.find(1999, record));
  EXPECT_FALSE(record.live);
  // A number that came again.
  ASSERT_TRUE(keys.add({.key = 1999, .rights = 7, .address = 5, .length = 5}));
  EXPECT_TRUE(keys.find(1999, record));
  EXPECT_TRUE(record.live);
  EXPECT_TRUE(holds_for_card(keys, 1999, 5, 5, true));
  EXPECT_FALSE(holds_for_card(keys, 1999, 6, 5, true));
  EXPECT_FALSE(holds_for_card(keys, 1999, 4, 1, true));
  EXPECT_FALSE(holds_for_card(keys, 1999, UINT64_MAX, 5, true));
}

}  // namespace
}  // namespace chime::rdma
