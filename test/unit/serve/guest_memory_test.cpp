// SPDX-License-Identifier: BSD-3-Clause
// The guest's memory as QEMU describes it, and as it must not be believed.
#include "guest_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include "support.h"

namespace chime::serve::test {
namespace {

constexpr std::uint64_t mib = 1 << 20;

TEST(GuestMemory, IsNothingAtFirst) {
  GuestMemory memory;
  EXPECT_EQ(memory.map(0, 1), nullptr);
}

TEST(GuestMemory, IsTheFiles) {
  const FileDescriptor file = memory_file(4 * mib);
  GuestMemory memory;
  ProxySysmem map{};
  map.address[0] = 0;
  map.size[0] = mib;
  map.address[1] = 4ull << 30;  // above a hole
  map.size[1] = 2 * mib;
  map.offset[1] = mib;
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
  ASSERT_TRUE(memory.replace(one_region(mib), fd));
  const std::byte* const before = memory.map(0, 1);
  const std::uint64_t generation = memory.generation();
  const FileDescriptor again(dup(file.get()));
  const int same[] = {again.get()};
  ASSERT_TRUE(memory.replace(one_region(mib), same));
  EXPECT_EQ(memory.map(0, 1), before) << "another descriptor of the same file";
  EXPECT_EQ(memory.generation(), generation);
  ASSERT_TRUE(memory.replace(one_region(mib / 2), fd));
  EXPECT_NE(memory.generation(), generation);
  EXPECT_EQ(memory.map(mib / 2, 1), nullptr);
  ASSERT_TRUE(memory.replace(one_region(mib), {}));
  EXPECT_EQ(memory.map(0, 1), nullptr) << "no descriptor, no memory";
}

/// Each ends with no memory at all.
class BadMaps : public ::testing::Test {
 protected:
  BadMaps() {
    const int fd[] = {file.get()};
    EXPECT_TRUE(memory.replace(one_region(mib), fd));
    generation = memory.generation();
  }
  void refused(const ProxySysmem& map, std::span<const int> descriptors, const char* why) {
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
  refused(one_region(0), std::span(fds, 1), "is none");
}

TEST_F(BadMaps, ARegionLongerThanItsFile) {
  refused(one_region(mib + 1), std::span(fds, 1), "is none");
}

TEST_F(BadMaps, ARegionBehindItsFile) {
  ProxySysmem map = one_region(4096);
  map.offset[0] = mib + 4096;
  refused(map, std::span(fds, 1), "is none");
}

TEST_F(BadMaps, ANegativeOffset) {
  ProxySysmem map = one_region(4096);
  map.offset[0] = -4096;
  refused(map, std::span(fds, 1), "is none");
}

TEST_F(BadMaps, AnOffsetInAPage) {
  ProxySysmem map = one_region(4096);
  map.offset[0] = 5;
  refused(map, std::span(fds, 1), "mapping");
}

TEST_F(BadMaps, ARegionRoundTheEndOfAddresses) {
  ProxySysmem map = one_region(8192);
  map.address[0] = ~std::uint64_t{4095};
  refused(map, std::span(fds, 1), "is none");
}

TEST_F(BadMaps, RegionsThatOverlap) {
  ProxySysmem map = one_region(8192);
  map.address[1] = 4096;
  map.size[1] = 8192;
  refused(map, fds, "overlap");
}

TEST_F(BadMaps, ADescriptorThatIsNone) {
  const int none[] = {-1};
  refused(one_region(4096), none, "region 0");
}

TEST_F(BadMaps, ADescriptorThatIsNoMemory) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const FileDescriptor in(ends[0]), out(ends[1]);
  refused(one_region(4096), std::span(&ends[0], 1), "is none");
}

TEST_F(BadMaps, AFileThatCanOnlyBeRead) {
  const FileDescriptor read_only(
      open(("/proc/self/fd/" + std::to_string(file.get())).c_str(), O_RDONLY | O_CLOEXEC));
  const int fd[] = {read_only.get()};
  refused(one_region(4096), fd, "mapping");
}

TEST_F(BadMaps, MoreRegionsThanTheMessageHas) {
  const std::vector<int> nine(proxy_regions + 1, file.get());
  refused(one_region(4096), nine, "room for 8");
}

}  // namespace
}  // namespace chime::serve::test
