// SPDX-License-Identifier: BSD-3-Clause
// Configuration space, as firmware and kernels probe it.
#include "model/pci/config_space.h"

#include <linux/pci_regs.h>

#include "machine.h"

namespace chime::test {
namespace {

using model::pci::ConfigSpace;
using model::pci::Function;

TEST(ConfigSpace, TellsWhatTheCardIs) {
  Machine machine("connectx6dx", false);
  EXPECT_EQ(machine.config(PCI_VENDOR_ID, 2), 0x15b3u);
  EXPECT_EQ(machine.config(PCI_DEVICE_ID, 2), 0x101du);
  EXPECT_EQ(machine.config(0), 0x101d15b3u);
  EXPECT_EQ(machine.config(PCI_CLASS_DEVICE, 2), 0x0200u);
  EXPECT_EQ(machine.config(PCI_HEADER_TYPE, 1), 0u);
  EXPECT_EQ(machine.config(PCI_SUBSYSTEM_VENDOR_ID, 2), 0x15b3u);
  EXPECT_NE(machine.config(PCI_STATUS, 2) & PCI_STATUS_CAP_LIST, 0u);
}

TEST(ConfigSpace, ReadOnlyBitsStay) {
  Machine machine("connectx6dx", false);
  for (std::uint32_t at = 0; at < ConfigSpace::size; at += 4) {
    if (at == 0x68 || at >= ConfigSpace::vendor) continue;  // device control: bit 15 resets; the gateway
    const std::uint32_t before = machine.config(at);
    machine.set_config(at, 0xffffffff);
    const std::uint32_t ones = machine.config(at);
    machine.set_config(at, 0);
    const std::uint32_t zeros = machine.config(at);
    EXPECT_EQ(before & ~(ones ^ zeros), zeros & ~(ones ^ zeros)) << std::hex << at;
  }
  EXPECT_EQ(machine.config(0), 0x101d15b3u);
  EXPECT_EQ(machine.config(PCI_STATUS, 2), std::uint32_t{PCI_STATUS_CAP_LIST});
}

TEST(ConfigSpace, TheBarIsSizedByWritingOnes) {
  Machine machine("connectx6dx", false);
  EXPECT_EQ(machine.config(PCI_BASE_ADDRESS_0), 0u) << "32-bit memory, not prefetchable";
  machine.set_config(PCI_BASE_ADDRESS_0, 0xffffffff);
  EXPECT_EQ(~machine.config(PCI_BASE_ADDRESS_0) + 1, Function::bar_size);
  machine.set_config(PCI_BASE_ADDRESS_0, 0xe1234567);
  EXPECT_EQ(machine.config(PCI_BASE_ADDRESS_0), 0xe0000000u) << "aligned to its size";
  for (std::uint32_t other = PCI_BASE_ADDRESS_1; other <= PCI_CARDBUS_CIS; other += 4) {
    machine.set_config(other, 0xffffffff);
    EXPECT_EQ(machine.config(other), 0u) << std::hex << other;
  }
  machine.set_config(PCI_ROM_ADDRESS, 0xffffffff);
  EXPECT_EQ(machine.config(PCI_ROM_ADDRESS), 0u) << "no ROM";
}

TEST(ConfigSpace, TheBarLiesNowhereUntilMemoryIsEnabled) {
  Machine machine("connectx6dx", false);
  machine.set_config(PCI_BASE_ADDRESS_0, 0xe0000000);
  EXPECT_EQ(machine.function().bar_address(), 0u);
  machine.set_config(PCI_COMMAND, PCI_COMMAND_MEMORY, 2);
  EXPECT_EQ(machine.function().bar_address(), 0xe0000000u);
}

TEST(ConfigSpace, TheChainOfCapabilitiesEnds) {
  Machine machine("connectx6dx", false);
  std::vector<std::uint32_t> ids;
  for (std::uint32_t at = machine.config(PCI_CAPABILITY_LIST, 1); at != 0; at = machine.config(at + 1, 1)) {
    ASSERT_LT(ids.size(), 8u) << "a circle";
    ASSERT_EQ(at % 4, 0u);
    ids.push_back(machine.config(at, 1));
  }
  EXPECT_EQ(ids,
            (std::vector<std::uint32_t>{PCI_CAP_ID_PM, PCI_CAP_ID_EXP, PCI_CAP_ID_MSIX, PCI_CAP_ID_VNDR}));
}

TEST(ConfigSpace, PciExpressOffersAFunctionLevelReset) {
  Machine machine("connectx6dx", false);
  const std::uint32_t express = machine.capability(PCI_CAP_ID_EXP);
  EXPECT_EQ(machine.config(express + PCI_EXP_FLAGS, 2) & PCI_EXP_FLAGS_VERS, 2u);
  EXPECT_EQ(machine.config(express + PCI_EXP_FLAGS, 2) >> 4 & 0xf, std::uint32_t{PCI_EXP_TYPE_ENDPOINT});
  EXPECT_NE(machine.config(express + PCI_EXP_DEVCAP) & PCI_EXP_DEVCAP_FLR, 0u);
  EXPECT_EQ(machine.config(express + PCI_EXP_LNKSTA, 2) & PCI_EXP_LNKSTA_CLS,
            machine.config(express + PCI_EXP_LNKCAP) & PCI_EXP_LNKCAP_SLS);
}

TEST(ConfigSpace, MsixTellsSizeAndPlaces) {
  Machine machine("connectx6dx", false);
  const std::uint32_t msix = machine.capability(PCI_CAP_ID_MSIX);
  EXPECT_EQ((machine.config(msix + PCI_MSIX_FLAGS, 2) & PCI_MSIX_FLAGS_QSIZE) + 1, Function::vectors);
  EXPECT_EQ(machine.config(msix + PCI_MSIX_TABLE), 0x8000u) << "in BAR 0";
  EXPECT_EQ(machine.config(msix + PCI_MSIX_PBA), 0x9000u);
  machine.set_config(msix + PCI_MSIX_FLAGS, 0xffff, 2);
  EXPECT_EQ(machine.config(msix + PCI_MSIX_FLAGS, 2),
            PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL | (Function::vectors - 1));
}

TEST(ConfigSpace, WhatLiesOutsideReadsAsOnes) {
  Machine machine("connectx6dx", false);
  EXPECT_EQ(machine.config(256), 0xffffffffu);
  EXPECT_EQ(machine.config(254) >> 16, 0xffffu);
  EXPECT_EQ(machine.config(0xffffffff, 4), 0xffffffffu) << "no way round to the vendor";
  EXPECT_EQ(machine.config(0xffff, 1), 0xffu);
  machine.set_config(256, 0);
  machine.set_config(0xfffffffc, 0xffffffff);
  machine.set_config(0xfffffffd, 0xffffffff);
  EXPECT_EQ(machine.config(0), 0x101d15b3u);
}

TEST(ConfigSpace, PartsOfARegisterAreWritten) {
  Machine machine("connectx6dx", false);
  machine.set_config(PCI_BASE_ADDRESS_0 + 3, 0xe2, 1);
  EXPECT_EQ(machine.config(PCI_BASE_ADDRESS_0), 0xe2000000u);
  machine.set_config(PCI_INTERRUPT_LINE, 11, 1);
  EXPECT_EQ(machine.config(PCI_INTERRUPT_LINE, 2), 0x010bu);
  EXPECT_EQ(machine.config(PCI_BASE_ADDRESS_0 + 2, 2), 0xe200u);
}

/// The way of Linux (pcie_flr) and of vfio: the bit is set, then configuration space is as new.
TEST(FunctionLevelReset, MakesTheCardAnew) {
  Machine machine;
  machine.bring_up(0, 1);
  EXPECT_NE(machine.config(PCI_BASE_ADDRESS_0), 0u);
  const std::uint32_t control = machine.capability(PCI_CAP_ID_EXP) + PCI_EXP_DEVCTL;
  machine.set_config(control, machine.config(control, 2) | PCI_EXP_DEVCTL_BCR_FLR, 2);
  EXPECT_EQ(machine.config(PCI_BASE_ADDRESS_0), 0u);
  EXPECT_EQ(machine.config(PCI_COMMAND, 2), 0u);
  EXPECT_EQ(machine.segment(0x10), 0u);
  EXPECT_EQ(machine.config(control, 2) & PCI_EXP_DEVCTL_BCR_FLR, 0u) << "reads as 0";
  model::ObjectCount counts[32];
  const std::size_t kinds = machine.function().hca()->count_objects(counts);
  for (std::size_t i = 0; i < kinds; ++i) EXPECT_EQ(counts[i].live, 0u) << counts[i].kind;
  machine.set_up();
  machine.set_up_commands();
  machine.bring_up(0, 1);  // once more
}

/// The gateway as Linux (pci_vsc.c) takes and uses it.
class Gateway : public ::testing::Test {
 protected:
  std::uint32_t read(std::uint32_t offset) { return machine.config(at + offset); }
  void write(std::uint32_t offset, std::uint32_t value) { machine.set_config(at + offset, value); }
  bool space(std::uint16_t number) {
    write(4, (read(4) & 0xffff0000) | number);
    return read(4) >> 29 != 0;
  }

