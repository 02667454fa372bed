// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <bit>
#include <set>

#include "support.h"

namespace chime::wire::test {

namespace {

constexpr unsigned many = 20000;

// In the source address, which no fault changes.
std::vector<std::string> numbered(unsigned count, std::size_t length = 64) {
  std::vector<std::string> frames;
  for (unsigned i = 0; i < count; ++i) {
    frames.push_back(frame_bytes(length, i));
    frames.back().replace(6, 4, reinterpret_cast<const char*>(&i), 4);
  }
  return frames;
}

unsigned number_of(const std::string& frame) {
  unsigned number;
  std::copy_n(frame.data() + 6, sizeof number, reinterpret_cast<char*>(&number));
  return number;
}

int different_bits(const std::string& a, const std::string& b) {
  int count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    count += std::popcount(static_cast<unsigned char>(a[i] ^ b[i]));
  }
  return count;
}

}  // namespace

class FaultsTest : public WireTest {
 protected:
  std::vector<std::string> through_loop(const FaultSpec& faults, const std::vector<std::string>& frames,
                                        std::size_t batch = 32) {
    Plugged card(make("net_chime0", "loop", faults));
    for (std::size_t i = 0; i < frames.size(); i += batch) {
      transmit(*card.wire, {frames.begin() + static_cast<long>(i),
                            frames.begin() + static_cast<long>(std::min(i + batch, frames.size()))});
      card->poll(64);
    }
    clock.now += 10'000'000'000;
    card->poll(64);
    statistics = card->statistics();
    return card.port.received;
  }
  WireStatistics statistics;
};

