// SPDX-License-Identifier: BSD-3-Clause
// The guest's memory as QEMU describes it, and as it must not be believed.
#include "guest_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include "support.h"

namespace chime::serve::test {
namespace {

constexpr std::uint64_t mib = 1 << 20;

/// One piece at guest address 0.
std::vector<MemoryPiece> one_piece(std::uint64_t size) {
  return {{0, size, 0}};
}

TEST(GuestMemory, IsNothingAtFirst) {
  GuestMemory memory;
  EXPECT_EQ(memory.map(0, 1), nullptr);
}

TEST(GuestMemory, IsTheFiles) {
  const FileDescriptor file = memory_file(4 * mib);
  GuestMemory memory;
  const MemoryPiece map[] = {{0, mib, 0}, {4ull << 30, 2 * mib, mib}};  // a hole between them
  const int both[] = {file.get(), file.get()};
  ASSERT_TRUE(memory.replace(map, both));
  std::byte* const high = memory.map((4ull << 30) + 5, 1);
  ASSERT_NE(high, nullptr);
  *high = std::byte{0x77};
  std::byte seen{};
  ASSERT_EQ(pread(file.get(), &seen, 1, static_cast<off_t>(mib + 5)), 1);
  EXPECT_EQ(seen, std::byte{0x77});
  EXPECT_NE(memory.map(0, mib), nullptr);
  EXPECT_EQ(memory.map(0, mib + 1), nullptr) << "ends";
  EXPECT_EQ(memory.map(mib, 1), nullptr) << "the hole";
  EXPECT_NE(memory.map((4ull << 30) + 2 * mib - 1, 1), nullptr);
  EXPECT_EQ(memory.map((4ull << 30) + 2 * mib - 1, 2), nullptr);
  EXPECT_EQ(memory.map(~std::uint64_t{0}, 1), nullptr);
  EXPECT_EQ(memory.map(0, ~std::size_t{0}), nullptr);
}

TEST(GuestMemory, ARepeatedMapIsTheSame) {
  const FileDescriptor file = memory_file(mib);
  GuestMemory memory;
  const int fd[] = {file.get()};
  ASSERT_TRUE(memory.replace(one_piece(mib), fd));
  const std::byte* const before = memory.map(0, 1);
  const std::uint64_t generation = memory.generation();
  const FileDescriptor again(dup(file.get()));
  const int same[] = {again.get()};
  ASSERT_TRUE(memory.replace(one_piece(mib), same));
  EXPECT_EQ(memory.map(0, 1), before) << "another descriptor of the same file";
  EXPECT_EQ(memory.generation(), generation);
  ASSERT_TRUE(memory.replace(one_piece(mib / 2), fd));
  EXPECT_NE(memory.generation(), generation);
  EXPECT_EQ(memory.map(mib / 2, 1), nullptr);
  ASSERT_TRUE(memory.replace({}, {}));
  EXPECT_EQ(memory.map(0, 1), nullptr) << "no piece, no memory";
}

/// Each ends with no memory at all.
class BadMaps : public ::testing::Test {
 protected:
  BadMaps() {
    const int fd[] = {file.get()};
    EXPECT_TRUE(memory.replace(one_piece(mib), fd));
    generation = memory.generation();
  }
  void refused(std::span<const MemoryPiece> map, std::span<const int> descriptors, const char* why) {
    const auto replaced = memory.replace(map, descriptors);
    ASSERT_FALSE(replaced);
    EXPECT_NE(std::string(replaced.error().text).find(why), std::string::npos) << replaced.error().text;
    EXPECT_EQ(memory.map(0, 1), nullptr);
    EXPECT_NE(memory.generation(), generation);
  }

