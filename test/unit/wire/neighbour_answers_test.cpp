// SPDX-License-Identifier: BSD-3-Clause
#include "support.h"

/// @file
/// Who asks for an address of the port gets an answer. Questions and answers are scapy's.

namespace chime::wire::test {
namespace {

const char* const arp_request =
    "ffffffffffff020000000009080600010800060400010200000000090a0000090000000000000a000001000000"
    "000000000000000000000000000000";
const char* const arp_reply =
    "020000000009024348000001080600010800060400020243480000010a0000010200000000090a000009000000"
    "000000000000000000000000000000";
const char* const solicitation =
    "3333ff00000102000000000986dd6000000000203aff20010db8000000000000000000000009ff020000000000"
    "0000000001ff00000187001c190000000020010db80000000000000000000000010101020000000009";
const char* const advertisement =
    "02000000000902434800000186dd6000000000203aff20010db800000000000000000000000120010db8000000"
    "000000000000000009880042296000000020010db80000000000000000000000010201024348000001";
const char* const detection =
    "3333ff00000102000000000986dd6000000000183aff00000000000000000000000000000000ff020000000000"
    "0000000001ff00000187004ced0000000020010db8000000000000000000000001";
const char* const to_all =
    "33330000000102434800000186dd6000000000203aff20010db8000000000000000000000001ff020000000000"
    "0000000000000000018800b0e72000000020010db80000000000000000000000010201024348000001";

std::string bytes(const char* hex) {
  std::string text;
  for (; *hex != '\0'; hex += 2)
    text.push_back(static_cast<char>(std::stoi(std::string(hex, 2), nullptr, 16)));
  return text;
}

constexpr std::array<std::uint8_t, 6> mac = {2, 'C', 'H', 0, 0, 1};
constexpr OwnAddress own[] = {
    {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1}, mac},
    {{0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, mac},
};

struct NeighbourAnswersTest : WireTest {
  void SetUp() override {
    WireTest::SetUp();
    auto made = factory->make(
        {.port_name = "net_chime0", .wire = "cable:x", .faults = {}, .responder = true, .link_mbps = 0},
        executor, clock);
    ASSERT_TRUE(made);
    card = std::make_unique<Plugged>(std::move(*made));
    ASSERT_TRUE((*card)->answers());
    ASSERT_TRUE((*card)->answer_for(own));
    other = std::make_unique<Plugged>(make("net_chime1", "cable:x"));
    EXPECT_FALSE((*other)->answers());
  }
  /// @return what comes back
  std::vector<std::string> ask(const std::vector<std::string>& frames, std::size_t piece = SIZE_MAX) {
    other->port.received.clear();
    transmit(*other->wire, frames, piece);
    EXPECT_TRUE(other->port.received.empty()) << "nothing is sent while frames come";
    (*card)->poll(64);
    return other->port.received;
  }

  std::unique_ptr<Plugged> card, other;
};

TEST_F(NeighbourAnswersTest, Arp) {
  EXPECT_EQ(ask({bytes(arp_request)}), std::vector{bytes(arp_reply)});
  EXPECT_EQ(ask({bytes(arp_request)}, 7), std::vector{bytes(arp_reply)}) << "in pieces";
  EXPECT_TRUE(card->port.received.empty()) << "the port does not see it";
}

TEST_F(NeighbourAnswersTest, NeighbourDiscovery) {
  EXPECT_EQ(ask({bytes(solicitation)}), std::vector{bytes(advertisement)});
  EXPECT_EQ(ask({bytes(detection)}), std::vector{bytes(to_all)});
}

TEST_F(NeighbourAnswersTest, OtherFramesPassInOrder) {
  std::string elsewhere = bytes(arp_request), reply = bytes(arp_request), wrong = bytes(solicitation),
              routed = bytes(solicitation), cut = bytes(solicitation);
  elsewhere[14 + 27] = 77;  // somebody else's address
  reply[14 + 7] = 2;        // no question
  wrong[14 + 40 + 2] ^= 1;  // checksum
  routed[14 + 7] = 64;      // hop limit
  cut.resize(14 + 40 + 20);
  const std::vector<std::string> all = {
      frame_bytes(64, 1),  elsewhere, bytes(arp_request), reply, wrong, bytes(solicitation), routed, cut,
      frame_bytes(1514, 2)};
  EXPECT_EQ(ask(all), (std::vector{bytes(arp_reply), bytes(advertisement)}));
  EXPECT_EQ(card->port.received,
            (std::vector{all[0], elsewhere, reply, wrong, routed, cut, frame_bytes(1514, 2)}));
}

TEST_F(NeighbourAnswersTest, MoreQuestionsThanRoom) {
  EXPECT_EQ(ask(std::vector(100, bytes(arp_request))).size(), NeighbourAnswers::room);
  EXPECT_EQ(ask({bytes(arp_request)}).size(), 1u) << "it goes on";
}

TEST_F(NeighbourAnswersTest, AddressesAreReplaced) {
  ASSERT_TRUE((*card)->answer_for({}));
  EXPECT_TRUE(ask({bytes(arp_request)}).empty());
  EXPECT_EQ(card->port.received, std::vector{bytes(arp_request)});
}

}  // namespace
}  // namespace chime::wire::test
