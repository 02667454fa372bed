// SPDX-License-Identifier: BSD-3-Clause
#include "rdma/capabilities.h"

#include <gtest/gtest.h>

#include "prm/enums.h"

namespace chime::rdma {
namespace {

Capabilities card(std::uint16_t operations, std::uint16_t sizes) {
  Capabilities c;
  c.operations = operations;
  c.sizes = sizes;
  c.max_ds = 63;
  return c;
}

std::uint16_t sizes_of(const Capabilities& c, Opcode opcode) {
  return c.atomics().sizes[static_cast<std::uint8_t>(opcode)];
}

TEST(Capabilities, OperationsAreThereAtTheirSizes) {
  const Capabilities all = card(0xf, 0x1fc);
  EXPECT_EQ(sizes_of(all, Opcode::fetch_add), 0x1fc);
  EXPECT_EQ(sizes_of(all, Opcode::fetch_or), 0x1fc);
  EXPECT_EQ(sizes_of(all, Opcode::write), 0);
  const Capabilities plain = card(0x3, 0x8);
  EXPECT_EQ(sizes_of(plain, Opcode::fetch_add), 0x8);
  EXPECT_EQ(sizes_of(plain, Opcode::compare_swap), 0x8);
  EXPECT_EQ(sizes_of(plain, Opcode::fetch_xor), 0);
  EXPECT_EQ(sizes_of(plain, Opcode::masked_compare_swap), 0);
  const Capabilities none = card(0, 0x1fc);
  for (unsigned i = 0; i < opcodes; ++i) EXPECT_EQ(none.atomics().sizes[i], 0);
  EXPECT_EQ(none.largest(), 0u);
}

TEST(Capabilities, AtomicModeFollowsTheLinuxRule) {
  EXPECT_EQ(card(0, 0).atomic_mode(), static_cast<int>(prm::atomic_mode::none));
  EXPECT_EQ(card(0x3, 0x8).atomic_mode(), static_cast<int>(prm::atomic_mode::ib_spec));
  EXPECT_EQ(card(0xf, 0x4).atomic_mode(), static_cast<int>(prm::atomic_mode::up_to_8b));
  EXPECT_EQ(card(0xf, 0x3c).atomic_mode(), static_cast<int>(prm::atomic_mode::up_to_32b));
  EXPECT_EQ(card(0xf, 0x1fc).atomic_mode(), static_cast<int>(prm::atomic_mode::up_to_256b));
}

TEST(Capabilities, GlobalNeedsPciAtomicsOfBoth) {
  Capabilities c = card(0xf, 0x1fc);
  EXPECT_FALSE(c.global());
  c.pci_fetch_add = 0x8;
  EXPECT_FALSE(c.global());
  c.pci_compare_swap = 0x4;
  EXPECT_FALSE(c.global()) << "of 4 bytes only";
  c.pci_compare_swap = 0xc;
  EXPECT_TRUE(c.global());
}

TEST(Capabilities, WritesAreAtomicWithinAnAlignedUnit) {
  const Capabilities c = card(0xf, 0x3c);  // up to 32 bytes
  using enum WriteAtomicity;
  EXPECT_EQ(write_atomicity(c, true, 0x1000, 8), atomic);
  EXPECT_EQ(write_atomicity(c, true, 0x1000, 32), atomic);
  EXPECT_EQ(write_atomicity(c, true, 0x1008, 24), atomic) << "within the 32 bytes at 0x1000";
  EXPECT_EQ(write_atomicity(c, true, 0x1004, 8), crosses_a_unit) << "no unit of 8 bytes";
  EXPECT_EQ(write_atomicity(c, true, 0x101c, 8), crosses_a_unit);
  EXPECT_EQ(write_atomicity(c, true, 0x1000, 33), too_long);
  EXPECT_EQ(write_atomicity(c, false, 0x1000, 8), not_enabled);
  EXPECT_EQ(write_atomicity(card(0, 0), true, 0x1000, 8), no_atomics);
  EXPECT_EQ(write_atomicity(c, true, 0x1000, 0), empty);
  EXPECT_EQ(write_atomicity(c, true, UINT64_MAX - 7, 8), atomic);
}

}  // namespace
}  // namespace chime::rdma
