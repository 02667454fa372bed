// SPDX-License-Identifier: BSD-3-Clause
#include "model/object/memory.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace chime::model {
namespace {

/// Pages of 4 KiB that lie anywhere.
class Scattered final : public HostMemory {
 public:
  std::byte* map(std::uint64_t address, std::size_t length) noexcept override {
    ++calls;
    const auto page = pages.find(address & ~std::uint64_t{4095});
    if (page == pages.end()) return nullptr;
    std::byte* at = page->second + (address & 4095);
    // In one piece only as far as the next pages follow here too.
    for (std::uint64_t p = page->first + 4096; p < address + length; p += 4096) {
      const auto next = pages.find(p);
      if (next == pages.end() || next->second != page->second + (p - page->first)) return nullptr;
    }
    return at;
  }
  std::uint64_t generation() const noexcept override { return now; }

  std::map<std::uint64_t, std::byte*> pages;
  std::uint64_t now = 1;
  unsigned calls = 0;
};

class Pages : public ::testing::Test {
 protected:
  std::vector<std::byte> storage = std::vector<std::byte>(8 * 4096);
  Scattered memory;
  HostView host{memory};
  std::byte* at(std::size_t page) { return storage.data() + page * 4096; }

  PageList list(std::vector<std::uint64_t> addresses, std::uint64_t offset = 0) {
    auto made = PageList::make(addresses.size(), 12, offset);
    EXPECT_TRUE(made);
    for (std::size_t i = 0; i < addresses.size(); ++i) made->set_page(i, addresses[i]);
    return std::move(*made);
  }
};

TEST_F(Pages, InOneStretchAreOnePiece) {
  memory.pages = {{0x10000, at(0)}, {0x11000, at(1)}, {0x12000, at(2)}};
  PageList pages = list({0x10000, 0x11000, 0x12000}, 0x80);
  EXPECT_EQ(pages.resolve(host), 0u);
  EXPECT_EQ(pages.length(), 3 * 4096u - 0x80);
  EXPECT_EQ(pages.at(host, 0, 8), at(0) + 0x80);
  EXPECT_EQ(pages.chunk(host, 16, 100000).length, 3 * 4096u - 0x80 - 16);
  const unsigned before = memory.calls;
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(pages.at(host, 4096, 4096));
  EXPECT_EQ(memory.calls, before) << "no look-up";
  EXPECT_EQ(pages.at(host, 3 * 4096 - 0x80, 1), nullptr);
  EXPECT_EQ(pages.at(host, ~std::uint64_t{0}, 1), nullptr);
  EXPECT_EQ(pages.bus_address(0x1000), 0x11080u);
}

TEST_F(Pages, ElsewhereComeInPieces) {
  memory.pages = {{0x10000, at(4)}, {0x20000, at(0)}, {0x30000, at(1)}};
  PageList pages = list({0x10000, 0x20000, 0x30000});
  EXPECT_EQ(pages.resolve(host), 0u);
  EXPECT_EQ(pages.chunk(host, 4000, 10000).length, 96u);
  EXPECT_EQ(pages.chunk(host, 4096, 10000).length, 8192u) << "the last two follow each other here";
  EXPECT_EQ(pages.at(host, 4096, 64), at(0));
  EXPECT_EQ(pages.at(host, 4064, 64), nullptr) << "broken";
}

TEST_F(Pages, ThatAreNotThereGiveNothing) {
  memory.pages = {{0x10000, at(0)}, {0x30000, at(1)}};
  PageList pages = list({0x10000, 0x20000, 0x30000});
  EXPECT_EQ(pages.resolve(host), 1u);
  EXPECT_EQ(pages.at(host, 4096, 1), nullptr);
  EXPECT_EQ(pages.at(host, 8192, 1), at(1));
  EXPECT_EQ(pages.chunk(host, 0, 10000).length, 4096u);
}

TEST_F(Pages, AreLookedUpAgainWhenTheHostChanges) {
  memory.pages = {{0x10000, at(0)}};
  PageList pages = list({0x10000});
  pages.resolve(host);
  memory.pages = {{0x10000, at(5)}};
  EXPECT_EQ(pages.at(host, 0, 1), at(0)) << "the host has not said so";
  ++memory.now;
  host.refresh();
  EXPECT_EQ(pages.at(host, 0, 1), at(5));
  memory.pages.clear();
  ++memory.now;
  host.refresh();
  EXPECT_EQ(pages.at(host, 0, 1), nullptr);
}

TEST_F(Pages, OneAddressNeedsNoPage) {
  memory.pages = {{0x10000, at(0)}};
  PageList record = PageList::single(0x10ff8, 8);
  record.resolve(host);
  EXPECT_EQ(record.at(host, 0, 8), at(0) + 0xff8);
  EXPECT_EQ(record.at(host, 4, 8), nullptr);
}

TEST_F(Pages, BuffersAreAWindow) {
  memory.pages = {{0x10000, at(0)}, {0x11000, at(1)}};
  Umem umem;
  umem.pages = list({0x10000, 0x11000});
  Buffer buffer(host, umem, 4096, 64);
  EXPECT_EQ(umem.uses, 1u);
  EXPECT_EQ(buffer.at(0, 64), at(1));
  EXPECT_EQ(buffer.at(32, 64), nullptr);
  buffer = Buffer();
  EXPECT_EQ(umem.uses, 0u);
}

}  // namespace
}  // namespace chime::model
