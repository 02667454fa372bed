// SPDX-License-Identifier: BSD-3-Clause
#include <cstring>
#include <set>
#include <vector>

#include "card.h"
#include "path.h"

namespace chime::test {
namespace {

class Doorbells : public CardTest {
 protected:
  static std::array<std::byte, 64> frame() {
    std::array<std::byte, 64> bytes{};
    bytes[0] = std::byte{0xff};
    bytes[12] = std::byte{0x88};
    bytes[13] = std::byte{0xb5};
    return bytes;
  }
};

TEST_F(Doorbells, RunOverARingOfCells) {
  auto uar = device->alloc_uar();
  ASSERT_TRUE(uar) << why(uar);
  EXPECT_EQ(uar->send.step, 8);
  EXPECT_EQ(uar->send.mask, 0x3f8);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(uar->send.base) % 64, 0u);
}

/// A writer that laps the drain any number of times loses nothing: the records say how far it is.
TEST_F(Doorbells, LappingLosesNoRing) {
  auto path = Path::make(*device);
  ASSERT_TRUE(path) << why(path);
  path->post_receives(60);
  const auto sent = frame();
  for (const unsigned rings : {1u, 127u, 128u, 129u, 300u, 1u, 5u}) {
    unsigned packets = 0;
    for (unsigned n = 0; n < 50; ++n, ++packets) path->send(sent);
    // Rings of the same last WQE again: the card knows them already.
    for (unsigned n = 0; n < rings; ++n) {
      std::uint64_t value;
      std::memcpy(&value, path->sq.ring() + (path->sent - 1u) % 64 * prm::wqebb_size, sizeof value);
      path->doorbell.ring(&path->sq.record()->send.raw, prm::host_to_be(std::uint32_t{path->sent}), value);
    }
    settle();
    unsigned got = 0;
    while (path->poll_receive()) ++got;
    EXPECT_EQ(got, packets) << rings << " rings";
    while (path->poll_send()) {
    }
    path->post_receives(got);
  }
}

TEST_F(Doorbells, ManyUarsAllRing) {
  std::vector<Path> paths;
  for (int i = 0; i < 3; ++i) {
    auto path = Path::make(*device);
    ASSERT_TRUE(path) << why(path);
    paths.push_back(std::move(*path));
  }
  std::vector<hca::Uar> idle;
  for (int i = 0; i < 40; ++i) {
    auto uar = device->alloc_uar();
    ASSERT_TRUE(uar) << why(uar);
    idle.push_back(std::move(*uar));
  }
  for (int round = 0; round < 400; ++round) {
    Path& path = paths[static_cast<unsigned>(round) % paths.size()];
    path.send(frame());
    settle();
    ASSERT_NE(path.poll_send(), nullptr) << round;
    idle.erase(idle.begin(), idle.begin() + (round % 20 == 0 && !idle.empty()));
  }
  idle.clear();
  while (!paths.empty()) paths.pop_back();
}

TEST_F(Doorbells, ArmsHaveACellEach) {
  auto path = Path::make(*device);
  ASSERT_TRUE(path) << why(path);
  auto eqn = device->query_eqn(0);
  std::vector<hca::CompletionQueue> cqs;
  std::set<std::byte*> cells;
  for (int i = 0; i < 8; ++i) {
    auto cq = hca::CompletionQueue::create(
        *device, {.log_size = 4, .uar_page = path->uar.page_id(), .eqn = *eqn, .socket = SOCKET_ID_ANY});
    ASSERT_TRUE(cq) << why(cq);
    cqs.push_back(std::move(*cq));
    auto arm = device->arm_doorbell(path->uar, cqs.back().object());
    ASSERT_TRUE(arm) << why(arm);
    EXPECT_EQ(arm->mask, 0);
    cells.insert(arm->base);
    auto again = device->arm_doorbell(path->uar, cqs.back().object());
    ASSERT_TRUE(again);
    EXPECT_EQ(again->base, arm->base);
  }
  EXPECT_EQ(cells.size(), 8u);
  auto full = device->arm_doorbell(path->uar, path->receive_cq.object());
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().errnum, ENOSPC);
  cqs.pop_back();
  EXPECT_TRUE(device->arm_doorbell(path->uar, path->receive_cq.object()));

  auto other = device->alloc_uar();
  ASSERT_TRUE(other);
  auto wrong = device->arm_doorbell(*other, path->receive_cq.object());
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().errnum, EINVAL);
}

}  // namespace
}  // namespace chime::test