TEST_F(FaultsTest, LossLosesAboutThatMany) {
  auto frames = numbered(many);
  auto received = through_loop({.loss_ppm = 100'000}, frames);
  EXPECT_NEAR(static_cast<double>(statistics.injected.lost), many / 10.0, 150);
  EXPECT_EQ(received.size() + statistics.injected.lost, many);
  EXPECT_EQ(statistics.rx_frames, received.size());
  EXPECT_TRUE(std::includes(frames.begin(), frames.end(), received.begin(), received.end(),
                            [](auto& a, auto& b) { return number_of(a) < number_of(b); }));
  EXPECT_EQ(statistics.tx_dropped.total(), 0u) << "what was asked for is no drop";
}

TEST_F(FaultsTest, AllIsLostAndNothingIs) {
  EXPECT_TRUE(through_loop({.loss_ppm = 1'000'000}, numbered(1000)).empty());
  EXPECT_EQ(through_loop({.loss_ppm = 0}, numbered(1000)), numbered(1000));
}

TEST_F(FaultsTest, DuplicatesFollowTheOriginal) {
  auto received = through_loop({.duplicate_ppm = 50'000}, numbered(many));
  EXPECT_NEAR(static_cast<double>(statistics.injected.duplicated), many / 20.0, 120);
  EXPECT_EQ(received.size(), many + statistics.injected.duplicated);
  auto unique = received;
  unique.erase(std::unique(unique.begin(), unique.end()), unique.end());
  EXPECT_EQ(unique, numbered(many));
}

TEST_F(FaultsTest, ReorderedComeAfterALaterOne) {
  auto received = through_loop({.reorder_ppm = 100'000}, numbered(many));
  ASSERT_EQ(received.size(), many);
  unsigned late = 0;
  for (std::size_t i = 1; i < received.size(); ++i) {
    if (number_of(received[i]) < number_of(received[i - 1])) ++late;
  }
  // One that was held back last of all has none behind it.
  EXPECT_GE(late + 1, statistics.injected.reordered);
  EXPECT_LE(late, statistics.injected.reordered);
  EXPECT_GT(statistics.injected.reordered, many / 15);
  std::sort(received.begin(), received.end(), [](auto& a, auto& b) { return number_of(a) < number_of(b); });
  EXPECT_EQ(received, numbered(many));
}

TEST_F(FaultsTest, OneHeldBackAloneGoesAfterAMillisecond) {
  Plugged card(make("net_chime0", "loop", {.reorder_ppm = 1'000'000}));
  transmit(*card.wire, {frame_bytes(64)});
  clock.now += 999'999;
  card->poll(64);
  EXPECT_TRUE(card.port.received.empty());
  clock.now += 1;
  EXPECT_EQ(card->poll(64), 1u);
  EXPECT_EQ(card.port.received.size(), 1u);
}

TEST_F(FaultsTest, CorruptionFlipsOneToThreeBitsBehindTheHeader) {
  auto frames = numbered(many, 300);
  auto received = through_loop({.corrupt_ppm = 200'000}, frames);
  ASSERT_EQ(received.size(), frames.size());
  unsigned corrupted = 0;
  std::set<int> flips;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    EXPECT_EQ(received[i].substr(0, 14), frames[i].substr(0, 14));
    int bits = different_bits(received[i], frames[i]);
    if (bits == 0) continue;
    ++corrupted;
    flips.insert(bits);
  }
  EXPECT_EQ(corrupted, statistics.injected.corrupted);
  EXPECT_NEAR(corrupted, many / 5.0, 250);
  EXPECT_EQ(flips, (std::set<int>{1, 2, 3}));
}

TEST_F(FaultsTest, CorruptsFramesOfAnySizeAndPieces) {
  for (std::size_t length : {1u, 13u, 14u, 15u, 60u, 9996u}) {
    Plugged card(make("net_chime0", "loop", {.corrupt_ppm = 1'000'000, .seed = length}));
    auto frame = frame_bytes(length);
    transmit(*card.wire, {frame, frame}, 7);
    ASSERT_EQ(card.port.received.size(), 2u);
    for (const auto& received : card.port.received) {
      int bits = different_bits(received, frame);
      EXPECT_GE(bits, 1) << length;
      EXPECT_LE(bits, 3) << length;
    }
  }
}

TEST_F(FaultsTest, DelayHoldsEveryFrame) {
  Plugged card(make("net_chime0", "loop", {.delay_us = 100}));
  transmit(*card.wire, {frame_bytes(64, 1)}, 10);
  clock.now += 50'000;
  transmit(*card.wire, {frame_bytes(64, 2), frame_bytes(9000, 3)}, 1000);
  card->poll(64);
  EXPECT_TRUE(card.port.received.empty());
  clock.now += 50'000;
  EXPECT_EQ(card->poll(64), 1u);
  EXPECT_EQ(card.port.received, std::vector<std::string>{frame_bytes(64, 1)});
  clock.now += 50'000;
  EXPECT_EQ(card->poll(64), 2u);
  EXPECT_EQ(card.port.received.back(), frame_bytes(9000, 3));
  EXPECT_EQ(card->statistics().injected.delayed, 3u);
}

TEST_F(FaultsTest, AFullDelayStoreDropsAndCounts) {
  // 4 MiB of frames on their way; the store wraps many times.
  Plugged card(make("net_chime0", "loop", {.delay_us = 10}));
  std::vector<std::string> expected;
  unsigned sent = 0;
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 600; ++i) {
      transmit(*card.wire, {frame_bytes(9000, sent++)}, 4096);
    }
    clock.now += 20'000;
    card->poll(64);
    for (auto& frame : card.port.received) expected.push_back(frame);
    card.port.received.clear();
  }
  WireStatistics s = card->statistics();
  EXPECT_GT(s.injected.no_room, 100u);
  EXPECT_EQ(s.injected.delayed + s.injected.no_room, sent);
  EXPECT_EQ(expected.size(), s.injected.delayed);
  unsigned at = 0;
  for (const auto& frame : expected) {
    while (at < sent && frame != frame_bytes(9000, at)) ++at;
    ASSERT_LT(at, sent) << "a frame that was not sent, or not in this order";
  }
}

TEST_F(FaultsTest, LinkDownIsSeenAndDrops) {
  Plugged a(make("net_chime0", "cable:x")), b(make("net_chime1", "cable:x"));
  int changes = a.port.changes;
  ASSERT_TRUE(factory->set_faults("net_chime0", {.link_down = true}));
  EXPECT_EQ(a.port.changes, changes + 1);
  EXPECT_FALSE(a->link().up);
  transmit(*a.wire, {frame_bytes(64)});
  transmit(*b.wire, {frame_bytes(64)});
  EXPECT_TRUE(a.port.received.empty() && b.port.received.empty());
  EXPECT_EQ(a->statistics().injected.link_down, 2u);
  ASSERT_TRUE(factory->set_faults("net_chime0", {}));
  EXPECT_TRUE(a->link().up);
  transmit(*b.wire, {frame_bytes(64)});
  EXPECT_EQ(a.port.received.size(), 1u);
}

TEST_F(FaultsTest, TheSameSeedHasTheSameFaults) {
  FaultSpec faults{.loss_ppm = 50'000, .duplicate_ppm = 50'000, .reorder_ppm = 50'000, .corrupt_ppm = 50'000};
  auto first = through_loop(faults, numbered(2000));
  EXPECT_EQ(through_loop(faults, numbered(2000)), first);
  EXPECT_EQ(through_loop(faults, numbered(2000), 7), first) << "however they are batched";
  faults.seed = 2;
  EXPECT_NE(through_loop(faults, numbered(2000)), first);
}

TEST_F(FaultsTest, RestartsFromTheSeedWhenSet) {
  FaultSpec faults{.loss_ppm = 300'000, .seed = 7};
  Plugged card(make("net_chime0", "loop", faults));
  transmit(*card.wire, numbered(500));
  auto first = card.port.received;
  card.port.received.clear();
  ASSERT_TRUE(factory->set_faults("net_chime0", faults));
  transmit(*card.wire, numbered(500));
  EXPECT_EQ(card.port.received, first);
}

TEST_F(FaultsTest, OneFaultDoesNotMoveAnother) {
  auto corrupted = [&](const FaultSpec& faults) {
    std::set<unsigned> numbers;
    auto frames = numbered(2000, 200);
    for (const auto& frame : through_loop(faults, frames)) {
      unsigned number = number_of(frame);
      if (number < frames.size() && frame != frames[number]) numbers.insert(number);
    }
    return numbers;
  };
  auto alone = corrupted({.corrupt_ppm = 20'000});
  auto beside_loss = corrupted({.loss_ppm = 100'000, .corrupt_ppm = 20'000});
  EXPECT_FALSE(beside_loss.empty());
  EXPECT_TRUE(std::includes(alone.begin(), alone.end(), beside_loss.begin(), beside_loss.end()));
}

TEST_F(FaultsTest, TheTwoWaysOfACableDiffer) {
  Plugged a(make("net_chime0", "cable:x", {.loss_ppm = 500'000})), b(make("net_chime1", "cable:x"));
  transmit(*a.wire, numbered(200));
  transmit(*b.wire, numbered(200));
  EXPECT_NE(a.port.received, b.port.received);
  EXPECT_EQ(a->statistics().injected.lost, 400 - a.port.received.size() - b.port.received.size());
  EXPECT_EQ(b->statistics().injected.lost, 0u);
}

TEST_F(FaultsTest, HeldFramesGoWhenFaultsAreTakenAway) {
  Plugged card(make("net_chime0", "loop", {.delay_us = 1000}));
  transmit(*card.wire, numbered(100));
  EXPECT_TRUE(card.port.received.empty());
  ASSERT_TRUE(factory->set_faults("net_chime0", {}));
  EXPECT_EQ(card.port.received, numbered(100));
}

TEST_F(FaultsTest, UnpluggingThrowsHeldFramesAway) {
  Plugged card(make("net_chime0", "loop", {.delay_us = 1000}));
  transmit(*card.wire, numbered(100));
  card->plug(nullptr);
  card->plug(&card.port);
  clock.now += 10'000'000;
  card->poll(64);
  EXPECT_TRUE(card.port.received.empty());
}

TEST_F(FaultsTest, RefusesImpossibleFaults) {
  EXPECT_EQ(refused("net_chime0", "loop", {.loss_ppm = 1'000'001}).errnum, EINVAL);
  EXPECT_EQ(refused("net_chime0", "loop", {.delay_us = 1'000'001}).errnum, EINVAL);
  Error error = refused("net_chime0", "loop", {.corrupt_ppm = 2'000'000});
  EXPECT_STREQ(error.text,
               "net_chime0: faults of wire loop: corruption of 2000000 parts of a million is more than all "
               "(1000000)");
  auto wire = make("net_chime0", "loop");
  EXPECT_EQ(factory->set_faults("net_chime0", {.reorder_ppm = 1'000'001}).error().errnum, EINVAL);
}

}  // namespace chime::wire::test