  Machine machine{"connectx6dx", false};
  const std::uint32_t at = machine.capability(PCI_CAP_ID_VNDR);
};

TEST_F(Gateway, HasASemaphore) {
  EXPECT_EQ(read(0x0c), 0u);
  const std::uint32_t mine = read(8), other = read(8);
  EXPECT_NE(mine, other);
  write(0x0c, mine);
  write(0x0c, other);
  EXPECT_EQ(read(0x0c), mine);
  write(0x0c, 0);
  write(0x0c, other);
  EXPECT_EQ(read(0x0c), other);
}

TEST_F(Gateway, KnowsTheSpaceOfSemaphoresOnly) {
  EXPECT_FALSE(space(7)) << "no dump of registers";
  EXPECT_TRUE(space(0x0a));
  constexpr std::uint32_t flag = 1u << 31, reset = 0x20;
  const auto put = [&](std::uint32_t value) {
    write(0x14, value);
    write(0x10, reset | flag);
    EXPECT_EQ(read(0x10) & flag, 0u) << "written";
  };
  const auto get = [&] {
    write(0x10, reset);
    EXPECT_NE(read(0x10) & flag, 0u) << "read";
    return read(0x14);
  };
  EXPECT_EQ(get(), 0u);
  put(5);
  put(6);
  EXPECT_EQ(get(), 5u) << "another has it";
  put(0);
  EXPECT_EQ(get(), 0u);
  write(0x14, 9);
  write(0x10, 0x3fffffff | flag);  // nothing is there
  write(0x10, 0x3fffffff);
  EXPECT_EQ(read(0x14), 0u);
}

}  // namespace
}  // namespace chime::test
