// SPDX-License-Identifier: BSD-3-Clause
// MSI-X: what is delivered, held back and lost (PCI Local Bus 3.0, 6.8.2 and 6.8.3).
#include <linux/pci_regs.h>

#include "machine.h"

namespace chime::test {
namespace {

constexpr std::uint64_t address = 0xfee01000;

class Vectors : public ::testing::Test {
 protected:
  Vectors() : msix_(const_cast<model::pci::Msix&>(machine.function().interrupts())) {}
  void flags(std::uint32_t value) {
    machine.set_config(machine.capability(PCI_CAP_ID_MSIX) + PCI_MSIX_FLAGS, value, 2);
  }
  std::uint32_t table(std::uint32_t offset) {
    return static_cast<std::uint32_t>(machine.function().read_bar(0x8000 + offset, 4));
  }

  Machine machine;
  model::pci::Msix& msix_;  ///< raised as the card would
};

TEST_F(Vectors, AreMaskedAtFirst) {
  for (unsigned i = 0; i < 64; ++i) EXPECT_EQ(table(i * 16 + 12), 1u) << i;
  EXPECT_EQ(table(64 * 16), 0u) << "the table ends";
}

TEST_F(Vectors, DeliverWhatTheTableSays) {
  machine.set_vector(3, address, 0x4021);
  msix_.raise(3);
  ASSERT_EQ(machine.messages.size(), 1u);
  EXPECT_EQ(machine.messages[0], std::pair(address, 0x4021u));
  EXPECT_EQ(msix_.delivered(), 1u);
  EXPECT_EQ(machine.pending(), 0u);
}

TEST_F(Vectors, TakeAddressesAbove4GiB) {
  machine.set_vector(63, 0x1'0000'0004, 7);
  msix_.raise(63);
  ASSERT_EQ(machine.messages.size(), 1u);
  EXPECT_EQ(machine.messages[0], std::pair(std::uint64_t{0x1'0000'0004}, 7u));
}

TEST_F(Vectors, AnAddressLosesItsLowBits) {
  machine.set_vector(0, address | 3, 0);
  EXPECT_EQ(table(0), address);
  machine.function().write_bar(0x800c, 0xffffffff, 4);
  EXPECT_EQ(table(12), 1u) << "of the control word the mask alone";
}

TEST_F(Vectors, WaitWhileMasked) {
  machine.set_vector(1, address, 1, true);
  machine.set_vector(40, address, 40, true);
  msix_.raise(1);
  msix_.raise(1);
  msix_.raise(40);
  EXPECT_TRUE(machine.messages.empty());
  EXPECT_EQ(machine.pending(), 2u);
  EXPECT_EQ(machine.function().read_bar(0x9004, 4), 1u << 8);
  EXPECT_EQ(machine.function().read_bar(0x9000, 8), std::uint64_t{1} << 40 | 2);
  machine.function().write_bar(0x8000 + 16 + 12, 0, 4);
  ASSERT_EQ(machine.messages.size(), 1u) << "once, however often it was raised";
  EXPECT_EQ(machine.messages[0].second, 1u);
  EXPECT_EQ(machine.pending(), 0u);
}

TEST_F(Vectors, WaitWhileTheFunctionIsMasked) {
  machine.set_vector(0, address, 10);
  machine.set_vector(2, address, 12);
  machine.set_vector(5, address, 15, true);
  flags(PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL);
  for (unsigned i : {0u, 2u, 5u}) msix_.raise(i);
  EXPECT_TRUE(machine.messages.empty());
  EXPECT_EQ(machine.pending(), 0x25u);
  flags(PCI_MSIX_FLAGS_ENABLE);
  EXPECT_EQ(machine.messages.size(), 2u);
  EXPECT_EQ(machine.pending(), 0x20u) << "the vector's own mask still holds";
}

TEST_F(Vectors, PendingBitsAreReadOnly) {
  machine.set_vector(1, address, 1, true);
  msix_.raise(1);
  machine.function().write_bar(0x9000, 0, 4);
  EXPECT_EQ(machine.pending(), 2u);
}

TEST_F(Vectors, AreLostWhenNobodyCanHearThem) {
  msix_.raise(64);
  EXPECT_EQ(msix_.lost(), 1u) << "no such vector";
  machine.function().write_bar(0x8000 + 12, 0, 4);
  msix_.raise(0);
  EXPECT_EQ(msix_.lost(), 2u) << "a table entry that was never set";
  machine.set_vector(0, address, 1);
  flags(0);
  msix_.raise(0);
  EXPECT_EQ(msix_.lost(), 3u) << "MSI-X is off";
  flags(PCI_MSIX_FLAGS_ENABLE);
  EXPECT_TRUE(machine.messages.empty());
  machine.set_config(PCI_COMMAND, PCI_COMMAND_MEMORY, 2);
  msix_.raise(0);
  EXPECT_EQ(msix_.lost(), 4u) << "no bus master: no write reaches the host";
  EXPECT_TRUE(machine.messages.empty());
  EXPECT_EQ(msix_.delivered(), 0u);
}

TEST_F(Vectors, AResetForgetsThem) {
  machine.set_vector(1, address, 1, true);
  msix_.raise(1);
  machine.function().reset();
  machine.set_up();
  EXPECT_EQ(machine.pending(), 0u);
  EXPECT_EQ(table(16), 0u);
  EXPECT_EQ(table(16 + 12), 1u);
}

}  // namespace
}  // namespace chime::test