  const FileDescriptor file = memory_file(mib);
  const int fds[2] = {file.get(), file.get()};
  GuestMemory memory;
  std::uint64_t generation = 0;
};

TEST_F(BadMaps, ARegionOfNothing) {
  refused(one_piece(0), std::span(fds, 1), "is none");
}

TEST_F(BadMaps, ARegionLongerThanItsFile) {
  refused(one_piece(mib + 1), std::span(fds, 1), "is none");
}

TEST_F(BadMaps, ARegionBehindItsFile) {
  auto map = one_piece(4096);
  map[0].offset = mib + 4096;
  refused(map, std::span(fds, 1), "is none");
}

TEST_F(BadMaps, ANegativeOffset) {
  auto map = one_piece(4096);
  map[0].offset = -4096;
  refused(map, std::span(fds, 1), "is none");
}

TEST_F(BadMaps, AnOffsetInAPage) {
  auto map = one_piece(4096);
  map[0].offset = 5;
  refused(map, std::span(fds, 1), "mapping");
}

TEST_F(BadMaps, ARegionRoundTheEndOfAddresses) {
  auto map = one_piece(8192);
  map[0].address = ~std::uint64_t{4095};
  refused(map, std::span(fds, 1), "is none");
}

TEST_F(BadMaps, RegionsThatOverlap) {
  auto map = one_piece(8192);
  map.push_back({4096, 8192, 0});
  refused(map, fds, "overlap");
}

TEST_F(BadMaps, ADescriptorThatIsNone) {
  const int none[] = {-1};
  refused(one_piece(4096), none, "region 0");
}

TEST_F(BadMaps, ADescriptorThatIsNoMemory) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const FileDescriptor in(ends[0]), out(ends[1]);
  refused(one_piece(4096), std::span(&ends[0], 1), "is none");
}

TEST_F(BadMaps, AFileThatCanOnlyBeRead) {
  const FileDescriptor read_only(
      open(("/proc/self/fd/" + std::to_string(file.get())).c_str(), O_RDONLY | O_CLOEXEC));
  const int fd[] = {read_only.get()};
  refused(one_piece(4096), fd, "mapping");
}

TEST_F(BadMaps, MoreRegionsThanThereIsRoomFor) {
  std::vector<MemoryPiece> many;
  for (std::uint64_t i = 0; i <= GuestMemory::most_pieces; ++i) many.push_back({i * 4096, 4096, 0});
  const std::vector<int> files(many.size(), file.get());
  refused(many, files, "more than 64 regions");
}

/// Memory that comes and goes piece by piece.
class Pieces : public ::testing::Test {
 protected:
  void refused(const Result<>& done, const char* why) {
    ASSERT_FALSE(done);
    EXPECT_NE(std::string(done.error().text).find(why), std::string::npos) << done.error().text;
  }
  const FileDescriptor file = memory_file(mib);
  GuestMemory memory;
};

TEST_F(Pieces, ComeAndGo) {
  ASSERT_TRUE(memory.add({0, 0x2000, 0}, file.get()));
  ASSERT_TRUE(memory.add({0x4000, 0x2000, 0x2000}, file.get()));
  ASSERT_TRUE(memory.add({0x2000, 0x1000, 0x4000}, file.get()));
  std::byte* const kept = memory.map(0x4000, 0x2000);
  ASSERT_NE(kept, nullptr);
  EXPECT_EQ(memory.map(0x1fff, 2), nullptr) << "neighbours are pieces of their own";
  const std::uint64_t generation = memory.generation();
  ASSERT_TRUE(memory.remove(0, 0x3000)) << "two of them";
  EXPECT_NE(memory.generation(), generation);
  EXPECT_EQ(memory.map(0, 1), nullptr);
  EXPECT_EQ(memory.map(0x2000, 1), nullptr);
  EXPECT_EQ(memory.map(0x4000, 0x2000), kept);
  ASSERT_TRUE(memory.remove(0x100000, 0x1000)) << "none";
  ASSERT_TRUE(memory.add({0, 0x2000, 0}, file.get())) << "there is room again";
}

TEST_F(Pieces, LeaveTheOthersWhenTheyAreRefused) {
  ASSERT_TRUE(memory.add({0x1000, 0x2000, 0}, file.get()));
  const std::byte* const before = memory.map(0x1000, 0x2000);
  const std::uint64_t generation = memory.generation();
  refused(memory.add({0x2000, 0x1000, 0}, file.get()), "overlap");
  refused(memory.add({0x8000, 2 * mib, 0}, file.get()), "is none");
  refused(memory.add({0x8000, 0x1000, 5}, file.get()), "mapping");
  refused(memory.add({0x8000, 0x1000, 0}, -1), "region 1");
  refused(memory.remove(0x1000, 0x1000), "only a part");
  refused(memory.remove(0x2000, 0x1000), "only a part");
  refused(memory.remove(0x2000, 0), "no range");
  refused(memory.remove(~std::uint64_t{0}, 2), "no range");
  EXPECT_EQ(memory.map(0x1000, 0x2000), before);
  EXPECT_EQ(memory.generation(), generation);
}

TEST_F(Pieces, HaveAnEnd) {
  for (std::uint64_t i = 0; i < GuestMemory::most_pieces; ++i)
    ASSERT_TRUE(memory.add({i * 4096, 4096, 0}, file.get())) << i;
  refused(memory.add({mib, 4096, 0}, file.get()), "more than 64 regions");
  memory.clear();
  EXPECT_TRUE(memory.add({mib, 4096, 0}, file.get()));
}

}  // namespace
}  // namespace chime::serve::test
